"""What a PyTorch answer costs beside the reference: measured, recorded with the answers, shown."""

import dataclasses
import json
import textwrap

import pytest

from dojo_authoring.verify.judged import key_entry
from grader.answer_keys.answers import ReferenceCost
from grader.answer_keys.file import KeyFile, Keyring, write
from grader.cases.oracle import CostUnknown, measured
from grader.course.submission import Submission
from grader.formats import account, html, terminal
from grader.grading.grader import Grader
from grader.kata import Kata
from grader.report import CheckReport, Cost, KataReport, Report, from_json, to_json
from grader.worker.in_process import LocalStudent

LAYER = """
    import torch
    from torch import nn

    class Center(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(width))

        def forward(self, x):
            {body}
"""
PLAIN = LAYER.format(body="return (x - x.mean(-1, keepdim=True)) * self.scale")
WIDE = LAYER.format(
    body="wide = x.repeat(3, 1)[: len(x)]; return (wide - x.mean(-1, keepdim=True)) * self.scale"
)
CHECKS = (CheckReport("a", "A claim.", "passed", 100, 100),)
BLANK = KataReport("center", "modules", "passed", 1000)
LARGE = dataclasses.replace(BLANK, cost=Cost(1.0, 3.0, (2, 4, 16, 16), "aten.repeat"))
SMALL = dataclasses.replace(BLANK, cost=Cost(1.0, 1.4, (2, 16), "aten.mm"))


def test_the_references_own_answer_costs_once(grade):
    report = grade(PLAIN, "center")
    assert (report.status, report.cost.work, report.cost.memory) == ("passed", 1.0, 1.0)


def test_a_larger_tensor_is_measured_and_costs_no_points(grade):
    report = grade(WIDE, "center")
    assert (report.status, report.score, report.cost.memory) == ("passed", report.max_score, 3.0)
    assert report.cost.operation == "aten.repeat"
    assert report.cost.is_noticeable


def test_an_answer_that_fails_has_no_cost(grade):
    assert grade(PLAIN.replace("* self.scale", "* 2"), "center").cost is None


def test_a_numpy_kata_has_no_cost(grade):
    assert grade("def double(x):\n    return 2 * x").cost is None


def test_an_answer_that_fails_while_it_is_measured_passes_without_a_cost(grade):
    counted = "type(x) is torch.Tensor and torch.utils._python_dispatch._get_current_dispatch_mode()"
    body = f"assert not ({counted})\n            return (x - x.mean(-1, keepdim=True)) * self.scale"
    report = grade(LAYER.format(body=body), "center")
    assert (report.status, report.cost) == ("passed", None)


def test_a_key_holds_the_references_cost(tiny_course, torch_source):
    info = tiny_course.kata_info("center")
    data = write([key_entry(tiny_course, Grader(tiny_course, {}).prepare(info))], 20170612, "0")
    judging = Grader(tiny_course, {"torch": torch_source}, keyring=Keyring([KeyFile(data, "k")], "k"))
    key = judging.prepare(info).oracle.answered
    assert isinstance(key.cost, ReferenceCost)
    assert judging.grade(Submission(info, textwrap.dedent(WIDE), "center.py")).report.cost.memory == 3.0


def test_building_a_module_counts_nothing():
    torch = pytest.importorskip("torch")

    class Doubled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.unused = torch.nn.Linear(64, 64)

        def forward(self, x):
            return 2 * x

    kata = Kata("k", track="t", entry_points=("Doubled",), title="", source="", hints=(), library="torch")
    kata.observe(lambda student, x: {"result": student.Doubled()(x)})
    module = type("module", (), {"Doubled": Doubled})
    flops, largest = measured(kata, LocalStudent(module), {"x": torch.ones(5)})
    assert (flops, largest.shape) == (5, (5,))


def test_calls_that_get_the_graders_functions_are_not_measured():
    kata = Kata("k", track="t", entry_points=("f",), title="", source="", hints=(), library="torch")
    kata.observe(lambda student: {"result": student.f(lambda x: x)})
    module = type("module", (), {"f": staticmethod(lambda g: g(1))})
    with pytest.raises(CostUnknown):
        measured(kata, LocalStudent(module), {})


def test_the_sentence_says_both_figures_and_the_tensor():
    assert account.cost_of(LARGE) == (
        "1.0 × the work of the reference, 3.0 × its largest tensor: [2, 4, 16, 16], made by aten.repeat."
    )
    assert account.cost_of(BLANK) == ""


def test_the_terminal_shows_it_if_it_is_noticeable_or_in_full():
    assert "1.0 × the work" not in terminal.render_kata(SMALL)
    checked = [dataclasses.replace(kata, checks=CHECKS) for kata in (LARGE, SMALL)]
    assert "cost        1.0 × the work" in terminal.render_kata(checked[0])
    assert "1.0 × the work" not in terminal.render_kata(checked[1])
    assert "1.0 × the work" in terminal.render_kata(checked[1], terminal.View(detail="full"))


def test_a_page_always_shows_it():
    kata = dataclasses.replace(SMALL, checks=CHECKS)
    assert "1.4 × its largest tensor" in html.render(Report((kata,)))


def test_json_holds_it_and_reads_it_back():
    report = Report((LARGE, BLANK))
    saved = json.loads(json.dumps(to_json(report)))
    assert saved["katas"][0]["cost"] == {
        "work": 1.0,
        "memory": 3.0,
        "shape": [2, 4, 16, 16],
        "operation": "aten.repeat",
    }
    assert from_json(saved) == report
    del saved["katas"][0]["cost"]  # as an older grader wrote it
    assert from_json(saved).katas[0].cost is None
