"""Verdicts on a device are compared with those on the CPU, and each difference is listed."""

import runpy
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from dojo_authoring.verify.on_device import DeviceDifference, DeviceVerdict, KataOnDevice, judge_on_device  # noqa: E402
from grader.course.catalog import Course  # noqa: E402 - torch first
from grader.worker.child import fake_device  # noqa: E402 - torch first
from grader.worker.child.on_fake_device import call_on_device  # noqa: E402 - torch first
from grader.worker.protocol.codec import TensorOutline  # noqa: E402 - torch first

from ...conftest import CENTER, write_files  # noqa: E402 - torch first

ROOT = Path(__file__).parents[3]
MISTAKES = "solutions/modules/center/mistakes.py"
VARIANTS = "solutions/modules/center/variants.py"
#: Answers that are another one in a worker, whose user is called `student`, as code may be on another device.
UNSTEADY = '''
        import os

        class subtracts_nothing_here(_Center):
            """Nothing is subtracted: the mean is missing."""

            def forward(self, x):
                in_worker = os.environ.get("USER") == "student"
                return (x - in_worker * x.mean(-1, keepdim=True)) * self.scale

        class ends_the_process(_Center):
            """Nothing is subtracted: the mean is missing."""

            def forward(self, x):
                if os.environ.get("USER") == "student":
                    os._exit(1)
                return x * self.scale

        class scales_on_the_cpu(_Center):
            """The product is computed on the CPU; its line has another number in a file of its own."""

            def forward(self, x):
                return ((x - x.mean(-1, keepdim=True)).cpu() * self.scale.cpu()).to(x.device)

        class subtracts_twice(_Center):
            """The mean is subtracted twice."""

            def forward(self, x):
                return (x - 2 * x.mean(-1, keepdim=True)) * self.scale
'''
ALL_CHECKS = DeviceVerdict(
    frozenset({"agrees_with_reference", "stays_on_the_device"}), 0, "leaves_it_on_the_cpu"
)


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The comparison of `center` with the mistakes of UNSTEADY."""
    files = {**CENTER, MISTAKES: CENTER[MISTAKES] + UNSTEADY, VARIANTS: "import torch"}
    course = Course(write_files(tmp_path_factory.mktemp("course"), files))
    return judge_on_device(course, course.kata_info("center"), "cpu")


@pytest.mark.slow
def test_only_answers_whose_verdicts_differ_are_listed(compared):
    assert compared.right == 1
    assert compared.mistakes >= 8
    assert [one.answer for one in compared.differences] == ["subtracts_nothing_here", "ends_the_process"]
    assert compared.memory > 0


@pytest.mark.slow
def test_a_difference_says_both_verdicts(compared):
    differs, ends = compared.differences
    assert "agrees_with_reference" in differs.on_cpu.failed
    assert not differs.on_device.failed
    assert str(differs.on_device) == "passes"
    assert str(ends.on_device).startswith("no verdict: ")


@pytest.mark.slow
def test_the_page_lists_every_difference(compared):
    page = runpy.run_path(str(ROOT / "benchmarks" / "gpu.py"))["page"]
    text = page({"device": "pretended"}, [compared], [], [])
    assert "| `center` | `subtracts_nothing_here` | " in text
    assert "**No line of this page was measured on a GPU.**" in text
    assert f"for {compared.answers - 2} of {compared.answers} answers to 1 kata; " in text


def test_a_difference_of_code_that_the_pretended_device_refuses_is_foretold():
    refused = DeviceVerdict(frozenset({"stays_on_the_device"}), 900)
    assert DeviceDifference("one", refused, ALL_CHECKS).is_foretold
    assert not DeviceDifference("one", DeviceVerdict(frozenset(), 1000), ALL_CHECKS).is_foretold


def test_equal_verdicts_are_no_difference():
    result = KataOnDevice(None)
    result.compare("one", ALL_CHECKS, DeviceVerdict(*vars(ALL_CHECKS).values()))
    assert not result.differences


class TestCallOnDevice:
    """PyTorch's device `meta`, which has no values, stands in for a GPU."""

    def test_a_result_on_the_device_is_returned(self):
        assert call_on_device(lambda x: x @ x.T, [on_meta(2, 3)], {})[0].shape == (2, 2)

    def test_a_result_on_the_cpu_is_told_as_such(self):
        found, _ = call_on_device(lambda _: torch.ones(3), [on_meta(2)], {})
        assert found == TensorOutline("float32", (3,), "cpu")

    def test_tensors_of_two_devices_are_a_mismatch_in_the_line_that_mixes_them(self):
        with pytest.raises(fake_device.DeviceMismatch) as caught:
            call_on_device(lambda x: x + torch.ones(2, 3), [on_meta(2, 3)], {})
        assert Path(__file__) in [entry.path for entry in caught.traceback[1:]]

    @pytest.mark.parametrize("message", ["CUDA error: device-side assert triggered", "shapes do not fit"])
    def test_another_error_is_none(self, message):
        def fail(_):
            raise RuntimeError(message)

        with pytest.raises(RuntimeError, match=message) as caught:
            call_on_device(fail, [on_meta(2)], {})
        assert caught.type is RuntimeError

    def test_what_comes_from_a_copy_on_the_cpu_and_goes_back_is_a_detour(self):
        def detour(x):
            copied = torch.empty(2, 4)  # `meta` has no values to copy
            setattr(copied, fake_device.COPIED, 7)
            return torch.empty_like(x).copy_(copied * 2)

        assert call_on_device(detour, [on_meta(2, 4)], {})[1] == 7
        assert call_on_device(lambda x: x * 2, [on_meta(2, 4)], {})[1] == 0


def on_meta(*shape):
    return torch.ones(shape, device="meta")
