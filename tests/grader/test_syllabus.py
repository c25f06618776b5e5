"""The title, the tracks and the order of a course are read, and errors in the file are reported."""

import pytest

from grader.course.syllabus import CourseError, Syllabus, read_syllabus, to_text


def syllabus(write, tmp_path, text):
    return read_syllabus(write(tmp_path, {"tests/katas/path.toml": text}))


def test_what_is_written_is_read_again(write, tmp_path):
    said = Syllabus(
        'A "course"', "Of attention: é.", {"masks": ["causal", "padding"], "empty": []}, by_hand=True
    )
    assert syllabus(write, tmp_path, to_text(said)) == said
    assert said.order == ["causal", "padding"]


def test_without_the_file_tracks_go_by_their_names(tmp_path):
    found = read_syllabus(tmp_path)
    assert found == Syllabus("the dojo", "", {})
    assert found.rank("a", "z") < found.rank("b", "a")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("titel = 'x'\n[path]", "nothing is called `titel`; there are title, about, by_hand and [path]."),
        ("title = 5\n[path]", 'title is a text in quotes: title = "…".'),
        ("by_hand = 'yes'\n[path]", "by_hand is true or false, without quotes."),
        ("title = 'x'", "must hold a table [path] with a list of katas for each track."),
        ("[path]\na = 'x'", "must hold a table [path] with a list of katas for each track."),
        ("[path]\na = ['x']\nb = ['x']", "lists `x` twice; take one of them out."),
        ("[path", "cannot be read as TOML: Expected ']' at the end of a table declaration"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_a_sentence(write, tmp_path, text, sentence):
    with pytest.raises(CourseError, match=r"^tests/katas/path\.toml") as refused:
        syllabus(write, tmp_path, text)
    assert sentence in str(refused.value)
