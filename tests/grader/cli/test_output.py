"""Tests of the destinations of reports, and of outputs that are refused before grading."""

import json

import pytest

from grader.cli.output import ReportOutput
from grader.course.catalog import CourseError
from grader.formats import documents
from grader.report import CheckReport, KataReport, Report

CHECKS = (
    CheckReport("a", "It is so.", "passed", 933, 933),
    CheckReport("b", "It is not.", "failed", 0, 67, "No."),
)
KATA = KataReport("softmax", "attention", "failed", 1000, checks=CHECKS)
REPORT = Report((KATA, KataReport("top_p", "generation", "not_started", 1000)))


@pytest.fixture(autouse=True)
def _without_github(monkeypatch):
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        monkeypatch.delenv(name, raising=False)


def write_report(*forms, output=None):
    ReportOutput(forms, output and str(output)).write(REPORT)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_one_format_is_printed(capsys):
    write_report("json")
    assert json.loads(capsys.readouterr().out)["score"] == 9.33


def test_one_format_goes_to_the_file(tmp_path, capsys):
    write_report("junit", output=tmp_path / "mine.xml")
    assert (tmp_path / "mine.xml").read_text().startswith("<?xml")
    assert capsys.readouterr().out == ""


def test_a_folder_gets_the_name_that_the_host_expects(tmp_path):
    write_report("gradescope", output=tmp_path)
    write_report("junit", output=f"{tmp_path}/new/")
    assert names(tmp_path) == ["new", "results.json"]
    assert names(tmp_path / "new") == ["junit.xml"]


def test_several_formats_go_into_one_folder_and_annotations_to_the_log(tmp_path, capsys):
    write_report("github", "classroom50", "json", output=tmp_path / "out")
    assert names(tmp_path / "out") == [
        "annotations.txt", "release-body.md", "report.json", "result.json", "summary.md",
    ]  # fmt: skip
    assert capsys.readouterr().out.startswith("::error ")


def test_the_terminal_report_goes_to_a_file_if_it_is_the_only_format(tmp_path, capsys):
    write_report("terminal", output=tmp_path / "report.txt")
    assert "9.33 of 20 points" in (tmp_path / "report.txt").read_text()
    assert not ReportOutput(("terminal",), str(tmp_path / "x")).is_live
    assert ReportOutput(("terminal", "json"), str(tmp_path / "x")).is_live
    assert capsys.readouterr().out == ""


def test_github_reports_go_to_its_channels(tmp_path, monkeypatch, capsys):
    summary, output = tmp_path / "summary", tmp_path / "output"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_OUTPUT", str(output))
    write_report("github", "classroom")
    assert summary.read_text().startswith("before\n## 9.33 of 20 points")
    assert output.read_text().startswith("result=")
    assert "result=" not in capsys.readouterr().out


@pytest.mark.parametrize(("form", "others"), [("classroom", []), ("classroom50", ["release-body.md"])])
def test_a_file_that_could_not_be_read_leaves_out_the_record_whose_points_would_be_0(
    form, others, tmp_path, monkeypatch, capsys
):
    output, name = tmp_path / "output", documents(form)[0].file
    monkeypatch.setenv("GITHUB_OUTPUT", str(output))
    write_report(form, output=f"{tmp_path}/out/")
    assert name in names(tmp_path / "out")
    output.unlink(missing_ok=True)
    capsys.readouterr()
    unread = KataReport("top_p", "generation", "error", 1000, message="top_p.py is a link.", unread=True)
    ReportOutput((form,), f"{tmp_path}/out/").write(Report((KATA, unread)))
    assert names(tmp_path / "out") == others
    assert not output.exists()
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == f"`{form}` writes no {name}, where the points would be 0: top_p.py is a link.\n"


@pytest.mark.parametrize(
    ("forms", "output", "sentence"),
    [
        (("json", "junit"), None, "Several formats need a folder to go to: `--output FOLDER`."),
        (("terminal", "json"), None, "Several formats need a folder to go to: `--output FOLDER`."),
        (("gradescope", "prairielearn"), "out",
         "gradescope and prairielearn both write results.json; give each an --output of its own."),
        (("json",), "no/such/file", "The report cannot be written to no/such/file: no such folder."),
        (("github",), "pyproject.toml",
         "The report cannot be written to pyproject.toml: that is a file, and a folder is needed."),
    ],
)  # fmt: skip
def test_an_impossible_output_is_refused_at_once(forms, output, sentence):
    with pytest.raises(CourseError) as refused:
        ReportOutput(forms, output)
    assert str(refused.value) == sentence


def test_a_folder_that_cannot_be_created_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CourseError, match=r"^The report cannot be written to .*: not a directory\.$"):
        write_report("json", "junit", output=tmp_path / "file" / "below")
