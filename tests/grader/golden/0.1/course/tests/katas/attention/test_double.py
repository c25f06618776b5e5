import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "double",
    track="attention",
    entry_points=("double",),
    title="Twice as much",
    source="nowhere",
    hints=("Think of two.",),
    bank_size=4,
)


@KATA.cases
def cases(draw):
    return {"x": draw(st.readable_arrays(draw(st.shapes(2, 3)), draw(st.float_dtypes())))}


@KATA.example
def one():
    return {"x": np.ones((1, 2), dtype=np.float32)}


@KATA.law(points=1)
def test_twice_is_a_sum(student, x):
    """Twice x is x plus x."""
    expect.close(student.double(x), x + x, "double(x)")
