"""Kernels reach the arrays of a device alone, are counted, and see what Triton lets them see."""

import dis
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from grader.course.files import load_file
from grader.diagnosis import recording
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.kernels import MOST_PROGRAMS, Device, DeviceArray
from grader.worker.child.kernels.blocks import DTYPES, KernelError, common

ROOT = Path(__file__).parents[2]
LANGUAGE = "grader.worker.child.kernels.language"
HEAD = "import triton\nimport triton.language as tl\n\n"
DOUBLE = """
@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, 2 * x, mask=at < n)

def double(x, out, block):
    kernel[(triton.cdiv(x.shape[0], block),)](x, out, x.shape[0], BLOCK=block)
"""
FIRST = "mask=tl.program_id(0) == 0"  # so that one program stores
NUMBERS = np.arange(10, dtype=np.float32)


def kernel(body, *, parameters="x_ptr, out_ptr, n, BLOCK: tl.constexpr", before="", grid="(2,)"):
    """Return code with one kernel, and a launcher that runs it on two programs of four entries."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    launcher = f"def double(x, out, block):\n    kernel[{grid}](x, out, x.shape[0], BLOCK=block)\n"
    return f"{HEAD}{before}\n@triton.jit\ndef kernel({parameters}):\n{lines}\n\n{launcher}"


def run(student, numbers=NUMBERS, block=4, seed=0):
    """Return the device, and what the launcher has left in `out`."""
    device = Device(seed)
    out = device.empty(numbers.shape, numbers.dtype.name, "out")
    device.run(student.double, device.array(numbers, "x"), out, block)
    return device, out.numpy()


def refused(student, **given):
    with pytest.raises((ExpectationFailed, SubmissionFailed)) as failed:
        run(student, **given)
    error = failed.value
    return f"{error.kinds[0]}: {error.message}" if isinstance(error, SubmissionFailed) else str(error)


class TestDevice:
    def test_programs_load_and_store_what_is_there(self, meet):
        device, out = run(meet(HEAD + DOUBLE))
        assert out.tolist() == (2 * NUMBERS).tolist()
        assert (device.bytes_loaded, device.bytes_stored, device.races) == (40, 40, [])
        (launch,) = device.launches
        assert (launch.kernel, launch.grid, sorted(launch.order)) == ("kernel", (3,), [0, 1, 2])

    def test_the_law_of_bytes_says_of_which_arrays_they_are(self, meet_locally):
        masked_add = load_file("declared_masked_add", ROOT / "tests/katas/kernels/test_masked_add.py").KATA
        (law,) = (law for law in masked_add.laws if law.name == "bytes_that_are_moved")
        source = (ROOT / "solutions/kernels/masked_add/reference.py").read_text()
        twice = source.replace(
            "x = tl.load(x_ptr", "x = tl.load(x_ptr + at, mask=inside)\n    x = tl.load(x_ptr"
        )
        law.function(meet_locally(source), x=NUMBERS, y=NUMBERS, block=4)
        with pytest.raises(ExpectationFailed) as failed:
            law.function(meet_locally(twice), x=NUMBERS, y=NUMBERS, block=4)
        said = "The kernels load 120 bytes (80 of x, 40 of y); 80 are enough."
        assert str(failed.value) == said

    def test_programs_run_in_an_order_of_their_own(self, meet_locally):
        student = meet_locally(HEAD + DOUBLE)
        orders = {
            tuple(run(student, np.ones(64, np.float32), 4, seed)[0].launches[0].order) for seed in range(4)
        }
        assert len(orders) == 4

    def test_an_access_beyond_the_end_names_array_entry_program_and_line(self, meet):
        code = HEAD + DOUBLE.replace("tl.load(x_ptr + at, mask=at < n)", "tl.load(x_ptr + at)")
        assert refused(meet(code)) == "Program 2 loads x[10] to x[11], and x has 10 entries, from 0 (line 8)."
        code = HEAD + DOUBLE.replace("2 * x, mask=at < n", "2 * x")
        said = "Program 2 stores out[10] to out[11], and out has 10 entries, from 0 (line 9)."
        assert refused(meet(code)) == said
        code = kernel("tl.store(out_ptr - 1 + tl.arange(0, BLOCK), 0.0)")
        assert refused(meet(code)).endswith("stores out[-1], and out has 10 entries, from 0 (line 7).")

    def test_two_programs_that_store_one_entry_race(self, meet):
        device, _ = run(meet(kernel("tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)")))
        (race,) = device.races
        first, second = device.launches[0].order
        assert str(race) == f"program {first} stores out[0], and program {second} stores it"

    def test_a_program_that_loads_what_another_stores_races(self, meet):
        body = "p = tl.program_id(0)\ntl.store(out_ptr + p, 1.0)\ntl.load(out_ptr + 1 - p)"
        device, _ = run(meet(kernel(body)))
        assert {race.array for race in device.races} == {"out"}

    def test_atomic_sums_do_not_race(self, meet):
        numbers = np.zeros(4, np.float32)
        code = kernel("tl.atomic_add(x_ptr + tl.arange(0, BLOCK), 1.0)")
        device = Device()
        x = device.array(numbers, "x")
        device.run(meet(code).double, x, device.empty((4,), "float32", "out"), 4)
        assert (x.numpy().tolist(), device.races) == ([2.0] * 4, [])

    def test_segments_of_128_bytes_are_counted(self, meet):
        body = "at = tl.arange(0, BLOCK) * {}\ntl.store(out_ptr, tl.sum(tl.load(x_ptr + at)), " + FIRST + ")"
        numbers = np.ones(256, np.float32)
        near, _ = run(meet(kernel(body.format(1))), numbers, 8)
        apart, _ = run(meet(kernel(body.format(32))), numbers, 8)
        assert (near.segments_loaded, apart.segments_loaded) == (2, 16)

    def test_masked_lanes_hold_nothing_that_could_be_right(self, meet):
        body = (
            "at = tl.arange(0, BLOCK)\ntl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < 2), "
            + FIRST
            + ")"
        )
        assert np.isnan(run(meet(kernel(body)))[1][2:4]).all()
        whole = NUMBERS.astype(np.int32)
        assert (np.abs(run(meet(kernel(body)), whole)[1][2:4]) > 10**9).all()

    def test_strides_are_kept_and_entries_between_belong_to_the_array(self, meet):
        code = kernel(
            "at = tl.arange(0, BLOCK)\ntl.store(out_ptr + at, tl.load(x_ptr + 2 * at), " + FIRST + ")"
        )
        device = Device()
        x, out = device.array(NUMBERS[::2], "x"), device.empty((4,), "float32", "out")
        assert (x.shape, x.stride(0)) == ((5,), 2)
        device.run(meet(code).double, x, out, 4)
        assert out.numpy().tolist() == [0.0, 2.0, 4.0, 6.0]

    def test_an_array_may_be_given_its_strides(self, meet_locally):
        x = DeviceArray(np.arange(6, dtype=np.float32).reshape(2, 3), "x", strides=(4, 1))
        assert (x.stride(), x.is_contiguous(), x.numpy().tolist()) == ((4, 1), False, [[0, 1, 2], [3, 4, 5]])
        device = Device()
        out = device.empty((4,), "float32", "out")
        code = kernel("at = tl.arange(0, BLOCK)\ntl.store(out_ptr + at, tl.load(x_ptr + at), " + FIRST + ")")
        numbers = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
        device.run(meet_locally(code).double, device.array(numbers, "x", strides=(1, 2)), out, 4)
        assert out.numpy().tolist() == [1.0, 4.0, 2.0, 5.0]

    def test_a_launch_that_is_too_large_is_refused(self, meet):
        code = kernel("tl.program_id(0)", grid="(100_000,)")
        assert (
            refused(meet(code))
            == f"kernel is launched with 100,000 programs; {MOST_PROGRAMS:,} are the most here."
        )

    def test_a_grid_that_is_a_number_is_refused(self, meet):
        code = kernel("tl.program_id(0)", grid="3")
        assert "a grid is a tuple of one to three integers, and 3 is none" in refused(meet(code))

    def test_bfloat16_is_rounded_where_it_is_stored(self, meet):
        device = Device()
        x = device.array(np.full(4, 1.0, np.float32), "x", "bfloat16")
        out = device.empty((4,), "bfloat16", "out")
        device.run(
            meet(
                kernel(
                    "at = tl.arange(0, 4)\ntl.store(out_ptr + at, tl.load(x_ptr + at) * 1.001, " + FIRST + ")"
                )
            ).double,
            x,
            out,
            4,
        )
        assert out.numpy().tolist() == [1.0] * 4
        assert (device.bytes_loaded, device.bytes_stored) == (16, 8)

    def test_without_a_device_arrays_share_one(self, meet_locally, monkeypatch):
        # as they were afterwards: PyTorch would take them for Triton
        for name in ("triton", "triton.language", "triton.language.math"):
            monkeypatch.setitem(sys.modules, name, None)
            monkeypatch.delitem(sys.modules, name)
        import triton  # the one of the grader

        assert triton.cdiv(7, 4) == 2
        x, out = DeviceArray(NUMBERS, "x"), DeviceArray.empty((10,), "float32")
        meet_locally(HEAD + DOUBLE).double(x, out, 4)
        assert out.numpy().tolist() == (2 * NUMBERS).tolist()

    def test_a_launch_begins_anew_after_one_that_was_stopped(self, meet_locally):
        """Arrays of one's own share a device, and nobody calls its `run`."""
        student = meet_locally(HEAD + DOUBLE.replace(", mask=at < n", ""))
        x, out = DeviceArray(NUMBERS, "x"), DeviceArray.empty((10,), "float32")
        with pytest.raises((RuntimeError, SubmissionFailed), match="has 10 entries"):
            student.double(x, out, 4)
        meet_locally(HEAD + DOUBLE).double(x, out, 4)
        assert out.numpy().tolist() == (2 * NUMBERS).tolist()

    def test_a_file_of_the_course_takes_this_one_where_triton_is_installed(self, tmp_path, monkeypatch):
        monkeypatch.delitem(sys.modules, "triton", raising=False)
        (tmp_path / "triton.py").write_text("raise RuntimeError('this is the installed one')")
        monkeypatch.syspath_prepend(tmp_path)
        (tmp_path / "reference.py").write_text(HEAD + DOUBLE)
        assert load_file("reference_of_a_kernel", tmp_path / "reference.py").triton.cdiv(7, 4) == 2
        assert "triton" not in sys.modules

    def test_files_that_load_at_once_leave_nothing_behind(self, tmp_path, monkeypatch):
        """The second begins before the first has ended, and ends after it."""
        monkeypatch.delitem(sys.modules, "triton", raising=False)
        moments = types.ModuleType("moments")
        moments.second_begins, moments.first_ends = threading.Event(), threading.Event()
        monkeypatch.setitem(sys.modules, "moments", moments)
        (tmp_path / "first.py").write_text(f"import moments\n{HEAD}moments.second_begins.wait(20)\n")
        (tmp_path / "second.py").write_text(
            f"import moments\n{HEAD}moments.second_begins.set()\nmoments.first_ends.wait(20)\n"
        )
        with ThreadPoolExecutor(2) as threads:
            first = threads.submit(load_file, "first_of_two", tmp_path / "first.py")
            second = threads.submit(load_file, "second_of_two", tmp_path / "second.py")
            assert first.result().triton.cdiv(7, 4) == 2
            moments.first_ends.set()
            assert second.result().triton.cdiv(7, 4) == 2
        assert "triton" not in sys.modules


class TestRules:
    @pytest.mark.parametrize(
        ("body", "said"),
        [
            ("tl.program_id(-1)", "program_id axis must be 0, 1, or 2 but got -1"),
            ("tl.arange(0, 3)", "arange's range must be a power of 2, and 3 is none"),
            ("tl.arange(0, n)", "arange's arguments must be of type tl.constexpr"),
            ("tl.zeros((n,), tl.float32)", "Shape element must have type `constexpr[int]`"),
            ("tl.zeros((3,), tl.float32)", "Shape element must be a power of 2, and 3 is none"),
            (
                "tl.arange(0, 4) + tl.arange(0, 8)",
                "Cannot make_shape_compatible: incompatible dimensions at index 0: 4 and 8",
            ),
            (
                "tl.load(x_ptr)[0]",
                "a block takes `:` and `None` in brackets alone: its entries have no index",
            ),
            ("x_ptr * 2", "TypeError"),
            (
                "2.0 + tl.load(tl.arange(0, 4))",
                "tl.load takes a pointer first: x_ptr + the numbers of entries",
            ),
            ("tl.maximum(x_ptr, 0)", "a pointer is no number: tl.load reads what it points to"),
            ("x_ptr + 0.5", "a pointer is moved by integers, and float32 is none"),
            (
                "tl.load(x_ptr + tl.arange(0, 4), mask=tl.arange(0, 4))",
                "Mask argument must be of type int1, and int32 is none",
            ),
            ("if tl.arange(0, 4) < 2: pass", "a block of shape [4] is no single truth value: use tl.where"),
            (
                "tl.dot(tl.zeros((16, 8), tl.float32), tl.zeros((8, 16), tl.float32))",
                "Input shapes should have M >= 1, N >= 1 and K >= 16",
            ),
            (
                "acc = tl.zeros((4, 4), tl.float16)\n"
                "a = tl.zeros((4, 16), tl.float16)\n"
                "for _ in range(2):\n    acc += tl.dot(a, tl.trans(a))",
                "variable acc has initial type float16[4, 4] but is re-assigned to float32[4, 4] in loop!",
            ),
            (
                "a = tl.zeros((4, 16), tl.float16)\n"
                "tl.dot(a, tl.trans(a), tl.zeros((4, 4), tl.float16), out_dtype=tl.float32)",
                "expected accumulator dtype float32, got float16",
            ),
            (
                "a = tl.zeros((4, 16), tl.float16)\ntl.dot(a, tl.trans(a), tl.zeros((8, 4), tl.float32))",
                "expected accumulator shape [4, 4], got [8, 4]",
            ),
            ("a = tl.zeros((4, 32), tl.int32)\ntl.dot(a, tl.trans(a))", "Unsupported lhs dtype int32"),
            ("a = tl.zeros((4, 32), tl.uint8)\ntl.dot(a, tl.trans(a))", "only int8 supported!"),
            (
                "tl.dot(tl.zeros((4, 32), tl.int8), tl.zeros((32, 4), tl.float16))",
                "Both operands must be same dtype. Got int8 and float16",
            ),
            (
                "a = tl.zeros((4, 16), tl.int8)\ntl.dot(a, tl.trans(a))",
                "Input shapes should have M >= 1, N >= 1 and K >= 32",
            ),
            (
                "a = tl.zeros((4, 32), tl.int8)\ntl.dot(a, tl.trans(a), tl.zeros((4, 4), tl.float32))",
                "expected accumulator dtype int32, got float32",
            ),
            (
                "a = tl.zeros((4, 16), tl.float32)\ntl.dot(a, tl.trans(a), out_dtype=tl.bfloat16)",
                "out_dtype=bfloat16 is unsupported.",
            ),
            (
                "tl.exp(tl.zeros((4,), tl.float16))",
                "Expected dtype ['fp32', 'fp64'] but got float16 in tl.exp",
            ),
            (
                "tl.sum(tl.arange(0, 4), axis=1)",
                "expected reduction axis to be in the range [0, 1) but got 1",
            ),
            (
                "tl.static_range(n)\nfor i in tl.static_range(n): pass",
                "tl.static_range takes tl.constexpr alone; use range",
            ),
            (
                "tl.arange(0, 4).to(tl.uint8) - -8",
                "Cannot perform a binary operation between an unsigned tensor and a negative scalar.",
            ),
            ("tl.arange(0, 4).to(tl.int8) ^ 136", "Scalar 136 is out of range for type int8"),
            (
                "tl.arange(0, 4).to(tl.uint8) // tl.arange(0, 4)",
                "Cannot use /, #, or % with uint8 and int32 because they have different signedness;",
            ),
            (
                "tl.arange(0, 4).to(tl.uint8, bitcast=True)",
                "Cannot bitcast data-type of size 32 to data-type of size 8",
            ),
            ("tl.trans(tl.arange(0, 4))", "tl.trans invoked with a 0- or 1-dimensional tensor"),
            (
                "tl.permute(tl.zeros((4, 4), tl.int8), 0, 2)",
                "permute dims must be a permutation of 0, 1, ..., n-1, but were (0, 2)",
            ),
            (
                "tl.join(tl.zeros((4,), tl.int8), tl.zeros((4,), tl.uint8))",
                "join takes two blocks of one dtype, and int8 and uint8 are two",
            ),
            ("tl.split(tl.arange(0, 4))", "expected last dimension to be 2 for split, got [4]"),
            ("tl.static_assert(BLOCK == 8, 'eight')", "eight"),
            (
                "tl.zeros((128, 128), tl.float32)",
                "a block has at most 8,192 entries here, and this one 16,384",
            ),
        ],
    )
    def test_what_triton_refuses_is_refused(self, meet, body, said):
        assert said in refused(meet(kernel(body)))

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            ("[i for i in range(2)]", "a function, a lambda or a comprehension inside of a kernel"),
            ("(lambda: 0)()", "a function, a lambda or a comprehension inside of a kernel"),
            ("import numpy", "an import inside of a kernel"),
            ("().__class__", "Triton compiles no __class__"),
        ],
    )
    def test_what_triton_cannot_compile_is_refused_when_it_is_decorated(self, meet_locally, body, said):
        if body.startswith("[") and "MAKE_FUNCTION" not in compiled(body):
            pytest.skip("this Python compiles a comprehension into the function")
        with pytest.raises(Exception, match=said):
            meet_locally(kernel(body))

    def test_numbers_are_triton_s(self, meet_locally):
        body = """
a = tl.program_id(0) - 7
tl.store(out_ptr, a // 2, mask=tl.program_id(0) == 0)
tl.store(out_ptr + 1, a % 2, mask=tl.program_id(0) == 0)
tl.store(out_ptr + 2, tl.cdiv(n, 4), mask=tl.program_id(0) == 0)
tl.store(out_ptr + 3, tl.sum(tl.arange(0, 8)[:, None] * tl.arange(0, 2)[None, :]), mask=tl.program_id(0) == 0)
"""
        _, out = run(meet_locally(kernel(body)), NUMBERS.astype(np.int32))
        assert out[:4].tolist() == [-3, -1, 3, 28]

    @pytest.mark.parametrize(
        ("made", "due"),
        [
            ("byte & 15", "uint8 15 0 1 8"),
            ("byte >> 4", "uint8 15 8 0 7"),
            ("(byte & 15) - 8", "uint8 7 248 249 0"),
            ("(byte & 15).to(tl.int8) - 8", "int8 7 -8 -7 0"),
            ("byte.to(tl.int8) >> 4", "int8 -1 -8 0 7"),
            ("byte << 4", "uint8 240 0 16 128"),
            ("(byte << 4).to(tl.int8, bitcast=True) >> 4", "int8 -1 0 1 -8"),
            ("byte // 16", "uint8 15 8 0 7"),
            ("(byte >> 4 * (at % 2))", "int32 255 8 1 7"),
            ("byte * byte.to(tl.float16)", "float16 65024 16384 1 14400"),
            ("(byte * 0 + 1).to(tl.float16) / 8", "float32 0.125 0.125 0.125 0.125"),
            ("tl.cast(at, tl.float32, bitcast=True).to(tl.int32, bitcast=True)", "int32 0 1 2 3"),
            (
                "tl.dot((at[:, None] - 2 + tl.zeros((4, 32), tl.int32)).to(tl.int8),"
                " tl.full((32, 4), 100, tl.int8)).max(1)",
                "int32 -6400 -3200 0 3200",
            ),
            ("(at * 64 + 16256).to(tl.int16).to(tl.bfloat16, bitcast=True)", "bfloat16 1 1.5 2 3"),
            ("(at / 2).to(tl.bfloat16).to(tl.uint16, bitcast=True)", "uint16 0 16128 16256 16320"),
        ],
    )
    def test_integers_are_triton_s(self, meet_locally, made, due):
        dtype, *numbers = due.split()
        body = f"at = tl.arange(0, 4)\nbyte = tl.load(x_ptr + at)\nmade = {made}\n"
        body += f"tl.static_assert(made.dtype == tl.{dtype})\n"
        body += f"tl.store(out_ptr + at, made, {FIRST})"
        device = Device()
        byte = device.array(np.array([255, 128, 1, 120], np.uint8), "x")
        out = device.empty((4,), "float32", "out")
        device.run(meet_locally(kernel(body)).double, byte, out, 4)
        assert out.numpy().tolist() == [float(number) for number in numbers]

    @pytest.mark.parametrize(
        ("made", "due"),
        [
            ("tl.join(a, b).permute(0, 2, 1).reshape(4, 2)", [0, 1, 10, 11, 2, 3, 12, 13]),
            ("tl.interleave(a.trans(), tl.trans(b, (1, 0))).T", [0, 1, 10, 11, 2, 3, 12, 13]),
            ("tl.interleave(a, b).view(4, 2)", [0, 10, 1, 11, 2, 12, 3, 13]),
            ("tl.join(*tl.split(tl.join(a, b))).reshape((4, 2))", [0, 10, 1, 11, 2, 12, 3, 13]),
            ("(a + b).sum(axis=0, keep_dims=True).broadcast_to(4, 2)", [24, 28] * 4),
        ],
    )
    def test_blocks_are_joined_and_turned(self, meet_locally, made, due):
        body = "a = tl.arange(0, 2)[:, None] * 2 + tl.arange(0, 2)[None, :]\nb = a + 10\n"
        body += "at = tl.arange(0, 4)[:, None] * 2 + tl.arange(0, 2)[None, :]\n"
        body += f"tl.store(out_ptr + at, {made}, {FIRST})"
        _, out = run(meet_locally(kernel(body)))
        assert out[:8].tolist() == due

    @pytest.mark.parametrize(
        ("made", "due"),
        [
            ("tl.fma(x, 2.0, y)", [1, 3, 5, 7]),
            ("tl.fma(x + 4097, x + 4097, -16785408.0 + 0 * x)", [1, 8196, 16393, 24592]),
            ("tl.clamp(x, 1.0, 2.0)", [1, 1, 2, 2]),
            ("tl.floor(x / 2) + tl.ceil(x / 2)", [0, 1, 2, 3]),
            ("tl.math.div_rn(x, y) + tl.sqrt_rn(y)", [1, 2, 3, 4]),
            ("tl.zeros_like(x)", [0, 0, 0, 0]),
            ("tl.fdiv(x, y)", [0, 1, 2, 3]),
            ("tl.softmax(x * 0) * 4", [1, 1, 1, 1]),
            ("tl.softmax((x * 0)[:, None], 1, keep_dims=True).reshape(4)", [1, 1, 1, 1]),
        ],
    )
    def test_functions_of_numbers_are_triton_s(self, meet_locally, made, due):
        body = "at = tl.arange(0, 4)\nx = at.to(tl.float32)\ny = x * 0 + 1\n"
        _, out = run(meet_locally(kernel(f"{body}tl.store(out_ptr + at, {made}, {FIRST})")))
        assert out[:4].tolist() == due

    @pytest.mark.parametrize(
        ("at", "made", "due"),
        [
            ("tl.arange(0, 2)", "tl.reduce(b, 0, join)", [12, 16]),
            ("tl.arange(0, 4)[:, None]", "tl.reduce(b, 1, join, keep_dims=True)", [1, 5, 9, 13]),
            ("0", "tl.reduce(b, None, join)", [28]),
            ("tl.arange(0, 2)", "tl.reduce((b, b + 2), 0, both)[1]", [2, 3]),
        ],
    )
    def test_a_function_of_the_file_s_reduces_blocks(self, meet_locally, at, made, due):
        before = "@triton.jit\ndef join(x, y):\n    return x + y\n"
        before += "@triton.jit\ndef both(a, b, c, d):\n    return a + c, tl.minimum(b, d)\n"
        body = "b = tl.arange(0, 4)[:, None] * 2 + tl.arange(0, 2)[None, :]\n"
        body += f"tl.store(out_ptr + {at}, {made}, {FIRST})"
        _, out = run(meet_locally(kernel(body, before=before)))
        assert out[: len(due)].tolist() == due

    def test_a_block_pointer_keeps_to_the_borders_that_it_checks(self, meet):
        made = (
            "tl.advance(tl.make_block_ptr({}, (n,), (1,), (0,), (BLOCK,), (0,)), (tl.program_id(0) * BLOCK,))"
        )
        body = f"at = {made.format('x_ptr')}\nto = {made.format('out_ptr')}\n"
        body += "x = tl.load(at, boundary_check=(0,), padding_option='zero')\n"
        _, out = run(meet(kernel(f"{body}tl.store(to, x * 2, boundary_check=(0,))", grid="(3,)")))
        assert out.tolist() == (2 * NUMBERS).tolist()
        beyond = refused(meet(kernel(f"{body}tl.store(to, x * 2)", grid="(3,)")))
        assert "stores out[10] to out[11], and out has 10 entries" in beyond
        masked = refused(meet(kernel(f"{body}tl.store(to, x, mask=x > 0)")))
        assert "`mask` and `other` arguments cannot be specified" in masked

    def test_decorators_choose_and_compute_arguments(self, meet):
        options = """
@triton.autotune([triton.Config({"BLOCK": 4}, num_warps=2), triton.Config({"BLOCK": 8})], key=["n"])
@triton.heuristics({"IS_EVEN": lambda given: given["n"] % given["BLOCK"] == 0})
@triton.jit(do_not_specialize=["n"])
"""
        body = DOUBLE.replace("\n@triton.jit\n", options).replace(
            "BLOCK: tl.constexpr", "BLOCK: tl.constexpr, IS_EVEN: tl.constexpr"
        )
        grid = 'lambda meta: (triton.cdiv(10, meta["BLOCK"]),)'
        given = body.replace("(triton.cdiv(x.shape[0], block),)", grid).replace(", BLOCK=block", "")
        device, out = run(meet(HEAD + given))
        assert out.tolist() == (2 * NUMBERS).tolist()
        assert [launch.grid for launch in device.launches] == [(3,)]
        assert "Conflicting meta-parameters" in refused(meet(HEAD + body))

    def test_an_assumption_holds(self, meet):
        assert "tl.assume: the condition does not hold" in refused(meet(kernel("tl.assume(n < 0)")))

    def test_what_runs_here_is_a_part_of_triton(self, meet):
        said = "AttributeError: triton.language.dot_scaled is not in the part of Triton that runs here"
        assert refused(meet(kernel("tl.dot_scaled(x_ptr)"))) == said
        assert "Unexpected dtype int32 in tl.fma" in refused(meet(kernel("tl.fma(n, n, n)")))

    @pytest.mark.parametrize(
        ("made", "due"),
        [
            ("tl.sum((at - 2).to(tl.int8), 0)", "int32"),
            ("tl.sum(at.to(tl.uint8), 0)", "uint32"),
            ("tl.sum(at < 2, 0)", "uint32"),
            ("tl.sum(at.to(tl.float16), 0)", "float16"),
            ("tl.sum(at.to(tl.float16), 0, dtype=tl.float32)", "float32"),
            ("at.to(tl.uint8).max(0)", "int32"),
            ("tl.min(at.to(tl.float16))", "float32"),
            ("tl.dot(tl.zeros((4, 32), tl.int8), tl.zeros((32, 4), tl.int8))", "int32"),
            ("tl.dot(tl.zeros((4, 16), tl.float64), tl.zeros((16, 4), tl.float64))", "float64"),
            (
                "tl.dot(tl.zeros((4, 16), tl.float16), tl.zeros((16, 4), tl.float16), out_dtype=tl.float16)",
                "float16",
            ),
        ],
    )
    def test_a_reduction_has_the_dtype_that_triton_gives_it(self, meet_locally, made, due):
        body = f"at = tl.arange(0, 4)\ntl.static_assert(({made}).dtype == tl.{due})\n"
        body += f"tl.store(out_ptr, 1.0, {FIRST})"
        assert run(meet_locally(kernel(body)))[1][0] == 1

    def test_dtypes_meet_as_in_triton(self):
        meets = [
            ("int32", "float16", "float16"),
            ("float16", "bfloat16", "float32"),
            ("int32", "int64", "int64"),
        ]
        meets += [("int32", "uint32", "uint32"), ("float16", "float32", "float32"), ("int1", "int8", "int8")]
        for one, other, due in meets:
            assert common(DTYPES[one], DTYPES[other]) is DTYPES[due]
            assert common(DTYPES[other], DTYPES[one]) is DTYPES[due]


def compiled(body):

    return {
        one.opname for one in dis.get_instructions(compile(f"def f():\n {body}", "", "exec").co_consts[0])
    }


class TestAttacks:
    """What a kernel may not have: the arrays themselves, or anything from another program."""

    @pytest.mark.parametrize(
        ("before", "body"),
        [
            ("import numpy as np", "np.zeros(3)"),
            ("kept = []", "kept.append(1)"),
            ("import sys", "sys.modules"),
            ("kept = {}", "kept[0] = 1"),
        ],
    )
    def test_a_kernel_sees_no_global_that_is_not_constexpr(self, meet, before, body):
        assert "Cannot access global variable" in refused(meet(kernel(body, before=before)))

    @pytest.mark.parametrize(
        "body",
        [
            "tl.kept = 1",
            "x_ptr.kept = 1",
            "tl.float32.kept = 1",
            "other.kept = 1",
            "tl.arange(0, 4).kept = 1",
            "del x_ptr.kept",
        ],
    )
    def test_no_attribute_is_set_for_the_next_program(self, meet_locally, body):
        before = "@triton.jit\ndef other(): pass"
        with pytest.raises(KernelError, match=r"Triton compiles no (setting|deletion) of an attribute"):
            run(meet_locally(kernel(body, before=before)))

    @pytest.mark.parametrize(
        "held",
        ["[]", "{}", "np", "np.zeros(3)", "Kept()", "Number(0)", "(0, [])", "len", "list.append", "open"],
    )
    def test_a_constant_keeps_nothing_and_reaches_nothing(self, meet_locally, held):
        classes = "class Kept: pass\nclass Number(float): pass\n"
        before = f"import numpy as np\n{classes}kept = tl.constexpr({held})"
        kinds = "list", "dict", "module", "ndarray", "Kept", "Number", "tuple", "builtin_function_or_method"
        said = (
            rf"CONST is tl.constexpr, and a value of type ({'|'.join((*kinds, 'method_descriptor'))}) is none"
        )
        by_name = kernel("kept", before=before)
        with pytest.raises(SubmissionFailed, match=said.replace("CONST", "kept")):
            run(meet_locally(by_name))
        given = kernel(
            "KEPT", before=before, parameters="x_ptr, out_ptr, n, KEPT: tl.constexpr, BLOCK: tl.constexpr"
        )
        with pytest.raises(SubmissionFailed, match=said.replace("CONST", "KEPT")):
            run(meet_locally(given.replace("x.shape[0], BLOCK", "x.shape[0], kept, BLOCK")))
        default = kernel(
            "KEPT", before=before, parameters="x_ptr, out_ptr, n, BLOCK: tl.constexpr, KEPT=kept"
        )
        with pytest.raises(KernelError, match="the default of a kernel's parameter is a number"):
            run(meet_locally(default))

    @pytest.mark.parametrize(
        "made",
        [
            "def known(): return np.zeros(3)\nknown.__module__ = {module!r}",
            "class known: __module__ = {module!r}",
            "known = type(tl)('known')\nvars(known)['np'] = np",
            "known = type(tl.float32)('float32', 'f', 32, 'float32')\nknown.np = np",
            "class Known(triton.jit()): np = np\n@Known\ndef known(): pass",
        ],
    )
    def test_what_is_made_to_look_like_triton_s_is_none(self, meet, made):
        before = "import numpy as np\n" + made.format(module=LANGUAGE)
        assert "Cannot access global variable known" in refused(meet(kernel("known", before=before)))

    @pytest.mark.parametrize(
        ("body", "name"),
        [
            ("x_ptr.array.given", "array"),
            ("x_ptr.launch.program", "launch"),
            ("x_ptr.at.data", "at"),
            ("tl.arange(0, 4).data", "data"),
            ("other.function()", "function"),
            ("other.loaded()", "loaded"),
            ("other.builtins", "builtins"),
            ("range(3).gi_frame.f_back", "gi_frame"),
            ("tl.float32.stored.type(3)", "stored"),
            ("other._globals", "_globals"),
        ],
    )
    def test_what_only_these_objects_have_is_no_attribute(self, meet_locally, body, name):
        before = "@triton.jit\ndef other(): pass"
        with pytest.raises(KernelError, match=rf"Triton compiles no \.{name}"):
            run(meet_locally(kernel(body, before=before)))

    def test_a_pattern_reaches_no_class(self, meet_locally):
        body = "match 1:\n    case int(__class__=found):\n        found.mro()"
        with pytest.raises(KernelError, match="Triton compiles no class pattern"):
            run(meet_locally(kernel(body)))

    def test_what_is_set_on_another_kernel_is_not_seen(self, meet):
        before = "import numpy as np\n@triton.jit\ndef other(): pass\nother.np = np"
        assert "AttributeError" in refused(meet(kernel("other.np.zeros(3)", before=before)))

    def test_kernels_functions_and_numbers_are_constants(self, meet_locally):
        before = (
            "@triton.jit\ndef twice(x): return 2 * x\n"
            "CHOSEN = tl.constexpr(twice)\nTYPE = tl.constexpr(tl.float32)\nSIZES = tl.constexpr((4, 1))"
        )
        body = (
            "at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
            "x = tl.load(x_ptr + at, mask=at < n)\n"
            "tl.store(out_ptr + at, CHOSEN(x).to(TYPE), mask=at < n)"
        )
        found = run(meet_locally(kernel(body, before=before, grid="(3,)")))[1]
        np.testing.assert_array_equal(found, 2 * NUMBERS)

    def test_what_poses_as_the_recorder_is_not_let_in(self, meet):
        name = recording.RECORD
        before = f"def {name}(site, value): return value\n{name}.__module__ = {LANGUAGE!r}"
        assert f"Cannot access global variable {name}" in refused(
            meet(kernel(f"{name}(0, 1)", before=before))
        )

    def test_a_launcher_reaches_no_numbers(self, meet):
        code = HEAD + "def double(x, out, block): return x.given"
        given = [Device().array(NUMBERS, "x"), None, 4]
        assert "None" in repr(meet(code).call("double", None, given, {}))

    @pytest.mark.parametrize(
        "asked",
        [
            "x.access('launch', 'kernel', [2], ['x', 'out'])",
            "kernel[(3,)](x, out, 10, BLOCK=block)\n    x.access('load', 0, 0, np.arange(4), None)",
            "copy.copy(x).access('load', 0, 0, np.arange(4), None)",
        ],
    )
    def test_a_launcher_does_no_kernel_s_work(self, connect, asked):
        made = DOUBLE[: DOUBLE.index("def double")]
        code = f"{HEAD}import copy\nimport numpy as np\n{made}def double(x, out, block):\n    {asked}"
        assert refused(connect(code)).endswith("RuntimeError: Only a kernel loads and stores.")

    def test_an_array_is_used_in_its_own_call(self, connect):
        stale = "    double.kept = getattr(double, 'kept', None) or out\n    kernel"
        student = connect(
            HEAD + DOUBLE.replace("    kernel", stale).replace("(x, out, x.", "(x, double.kept, x.")
        )
        run(student)
        said = "RuntimeError: An array of an earlier call is used: each call has arrays of its own."
        assert refused(student) == said

    def test_what_a_launcher_asks_without_a_kernel_is_refused(self, meet):
        code = (
            HEAD
            + "import numpy as np\n"
            + "def double(x, out, block):\n    return x.access('load', 0, 0, np.arange(4), None)"
        )
        assert refused(meet(code)) == "RuntimeError: Only a kernel loads and stores."

    @pytest.mark.parametrize(
        "asked",
        [
            "x.access('launch', 'k', [2, -1], ['x'])",
            "x.access('launch', 'k', [2] * 9, ['x'])",
            "x.access('launch', 'k', [2], ['y'])",
            "x.access('launch', 'k', 7, ['x'])",
            "x.access('launch')",
            "x.access('launch', 'k', [1], ['x']), x.access('load', 0, 0, np.zeros((4,)), None)",
            "x.access('launch', 'k', [1], ['x']), x.access('load', 0, 0, np.arange(4), np.ones(3, bool))",
            "x.access('launch', 'k', [1], ['x']), x.access('load', 0, 0, np.arange(9_000), None)",
            "x.access('launch', 'k', [1], ['x']), x.access('store', 0, 0, np.arange(4), None, np.zeros(4))",
            "x.access('launch', 'k', [1], ['x']), x.access('store', 0, 0, np.arange(4), None, 'text')",
            "x.access('launch', 'k', [1], ['x']), x.access('sell', 0, 0, np.arange(4), None)",
            "x.access('launch', 'k', [1], ['x']), x.access('load', [], {}, 0, 0)",
            "x.access(7)",
            "x.access()",
        ],
    )
    def test_whatever_is_asked_of_the_device_is_an_answer_or_a_refusal(self, meet, asked):
        code = f"""
import numpy as np
import triton

inner = triton.jit()._launch.__globals__

def double(x, out, block):
    inner["_running"].append(inner["Launch"](None, ()))  # as if a kernel asked
    try:
        return {asked}
    finally:
        inner["_running"].pop()
"""
        assert refused(meet(code))
