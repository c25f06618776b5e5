"""The moving picture of the README shows what `grade` prints."""

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("pyte", reason="pyte is not installed")
pytest.importorskip("pexpect", reason="pexpect is not installed")

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "record.py"
SECONDS = re.compile(r"\d+\.\d\d s")


def words(picture):
    """The lines of all frames, without what a grading took."""
    lines = ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    return [SECONDS.sub("", " ".join(line.itertext())) for line in lines]


@pytest.mark.slow
def test_a_new_recording_shows_the_words_of_the_picture():
    """If it does not, `python docs/record.py` renews the picture."""
    script = runpy.run_path(str(SCRIPT))
    assert words(script["record"]()) == words(script["PICTURE"].read_text(encoding="utf-8"))
