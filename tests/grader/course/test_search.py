"""Katas are found by name, title, alias and track, in one order everywhere."""

import tomllib
from pathlib import Path

import pytest

from grader.course import search
from grader.course.catalog import Course
from grader.course.search import Words, rank
from grader.errors import NoSuchKata

COURSE = Course(Path(__file__).parents[3])
QUERIES = tomllib.loads(Path(__file__).with_name("search_queries.toml").read_text(encoding="utf-8"))
ROPE = Words("rope scaling", "a longer context", ("yarn two",), "modern")


@pytest.mark.parametrize(("query", "first"), QUERIES.items())
def test_the_first_katas_that_a_query_finds_are_those_of_the_table(query, first):
    found = [info.name for info in search.found(COURSE, query)]
    assert found[: len(first)] == first
    assert first or not found


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("rope scaling", 0),
        ("ropescaling", 0),
        ("yarn two", 0),
        ("ropes", 1),
        ("rope s", 1),
        ("scal", 2),
        ("caling", 3),
        ("e", None),
        ("longer con", 4),
        ("two", 5),
        ("mod", 6),
        ("scaling rope", 9),
        ("longer rope", 11),
        ("rope mod", 13),
        ("rope unknown", None),
        ("onger", None),
    ],
)
def test_the_rank_is_the_best_place_in_which_a_query_fits(query, expected):
    assert rank(ROPE, query) == expected


def test_words_are_folded():
    assert search.folded(" KV-Cache_2!") == "kv cache 2"
    assert search.folded("…") == ""


def test_equally_good_katas_come_in_course_order_and_a_text_without_letters_finds_all():
    kernels = [info.name for info in COURSE.katas.values() if info.track == "kernels"]
    assert [info.name for info in search.found(COURSE, "kernels")][: len(kernels)] == kernels
    assert [info.name for info in search.found(COURSE, "--")] == list(COURSE.katas)


@pytest.mark.parametrize("word", ["rope", "RoPE", "kv-cache", "KV cache", "kvcache", "top-p", "TopP", "gqa"])
def test_a_name_or_an_alias_in_any_spelling_is_one_kata(word):
    [info] = COURSE.katas_meant(word)
    assert info == search.named(COURSE, word)


def test_no_alias_repeats_what_spelling_finds():
    names = {name.replace("_", "") for name in COURSE.katas}
    assert [alias for alias in COURSE.syllabus.aliases if alias.replace("_", "") in names] == []


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("kv", "Did you mean `kv_cache`, `kv_cache_inputs` or `rolling_kv_cache`?"),
        ("paged", "Did you mean `paged_kv_cache` or `paged_decode`?"),
        ("softmx", "Did you mean `softmax`?"),
        ("zzzz", "`grade list` shows all katas."),
        ("", "`grade list` shows all katas."),
    ],
)
def test_a_word_that_names_no_kata_is_answered_with_those_that_it_may_mean(word, sentence):
    with pytest.raises(NoSuchKata) as refused:
        COURSE.katas_meant(word)
    assert str(refused.value) == f"There is no kata called `{word}`. {sentence}"


def test_a_kata_that_the_plan_leaves_out_is_named_as_such():
    with pytest.raises(NoSuchKata, match=r"^`kv_cache` is not among the katas of the plan `lab`"):
        COURSE.limited_to("lab").katas_meant("kv_cache")
