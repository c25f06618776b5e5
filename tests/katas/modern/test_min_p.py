"""min_p: its cases and its laws."""

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "min_p",
    track="modern",
    entry_points=("min_p_filter",),
    title="A threshold that follows the most likely token",
    source="Nguyen et al. 2024, section 3",
    library="torch",
    hints=(
        "TODO: give a nudge: where to look, what to try by hand",
        "TODO: name the step at which most go wrong",
        "TODO: say nearly the answer, in words and never in code",
    ),
    bank_size=40,
)


@KATA.cases
def cases(draw):
    """TODO: draw what tells wrong answers apart: one row and many, no square, large numbers, ties"""
    shape, dtype = draw(st.shapes(2)), draw(st.float_dtypes())
    return {
        "logits": draw(st.tensors(st.permuted(st.arrays(shape, dtype)))),
        "p": draw(st.sampled_from([1.0, 0.25, 0.5])),
    }


@KATA.law(points=1)
def test_memory_layout_does_not_matter(student, logits, p):
    """logits may lie in memory in any order."""
    relaid = logits.mT.contiguous().mT
    what = "the result for logits laid out column by column"
    expect.close(student.min_p_filter(relaid, p), student.min_p_filter(logits, p), what, terms=logits.numel())


# TODO: add a law of the thing itself: a claim that holds for every case, whatever the numbers are
