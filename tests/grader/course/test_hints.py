"""The hints of the course: long enough where a kata is a riddle, within a terminal, and never the answer."""

from pathlib import Path

import pytest

from dojo_page import desk
from grader.course.catalog import Course
from grader.formats import pages

ROOT = Path(__file__).resolve().parents[3]
KATAS = Course(ROOT).katas
COLUMNS = 78
LINE = 16  # characters of the shortest line that gives something away; `return ids` does not

#: Katas whose last hint is written out, step by step or with shapes.
RIDDLES = [
    "head_split_merge",
    "multi_head_attention",
    "causal_self_attention",
    "transformer",
    "kv_cache",
    "beam_search",
    "top_p",
    "rotary_embedding",
    "grouped_query_attention",
    "alibi_bias",
    "lora_linear",
    "mixture_of_experts",
    "latent_attention",
    "constrained_decoding",
    "batched_generate",
    "rolling_kv_cache",
    "paged_kv_cache",
    "flash_attention",
    "int8_linear",
    "speculative_sampling",
    "byte_pair_encoding",
    "packed_sequences",
    "gradient_accumulation",
]


def closed_up(text):
    return "".join(text.split())


def lines_given_away(reference, hint):
    """The lines of a reference that a hint holds whole, whatever the blanks; comments count for nothing."""
    lines = [closed_up(line.partition("#")[0]) for line in reference.splitlines()]
    return [line for line in lines if len(line) >= LINE and line in closed_up(hint)]


@pytest.mark.parametrize("name", RIDDLES)
def test_the_last_hint_of_a_riddle_has_80_to_160_words_and_a_drawn_part(name):
    *_, last = KATAS[name].hints
    assert 80 <= len(last.split()) <= 160
    assert "\n\n    " in last


@pytest.mark.parametrize("info", KATAS.values(), ids=list(KATAS))
def test_a_hint_is_a_text_of_at_most_160_words_whose_drawn_lines_fit(info):
    for hint in info.hints:
        assert 8 <= len(hint.split()) <= 160
        assert not hint.startswith(" ")
        assert hint == hint.strip()
        drawn = [part for part in hint.split("\n\n") if part.startswith(" ")]
        prose = [part for part in hint.split("\n\n") if not part.startswith(" ")]
        assert [part for part in prose if "\n" in part] == []  # the reader's terminal wraps it
        assert [line for part in drawn for line in part.split("\n") if len(line) > COLUMNS] == []


@pytest.mark.parametrize("info", KATAS.values(), ids=list(KATAS))
def test_no_hint_holds_a_line_of_the_reference(info):
    reference = Course(ROOT).solution(info, "reference").read_text(encoding="utf-8")
    assert [line for hint in info.hints for line in lines_given_away(reference, hint)] == []


def test_a_line_that_a_hint_gives_away_is_seen():
    reference = "def f(x):\n    return x / x.sum(axis=-1)  # [n]\n"
    assert lines_given_away(reference, "It is `return x/x.sum(axis=-1)`.") == ["returnx/x.sum(axis=-1)"]
    assert lines_given_away(reference, "Divide x by its sum.") == []


def test_the_page_shows_a_drawn_part_as_it_was_typed():
    text = "Hint 1 of 3: Look at `x`:\n\n    a  <b>\n      c\n\nThen go on."
    shown = pages.fill(desk.TEMPLATES / "hint.html", text=text)
    assert "<p>Hint 1 of 3: Look at <code>x</code>:</p>" in closed_lines(shown)
    assert "<pre>a  &lt;b&gt;\n  c</pre>" in shown
    assert "<p>Then go on.</p>" in closed_lines(shown)


def closed_lines(markup):
    return "".join(line.strip() for line in markup.splitlines())
