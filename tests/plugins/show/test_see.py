"""`grade see`: what is composed from a student's functions, and how it is shown."""

import base64
import hashlib
import importlib
import json
import re
import shutil
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dojo_authoring.release import repository, wheel
from dojo_show import demonstration
from dojo_show.answers import Answers, open_answers
from dojo_show.demonstration import open_demonstration, read_recording, reference_students
from dojo_show.sections import render_text
from dojo_show.tracing import BLOCKED, Tracer
from grader.cli.grade import grade as command
from grader.cli.kata import kata
from grader.course.catalog import Course
from grader.course.state import CourseState, file_digest
from grader.formats.terminal import Paint
from grader.worker.in_process import LocalStudent

pytestmark = pytest.mark.slow  # each composes the decoder, in seconds

pytest.importorskip("torch", reason="PyTorch is not installed")

ROOT = Path(__file__).resolve().parents[3]
SEE = open_demonstration(Course(ROOT))
KATAS, IDS = SEE.katas, tuple(SEE.titles)
DECODER, EXAMPLE, EXPERIMENTS = (
    importlib.import_module(f"{SEE.show.__module__}.{name}") for name in ("decoder", "example", "experiments")
)
REPLY, Sections, example_of = EXAMPLE.REPLY, DECODER.Sections, EXAMPLE.example_of
SIX = list(KATAS)[:6]
LARGER = {"multi_head_attention", "cross_attention", "decoder_layer", "decoder_stack"}
DRAWN = {"draws/counts", "search/sampling"}  # another build of PyTorch may draw other tokens
SEES_ALL = """
import numpy as np

def causal_mask(query_len, key_len=None):
    return np.ones((query_len, query_len), dtype=bool)
"""


@pytest.fixture(scope="module")
def references():
    return reference_students(Course(ROOT), KATAS)


@pytest.fixture
def run(references):
    """`run(names, tokens, kata=source)` shows the decoder of a student who passed these katas, and whose
    other ones fail."""

    def show(names=KATAS, tokens=None, **failing):
        statuses = {name: "yours" if name in names else "open" for name in KATAS}
        students = {name: references[name] for name in names}
        for name, source in failing.items():
            statuses[name], students[name] = "fails", loaded(source)
        shown = Sections(Answers(KATAS, statuses, students), read_recording(SEE), example_of(tokens))
        shown.sections = {section.id: section for section in shown.all()}
        return shown

    return show


@pytest.fixture
def exercises(tmp_path):
    """`exercises(names)` returns a folder in which these katas have passed, with the reference's code."""

    def write(names):
        folder, infos = tmp_path / "exercises", Course(ROOT).katas
        shutil.copytree(ROOT / "exercises", folder)
        course = Course(ROOT, folder)
        for name in names:
            shutil.copy(course.solution(infos[name], "reference"), course.stub(infos[name]))
            remember(course, name, "passed")
        return folder

    return write


def remember(course, name, status):
    """Record that the current file of this kata was graded."""
    info = course.katas[name]
    CourseState(course).change(name, digest=file_digest(info, course.stub(info)), status=status)


def loaded(source):
    module = types.ModuleType("kata")
    exec(source, vars(module))
    return LocalStudent(module)


def sources(shown):
    """Whose the values are, by kata."""
    found = {}
    for step in shown.steps.values():
        found.setdefault(step.kata, set()).add(step.source)
    found.pop("", None)
    return found


def far_from_the_printed(shown, layer):
    return np.abs(shown.stack.states[layer] - np.array(REPLY["printed"][f"h{layer}"])).max()


def in_text(shown, **options):
    return render_text(list(shown.sections.values()), 80, Paint(colour=False), **options)


def planes(shown):
    return shown.sections["stack"].data["planes"]


# What is composed


def test_a_student_who_passed_everything_sees_the_printed_table(run):
    shown = run()
    assert sources(shown) == {name: {"yours"} for name in KATAS}
    assert all(far_from_the_printed(shown, layer) < 6e-4 for layer in (0, 1, 2))
    assert not any(step.changed for step in shown.steps.values())


def test_the_composition_is_held_against_the_larger_functions(run):
    told = [found["told"] for found in run().sections["stack"].data["comparisons"]]
    assert all(re.fullmatch(r"difference (0|\de-[6-9])", one) for one in told)
    assert len(told) == 4


def test_without_any_kata_every_number_is_recorded(run):
    shown = run(())
    assert {kata for kata, found in sources(shown).items() if found != {"recorded"}} == LARGER
    assert all(far_from_the_printed(shown, layer) < 6e-4 for layer in (0, 1, 2))
    assert {plane["source"] for plane in planes(shown)} == {"recorded"}
    told = {found["told"] for found in shown.sections["stack"].data["comparisons"]}
    assert told == {"not yours yet"}


def test_six_katas_light_up_what_they_compute(run):
    shown = run(SIX)
    found = sources(shown)
    assert {kata for kata, source in found.items() if source == {"yours"}} == set(SIX)
    first = planes(shown)[0]
    assert (first["source"], first["katas"]) == ("recorded", ("layer_norm",))
    assert first["inside"]["source"] == "yours"
    assert "not yours yet: grade layer_norm feed_forward" in in_text(shown)


def test_the_effect_of_a_broken_mask_can_be_followed(run):
    shown = run(KATAS, causal_mask=SEES_ALL)
    figures = {figure.title: figure for figure in shown.sections["attention"].figures}
    mask, weights = figures["3  causal_mask(3)"], figures["5  weights"]
    assert (mask.source, mask.katas) == ("fails", ("causal_mask",))
    assert mask.changed.tolist() == [[False, True, True], [False, False, True], [False, False, False]]
    assert weights.changed[:2].all()
    assert not weights.changed[2].any()  # the last token may see everything
    assert all(plane["changed"] for plane in planes(shown))
    [stack] = [c for c in shown.sections["stack"].data["comparisons"] if c["kata"] == "decoder_stack"]
    assert float(stack["told"].removeprefix("difference ")) > 0.1
    assert "yours, fails: causal_mask" in in_text(shown)
    assert "✗" in in_text(shown)


def test_a_recording_does_not_hide_the_effect(run):
    shown = run([name for name in KATAS if name != "feed_forward"], causal_mask=SEES_ALL)
    assert [plane["source"] for plane in planes(shown)[:3]] == ["fails", "yours", "missing"]
    assert planes(shown)[2]["katas"] == ("feed_forward",)
    assert planes(shown)[3]["hidden"] is None


@pytest.mark.parametrize(
    ("result", "note"),
    [
        ("raise KeyError('k')", "KeyError: 'k'"),
        ("raise ValueError('\\x1b[31m <b>')", "ValueError: \\x1b[31m <b>"),
        ("return 'mask'", "It returned an object of type str, and an array is needed."),
        ("return np.ones((2, 2), dtype=bool)", "It returned the shape [2, 2], and [3, 3] is needed."),
        ("return np.ones((3, 3))", "It returned the dtype float64, and bool is needed."),
    ],
)
def test_a_function_that_returns_something_else_is_told(run, result, note):
    shown = run(causal_mask=f"import numpy as np\ndef causal_mask(n, m=None):\n    {result}\n")
    step = shown.steps["head/mask"]
    assert (step.source, step.note) == ("missing", note)
    assert note in in_text(shown)
    assert shown.steps["head/attention"].note == BLOCKED


def test_a_function_that_never_ends_is_waited_for_once(exercises):
    folder = exercises(["layer_norm"])
    (folder / "attention/causal_mask.py").write_text(
        "def causal_mask(n, m=None):\n    while True:\n        n\n"
    )
    course = Course(ROOT, folder)
    remember(course, "causal_mask", "failed")
    with open_answers(course, KATAS, mine=True) as answers:
        shown = Sections(answers, read_recording(SEE), example_of(None))
        shown.all()
        told = {step.note for name, step in shown.steps.items() if step.kata == "causal_mask"}
        assert len(told) == 1
        assert re.fullmatch(r"No answer within 5 seconds of computing, in line [23]\.", told.pop())
        assert answers.students["causal_mask"].budget.spent < 7


def test_another_sampler_does_not_touch_what_is_recorded_of_the_search(run):
    likeliest = "def sample(logits, temperature, generator=None):\n    return logits.argmax(-1)\n"
    shown = run([name for name in KATAS if name != "beam_search"], temperature_sampling=likeliest)
    assert shown.steps["search/sampling"].changed
    assert shown.steps["search/beams"].source == "recorded"
    assert shown.sections["search"].data["best"] == [2, 6]


def test_what_comes_behind_an_error_is_not_called(run):
    source = "def layer_norm(x, gamma, beta, eps=1e-5):\n    raise ValueError('too wide')\n"
    shown = run(layer_norm=source)
    assert shown.steps["stack/1/self-attention/mask"].note == BLOCKED
    assert [plane["note"] for plane in (planes(shown)[0], planes(shown)[2])] == [
        "ValueError: too wide",
        BLOCKED,
    ]
    assert "ValueError: too wide" in in_text(shown)


def test_what_a_filter_returns_cannot_stop_the_grader(run):
    shown = run(top_k="def top_k_filter(logits, k):\n    return 7\n")
    assert shown.steps["choice/top_k"].note == "What it returned cannot be used."
    assert shown.sections["choice"].data["grid"] is None


def test_a_nan_is_a_difference_from_the_recording(references):
    tracer = Tracer(Answers(KATAS, dict.fromkeys(KATAS, "yours"), references), {"x": [[1.0, 2.0]]})
    tracer.call("x", "softmax", lambda _: np.array([1.0, np.nan]), [(2,)])
    assert tracer.steps["x"].changed[0].tolist() == [False, True]


# The recording


def test_the_recording_is_what_the_references_give(run):
    recorded, steps = read_recording(SEE)["steps"], run().steps
    assert recorded.keys() == {name for name in steps if not name.startswith("compare/")}
    for name, due in recorded.items():
        if name in DRAWN:
            continue
        for value, expected in zip(steps[name].values, due, strict=True):
            assert np.allclose(value, expected, atol=2e-5), name


def test_the_recorded_norms_are_those_of_the_training():
    recorded = read_recording(SEE)["norms"]
    trained = EXPERIMENTS.train_norms(30)
    assert trained.keys() == recorded.keys()
    assert all(np.allclose(norms, recorded[name][:4], rtol=0.05) for name, norms in trained.items())


def test_the_command_writes_the_recording_anew(tmp_path, monkeypatch):
    shipped = read_recording(SEE)
    for name in ("exercises", "solutions", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "see", tmp_path / "see")
    (tmp_path / "see/recording.json").unlink()
    own = open_demonstration(Course(tmp_path))
    assert read_recording(own) == {}
    monkeypatch.setattr(sys.modules[own.show.__module__], "train_norms", lambda: shipped["norms"])
    monkeypatch.setattr(demonstration, "open_demonstration", lambda _: own)
    result = CliRunner().invoke(kata, ["record-see", "--course", str(tmp_path)])
    assert result.stdout == f"{len(shipped['steps'])} steps are in recording.json.\n"
    assert read_recording(own).keys() == shipped.keys()
    assert read_recording(own)["steps"]["head/mask"] == shipped["steps"]["head/mask"]


def test_without_a_recording_nothing_takes_the_place_of_a_function():
    shown = Sections(Answers(KATAS), {}, example_of(None))
    sections = shown.all()
    assert {step.source for step in shown.steps.values()} == {"missing"}
    assert f"0 of {len(KATAS)} katas" in render_text(sections, 80, Paint(colour=False))
    assert f"0 of {len(KATAS)} katas" in demonstration.render_page(SEE, sections)


# A loss that falls


def losses(shown):
    return {
        kata: [float(one) for one in loss] for kata, loss in shown.sections["training"].data["losses"].items()
    }


def test_three_losses_fall_by_the_backward_passes_of_the_student(run):
    found = losses(run())
    assert list(found) == ["softmax_cross_entropy_backward", "layer_norm_backward", "attention_backward"]
    assert [loss[-1] < 0.4 * loss[0] for loss in found.values()] == [True] * 3
    assert found["attention_backward"][-1] < 0.1 < found["layer_norm_backward"][-1]


def test_a_loss_does_not_fall_by_a_wrong_gradient(run):
    source = (
        "def softmax_cross_entropy_backward(logits, targets, ignore_index=-100):\n    return 0 * logits\n"
    )
    shown = run(SIX, softmax_cross_entropy_backward=source)
    [loss] = (one for kata, one in losses(shown).items() if kata == "softmax_cross_entropy_backward")
    assert loss == [loss[0]] * len(loss)
    assert "yours, fails: softmax_cross_entropy_backward" in in_text(shown)
    assert sources(shown)["layer_norm_backward"] == {"recorded"}


# Tokens that are typed


def test_typed_tokens_go_through_the_functions(run):
    shown = run(tokens="where is my order")
    assert shown.stack.states[6].shape == (4, 8)
    assert shown.sections["overview"].data["said"] == "where is my order"
    assert sources(shown) == {name: {"yours"} for name in KATAS}


def test_nothing_is_recorded_for_typed_tokens(run):
    shown = run(SIX, tokens="a a b")
    assert shown.stack.states[1] is None
    assert planes(shown)[0]["katas"] == ("layer_norm",)
    assert shown.sections["stack"].data["tokens"] == ["a 0", "a 1", "b"]
    assert "stays empty" in in_text(shown)


def test_typed_text_is_bounded():
    example = example_of("x\x1b[31m " + "y" * 99 + " z" * 99)
    assert len(example.tokens) == EXAMPLE.MOST_TOKENS
    assert max(map(len, example.tokens)) == 16
    assert "\x1b" not in "".join(example.tokens)
    assert example_of(" ").tokens == REPLY["tokens"]


# The page and the text


def test_the_page_is_small_and_loads_nothing(run):
    shown = demonstration.render_page(SEE, list(run().sections.values()))
    longest = demonstration.render_page(
        SEE, list(run(tokens=" ".join(letter * 20 for letter in "abcdefgh")).sections.values())
    )
    assert max(len(shown.encode()), len(longest.encode())) < 190_000
    assert not re.search(r"(src|href)=\"(?!#)|url\((?!#)|@import|fetch\(|XMLHttpRequest", shown)
    assert re.findall(r"https?://[^\"']*", shown) == ["http://www.w3.org/2000/svg"]  # a name, not an address
    assert "innerHTML" not in shown


def test_the_policy_allows_the_script_and_the_style_by_their_digests(run):
    shown = demonstration.render_page(SEE, list(run().sections.values()))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', shown)[1]
    for name, pattern in (("script", r"<script>(.*?)</script>"), ("style", r"<style>(.*?)</style>")):
        inside = re.search(pattern, shown, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_a_token_cannot_end_the_data_of_the_page(run):
    shown = demonstration.render_page(SEE, list(run(tokens="</script> {{ script }}").sections.values()))
    assert shown.count("</script>") == 2
    assert json.loads(re.search(r'id="data">(.*?)</script>', shown)[1])[0]["data"]["said"].startswith("</scr")


def test_the_text_fits_80_columns_and_has_every_section(run):
    shown = in_text(run(SIX))
    assert max(map(len, shown.splitlines())) <= 80
    for title in ("Your decoder, running", "The stack, layer by layer", "The cache grows"):
        assert title in shown
    assert "After “Order shipped from” comes “hub”, 36%." in shown
    assert "Beam search writes “late .”, probability 0.153." in shown


def test_a_long_note_has_lines_of_its_own(run):
    shown = in_text(run(layer_norm=f"def layer_norm(x, g, b):\n    raise ValueError('{'wide ' * 30}')\n"))
    assert max(map(len, shown.splitlines())) <= 80
    assert "  h1\n    ValueError: wide wide" in shown


def test_the_text_has_no_colour_and_no_unicode_where_there_is_none(run):
    shown = in_text(run(SIX), ascii_only=True)
    assert shown.isascii()
    assert "\x1b" not in shown
    assert "\x1b[" in render_text(list(run().sections.values()), 80, Paint(colour=True))


# The command


def test_the_command_calls_the_files_in_their_workers(exercises, tmp_path):
    folder, out = exercises(SIX), tmp_path / "decoder.html"
    arguments = ["--see", "--course", str(ROOT), "--exercises", str(folder), "--out", str(out)]
    result = CliRunner().invoke(command, [*arguments, "--text", "overview", "attention"])
    assert result.exit_code == 0, result.output
    assert f"6 of {len(KATAS)} katas of the decoder are yours." in result.stdout
    assert "The stack" not in result.stdout
    assert "open it in a browser" in result.stderr
    assert "causal_mask" in out.read_text()


def test_a_file_that_does_not_pass_is_offered_and_used_on_demand(exercises):
    folder = exercises(SIX)
    (folder / "attention/causal_mask.py").write_text(SEES_ALL)
    remember(Course(ROOT, folder), "causal_mask", "failed")
    arguments = ["--see", "--text", "--course", str(ROOT), "--exercises", str(folder)]
    offered = CliRunner().invoke(command, [*arguments, "overview"]).stdout
    assert "Not passing yet: causal_mask. In a terminal, `grade see --mine`" in " ".join(offered.split())
    followed = CliRunner().invoke(command, [*arguments, "--mine", "attention"]).stdout
    assert "3  causal_mask(3)   yours, fails: causal_mask" in followed


def test_a_grading_that_is_remembered_is_not_repeated(exercises):
    graded = []
    course = Course(ROOT, exercises(["causal_mask"]))
    with open_answers(course, KATAS, started=graded.append) as answers:
        assert answers.statuses["causal_mask"] == "yours"
        assert answers.students["causal_mask"].causal_mask(2).tolist() == [[True, False], [True, True]]
    assert graded == []


def test_a_file_that_cannot_be_imported_is_not_used(exercises):
    folder = exercises([])
    (folder / "attention/causal_mask.py").write_text("1 / 0\n\ndef causal_mask(n):\n    return n\n")
    with open_answers(Course(ROOT, folder), KATAS, mine=True) as answers:
        assert answers.statuses["causal_mask"] == "begun"
        assert dict(answers.students) == {}


def test_a_grading_is_remembered(exercises, tmp_path):
    exercises(["softmax"])
    for name in ("tests", "solutions", "see"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "exercises/attention/causal_mask.py").write_text(SEES_ALL)
    result = CliRunner().invoke(command, ["--see", "--course", str(tmp_path)])
    assert result.stdout.startswith(f"1 of {len(KATAS)} katas of the decoder are yours.\nWhat is hatched")
    assert "Not passing yet: causal_mask." in result.stdout
    assert result.stderr == "grading causal_mask …\n"
    assert (tmp_path / ".dojo/see.html").is_file()
    assert CourseState(Course(tmp_path)).kata("causal_mask").status == "failed"


def test_students_get_what_the_course_shows():
    given = repository.demonstration_files(Course(ROOT)).keys()
    files = [path.relative_to(ROOT) for path in (ROOT / "see").rglob("*") if path.is_file()]
    assert given == {path.as_posix() for path in files if "__pycache__" not in path.parts}
    assert {"see/__init__.py", "see/recording.json", "see/page.js"} <= given
    assert "dojo_show/templates/page.js" in wheel.sources()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--see", "softmax"], f"There is no section `softmax` to see; say {', '.join(IDS)}."),
        (["--mine"], "`--mine` goes with `grade see`: grade see --mine."),
        (["--see", "--out", "/dev/null/x/y.html", "next"], "The page cannot be written to"),
    ],
)
def test_wrong_input_is_one_sentence(arguments, told, exercises):
    where = ["--course", str(ROOT), "--exercises", str(exercises([]))]
    result = CliRunner().invoke(command, [*arguments, *where])
    assert result.exit_code == 4
    assert told in result.stderr
