"""References about numbers of four bits against implementations of another kind."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from grader.course.catalog import Course, load_file

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

COURSE = Course(Path(__file__).parents[2])


def reference_of(name):
    return load_file(f"reference_of_{name}", COURSE.solution(COURSE.katas[name], "reference"))


def groups_of_all_kinds():
    """A weight of 6 rows and 4 groups of 5: of both signs, of one sign, and of zeros."""
    rng = np.random.default_rng(4)
    weight = rng.standard_normal((6, 4, 5)) * rng.uniform(0.1, 4, (6, 4, 1))
    weight[0] = abs(weight[0])
    weight[1] = -abs(weight[1])
    weight[2, 1] = 0
    return weight.reshape(6, 20)


def test_groups_are_quantised_as_pytorch_s_observer_and_fake_quantisation_do():
    """PyTorch's observer of channels takes each group for a channel; its range holds 0."""
    from torch.ao.quantization import PerChannelMinMaxObserver

    weight = groups_of_all_kinds()
    codes, scale, zero = reference_of("int4_groups").quantize_groups(weight, 5)
    channels = torch.from_numpy(weight.reshape(24, 5)).float()
    observer = PerChannelMinMaxObserver(
        dtype=torch.quint8, qscheme=torch.per_channel_affine, quant_min=0, quant_max=15, eps=1e-12
    )
    observer(channels)
    due_scale, due_zero = observer.calculate_qparams()
    empty = ~weight.reshape(24, 5).any(axis=1)
    assert empty.sum() == 1
    np.testing.assert_allclose(scale.ravel()[~empty], due_scale.numpy()[~empty], rtol=1e-6)
    np.testing.assert_array_equal(zero.ravel()[~empty], due_zero.numpy()[~empty])
    assert scale.ravel()[empty] == 1
    assert not zero.ravel()[empty].any()
    assert not codes.reshape(24, 5)[empty].any()

    back = (codes.reshape(24, 5) - zero.reshape(24, 1).astype(float)) * scale.reshape(24, 1)
    due = torch.fake_quantize_per_channel_affine(channels, due_scale, due_zero.int(), 0, 0, 15)
    np.testing.assert_allclose(back, due.numpy(), rtol=1e-5, atol=1e-6)


def test_a_byte_in_hexadecimal_shows_its_two_codes():
    reference, codes = reference_of("int4_groups"), np.arange(256, dtype=np.uint8)
    pairs = np.stack([codes // 16, codes % 16], axis=1)
    packed = reference.pack_codes(pairs)
    assert packed.dtype == np.uint8
    assert [f"{byte:02x}"[::-1] for byte in packed[:, 0]] == [f"{a:x}{b:x}" for a, b in pairs]
    np.testing.assert_array_equal(reference.unpack_codes(packed), pairs)


def test_the_layer_on_packed_codes_is_the_linear_layer_of_what_comes_back():
    reference, weight = reference_of("int4_groups"), groups_of_all_kinds()
    codes, scale, zero = reference.quantize_groups(weight, 5)
    x = np.random.default_rng(5).standard_normal((2, 3, 20))
    result = reference.int4_linear(x, reference.pack_codes(codes), scale, zero)

    channels = torch.from_numpy(weight.reshape(24, 5)).float()
    by_channel = torch.from_numpy(scale.ravel()).float(), torch.from_numpy(zero.ravel()).int()
    back = torch.fake_quantize_per_channel_affine(channels, *by_channel, 0, 0, 15).reshape(6, 20)
    due = torch.nn.functional.linear(torch.from_numpy(x), back.double())
    np.testing.assert_allclose(result, due.numpy(), rtol=1e-5, atol=1e-5)
    exact = torch.nn.functional.linear(torch.from_numpy(x), torch.from_numpy(weight)).numpy()
    assert 1e-3 < abs(result - exact).max() < 20 * scale.max() / 2 * abs(x).max()


def value_of(code):
    """The value of a code of E2M1 by the rules of IEEE 754 for two bits of exponent and one of mantissa."""
    sign, exponent, mantissa = code >> 3, code >> 1 & 3, code & 1
    size = (
        Fraction(mantissa, 2) if exponent == 0 else Fraction(2) ** (exponent - 1) * Fraction(2 + mantissa, 2)
    )
    return -size if sign else size


def nearest_code(number, negative):
    """The code by exact distances, of two the even one."""
    codes = range(8, 16) if negative else range(8)
    return min(codes, key=lambda code: (abs(value_of(code) - number), code % 2))


def blocks_of_all_sizes():
    """float32 [40, 8], a row each of numbers of another size, subnormal ones and zeros among them."""
    rng = np.random.default_rng(6)
    exponents = np.linspace(-149, 120, 40).astype(int)[:, None]
    x = np.ldexp(rng.standard_normal((40, 8)), exponents).astype(np.float32)
    x[3, 4:] = 0
    x[20, :4] = [8, -2.5, 5, -0.0]
    x[21, :4] = [np.nextafter(np.float32(8), np.float32(0)), 1.75, -0.25, 3.5]
    x[22, :4] = np.finfo(np.float32).max
    return x


def test_codes_are_those_of_the_nearest_values_in_exact_arithmetic():
    reference, x = reference_of("mxfp4_blocks"), blocks_of_all_sizes()
    codes, scales = reference.quantize_mxfp4(x, 4)
    assert codes.dtype == scales.dtype == np.uint8
    for row, its_codes, byte in zip(x.reshape(-1, 4), codes.reshape(-1, 4), scales.ravel(), strict=True):
        numbers = [Fraction(float(number)) for number in row]
        largest = max(map(abs, numbers))
        due = next(e for e in range(-127, 128) if largest < Fraction(2) ** (e + 3))
        assert byte == due + 127
        units = [number / Fraction(2) ** due for number in numbers]
        assert [
            nearest_code(*pair) for pair in zip(units, np.signbit(row), strict=True)
        ] == its_codes.tolist()
    np.testing.assert_array_equal(reference.encode_e2m1(np.float32([-7, 100])), [15, 7])


def test_scale_bytes_are_pytorchs_e8m0():
    reference = reference_of("mxfp4_blocks")
    bytes_, codes = np.arange(253, dtype=np.uint8), np.arange(16, dtype=np.uint8)
    back = reference.dequantize_mxfp4(np.tile(codes, (253, 1)), bytes_[:, None])
    scales = torch.from_numpy(bytes_).view(torch.float8_e8m0fnu).double()
    due = scales[:, None] * torch.tensor([float(value_of(code)) for code in range(16)], dtype=torch.float64)
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back, due.numpy())


def test_quantising_what_came_back_changes_nothing():
    reference, x = reference_of("mxfp4_blocks"), blocks_of_all_sizes()
    codes, scales = reference.quantize_mxfp4(x, 4)
    again = reference.quantize_mxfp4(reference.dequantize_mxfp4(codes, scales), 4)
    np.testing.assert_array_equal(again[0], codes)
    np.testing.assert_array_equal(again[1], scales)
