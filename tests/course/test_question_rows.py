"""The rows of question pages: an answer of a term stays right in the next release.

Each row is a student's own numbers, chosen by the login. If one changes, right answers become wrong.
A digest may change only with a line in `CHANGELOG.md` that says which page was drawn anew and why.
"""

import hashlib
import json
from pathlib import Path

import pytest

from grader.course.catalog import Course

COURSE = Course(Path(__file__).resolve().parents[2])
#: The first characters of the SHA-256 of each page's rows.
DIGESTS = {
    "attention_questions": "db50b1959e319cb3",
    "parameter_questions": "ee7bc070656ce47b",
    "sampling_questions": "07919235b03fe60e",
    "training_questions": "6ebf0f47a3620480",
    "serving_questions": "60f1d0d179fa69f7",
}


def digest_of(numbers):
    """Return a digest of columns of numbers, whatever the layout of the file that declares them."""
    text = json.dumps({name: list(column) for name, column in numbers.items()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_every_page_of_questions_has_a_digest():
    pages = [info.name for info in COURSE.katas.values() if COURSE.declaration(info).numbers]
    assert pages == [*DIGESTS]


@pytest.mark.parametrize("name", DIGESTS)
def test_the_rows_of_a_page_are_those_of_the_release_before(name):
    assert digest_of(COURSE.declaration(COURSE.kata_info(name)).numbers) == DIGESTS[name]
