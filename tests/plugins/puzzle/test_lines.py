"""Cutting a function into lines that can be moved."""

import pytest

from dojo_puzzle.lines import Names, cut, names_in, without_comments

SOURCE = '''"""The statement."""

import numpy as np

LIMIT = 3  # of rounds


def count(x, limit=LIMIT):
    """Count."""
    total = 0  # so far
    # the rounds
    for one in x:
        if one > limit:
            break

        elif one < 0:
            continue
        else:
            total += sum(
                one * other  # each pair
                for other in x
            )
    try:
        check(total)
    except ValueError as error:
        raise KeyError(error) from None
    finally:
        total = "# no comment"
    return total


SEEN = {}
'''
LINES = """\
    total = 0
    for one in x:
        if one > limit:
            break
        elif one < 0:
            continue
        else:
            total += sum(
                one * other
                for other in x
            )
    try:
        check(total)
    except ValueError as error:
        raise KeyError(error) from None
    finally:
        total = "# no comment"
    return total
"""


@pytest.fixture
def function():
    return cut(SOURCE, "count")


def test_each_statement_and_each_opening_line_is_one_piece(function):
    texts = [line.text for line in function.lines]
    assert "\n".join(texts) + "\n" == LINES
    assert len(texts) == 15
    assert texts[7].count("\n") == 3


def test_what_stands_around_the_body_stays_and_docstrings_go(function):
    assert function.head.strip() == ("import numpy as np\n\nLIMIT = 3\n\n\ndef count(x, limit=LIMIT):")
    assert function.tail.strip() == "SEEN = {}"


def test_the_lines_in_their_order_are_the_function_again(function):
    again = function.assembled([line.text for line in function.lines])
    assert cut(again, "count").lines == function.lines
    compile(again, "again", "exec")


def test_a_line_knows_the_blocks_around_it(function):
    assert [line.blocks for line in function.lines[:8]] == [
        (), (), (1,), (1, 2), (1,), (1, 4), (1,), (1, 6),
    ]  # fmt: skip
    assert [number for number, line in enumerate(function.lines) if line.opens] == [1, 2, 4, 6, 8, 10, 12]


def test_a_block_in_one_row_is_one_piece():
    lines = cut("def f(x):\n    if x: return 1\n    else: x = 2\n    return x\n", "f").lines
    assert [line.text.strip() for line in lines][-1] == "return x"
    assert not any(line.opens for line in lines)


def test_a_function_inside_is_one_piece_with_its_decorators():
    inside = "    @cache\n    def g(y):\n        return y + later"
    lines = cut(f"def f(x):\n{inside}\n    return g(x)\n", "f").lines
    assert [line.text for line in lines] == [inside, "    return g(x)"]
    assert names_in(lines[0]) == Names(frozenset(), frozenset({"g"}))


@pytest.mark.parametrize(
    "source",
    [
        "class f:\n    pass\n",
        "def g():\n    pass\n",
        "def f():\n    pass\n\n\ndef g():\n    pass\n",
        "f = 1\n",
    ],
)
def test_a_source_that_is_not_this_one_function_is_not_cut(source):
    with pytest.raises(LookupError):
        cut(source, "f")


def test_a_sign_in_a_text_begins_no_comment():
    assert without_comments('a = "#"  # b\n') == 'a = "#"\n'


def test_a_comprehension_has_names_of_its_own():
    (line,) = cut("def f(live):\n    ids = [ids + at for ids, _ in live]\n", "f").lines
    assert names_in(line) == Names(frozenset({"live", "at"}), frozenset({"ids"}))


@pytest.mark.parametrize(
    ("number", "read", "bound"),
    [
        (0, set(), {"total"}),
        (1, {"x"}, {"one"}),
        (4, {"one"}, set()),
        (6, set(), set()),
        (7, {"sum", "one", "x", "total"}, {"total"}),
        (10, {"ValueError"}, {"error"}),
        (12, set(), set()),
    ],
)
def test_the_names_of_a_line(function, number, read, bound):
    names = names_in(function.lines[number])
    assert (names.read, names.set) == (read, bound)
