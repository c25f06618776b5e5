"""References of the track `modern` against implementations of another kind."""

from pathlib import Path

import numpy as np
import pytest

from grader.course.catalog import Course, load_file

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

COURSE = Course(Path(__file__).parents[2])


def reference_of(name):
    return load_file(f"reference_of_{name}", COURSE.solution(COURSE.katas[name], "reference"))


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def test_qk_norm_softcap_is_pytorch_s_attention_with_one_more_key():
    """PyTorch's attention takes the capped scores as its mask, and the sink as a key whose value is 0."""
    q, k, v = normal(2, 3, 4, 5), normal(2, 3, 6, 5), normal(2, 3, 6, 7)
    gamma_q, gamma_k, sink = normal(5), normal(5, seed=1), np.array([0.5, -np.inf, 3.0])
    result = reference_of("qk_norm_softcap").qk_norm_softcap(q, k, v, gamma_q, gamma_k, 1.5, sink)

    unit_q, unit_k = (
        torch.nn.functional.rms_norm(torch.from_numpy(x), (5,), torch.from_numpy(gamma), 1e-6)
        for x, gamma in ((q, gamma_q), (k, gamma_k))
    )
    scores = 1.5 * torch.tanh(torch.einsum("bhid,bhjd->bhij", unit_q, unit_k) / 5**0.5 / 1.5)
    scores = scores.masked_fill(~torch.ones(4, 6).tril(2).bool(), -torch.inf)
    extra = torch.from_numpy(sink)[None, :, None, None].expand(2, 3, 4, 1)
    expected = torch.nn.functional.scaled_dot_product_attention(
        torch.zeros(2, 3, 4, 5).double(),
        torch.zeros(2, 3, 7, 5).double(),
        torch.cat([torch.from_numpy(v), torch.zeros(2, 3, 1, 7).double()], dim=2),
        attn_mask=torch.cat([scores, extra], dim=-1),
    )
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-12)


def test_linear_attention_is_attention_whose_scores_are_logarithms():
    """The softmax of the logarithms of the weights gives each weight over the sum of all."""
    reference = reference_of("linear_attention")
    q, k, v = (torch.from_numpy(normal(2, 3, 7, width, seed=width)) for width in (4, 4, 5))
    weights = torch.einsum("bhid,bhjd->bhij", torch.nn.ELU()(q) + 1, torch.nn.ELU()(k) + 1)
    mask = weights.log().masked_fill(torch.ones(7, 7).triu(1).bool(), -torch.inf)
    nothing = torch.zeros_like(q)
    expected = torch.nn.functional.scaled_dot_product_attention(nothing, nothing, v, attn_mask=mask)

    torch.testing.assert_close(reference.linear_attention_parallel(q, k, v), expected)
    state = None
    for token in range(7):
        result, state = reference.linear_attention_step(q[:, :, token], k[:, :, token], v[:, :, token], state)
        torch.testing.assert_close(result, expected[:, :, token])
    for chunk_size in range(1, 9):
        result, last = reference.linear_attention_chunked(q, k, v, chunk_size)
        torch.testing.assert_close(result, expected)
        torch.testing.assert_close(last, state)


def test_rope_scaling_is_the_exponential_of_a_generator():
    """Each pair is turned by the exponential of a skew matrix whose frequency comes from wavelengths."""
    factor, length, positions, d_head = 8.0, 1000, [0, 3, 250], 12
    expected = torch.zeros(3, d_head, d_head, dtype=torch.float64)
    for row, position in enumerate(positions):
        generator = torch.zeros(d_head, d_head, dtype=torch.float64)
        for pair in range(d_head // 2):
            wavelength = 2 * np.pi * 10000 ** (pair / (d_head / 2))
            if length / wavelength > 32:
                slower = wavelength
            elif length / wavelength < 1:
                slower = wavelength * factor
            else:
                rest = (32 - length / wavelength) / 31
                slower = 1 / (rest / (wavelength * factor) + (1 - rest) / wavelength)
            angle = 2 * np.pi * position / slower
            generator[2 * pair, 2 * pair + 1], generator[2 * pair + 1, 2 * pair] = -angle, angle
        expected[row] = torch.linalg.matrix_exp(generator) * (1 + np.log(factor) / 10)

    x = normal(2, 3, d_head)
    result = reference_of("rope_scaling").rope_scaling(x, np.array(positions), factor, length)
    np.testing.assert_allclose(result, np.einsum("tij,btj->bti", expected.numpy(), x), atol=1e-10)


@pytest.mark.parametrize("ignore_index", [-100, 0])
def test_multi_token_loss_is_pytorch_s_cross_entropy_of_each_head(ignore_index):
    """The gradient by the logits agrees as well, which says where each head looks."""
    rng = np.random.default_rng(3)
    logits, targets = rng.standard_normal((3, 2, 5, 4)), rng.integers(0, 4, (2, 5))
    targets[0, 2] = targets[1, 4] = ignore_index
    loss = reference_of("multi_token_prediction").multi_token_loss

    rows = torch.from_numpy(logits).requires_grad_()
    heads = [
        torch.nn.functional.cross_entropy(
            rows[head, :, : 5 - head].flatten(0, 1),
            torch.from_numpy(targets)[:, head:].flatten(),
            ignore_index=ignore_index,
        )
        for head in range(3)
    ]
    expected = heads[0] + 0.7 * (heads[1] + heads[2]) / 2
    np.testing.assert_allclose(loss(logits, targets, 0.7, ignore_index), expected.item(), rtol=1e-12)

    expected.backward()
    direction = rng.standard_normal(logits.shape)
    ahead, behind = (loss(logits + step * direction, targets, 0.7, ignore_index) for step in (1e-5, -1e-5))
    slope = (rows.grad.numpy() * direction).sum()
    np.testing.assert_allclose((ahead - behind) / 2e-5, slope, rtol=1e-6)
