"""translation_loop: its cases and its laws.

The model of a case is a table of logits. Which of its rows comes next depends on all ids so far, on their
order and their number, so a loop that shows the model anything else goes astray.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "translation_loop",
    track="blocks",
    entry_points=("translate",),
    title="One token at a time, until the end",
    source="Sutskever, Vinyals and Le 2014, section 2; Vaswani et al. 2017, section 3",
    axes={"table": "rows vocab"},
    hints=(
        "Play the example by hand and count the questions: four for four generated ids. What does the loop "
        "know only after an id has been generated, and what before?",
        "Look at the limit before the model is asked, and for the end after an id was appended. The start "
        "token is in the list, but it was not generated.",
        "Begin with a list that holds start_id. Repeat max_steps times at most: ask with the whole list, "
        "append the argmax as an int, leave the loop if it equals end_id. Return the list.",
    ),
    hint_for={
        "asks_once_more_at_the_end": 1,
        "takes_the_start_for_the_end": 2,
        "drops_the_end": 2,
        "counts_the_start_as_a_step": 2,
        "takes_a_step_too_many": 2,
        "takes_one_step_at_least": 2,
    },
    bank_size=40,
)


CLOSE = 2.0**-30  # times it, small logits differ, and their probabilities are equal in float32


class Model:
    """A model that answers from a table, and remembers every list that it was shown."""

    def __init__(self, table):
        self.table = table
        self.shown = []
        self.kinds = set()

    @property
    def as_code(self):
        row = "int(sum((n + 1) * (ids[n] + 1) for n in range(len(ids))))"
        return f"{{name}} = lambda ids: {{table}}[{row} % len({{table}})]", {"table": self.table}

    def __call__(self, ids):
        self.kinds.add(type(ids).__name__)
        self.shown.append([int(token) for token in ids])
        return self.logits(self.shown[-1])

    def logits(self, ids):
        """The row that these ids, in this order, lead to."""
        return self.table[sum((place + 1) * (token + 1) for place, token in enumerate(ids)) % len(self.table)]


def draw_table(draw, vocab):
    """Rows of distinct logits: small or large, of both signs, all positive or all negative. Of some the
    probabilities differ by less than float32 can show."""
    rng, dtype = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.float_dtypes())
    rows = np.array([rng.permutation(vocab) for _ in range(draw(st.integers(2, 7)))])
    level = draw(st.sampled_from([-1, 0, -vocab, -1]))
    scale = draw(st.sampled_from([0.5, 1, 1, 500, CLOSE]))
    return (((rows + level) * scale) + (1 if scale == CLOSE and dtype == "float64" else 0)).astype(dtype)


def loop_case(draw, limits=(1, 2, 3, 4, 5, 10, 10)):
    """A model, the two special ids, which may be the same, and a limit."""
    vocab = draw(st.integers(2, 6))
    start_id, end_id = draw(st.integers(0, vocab - 1)), draw(st.integers(0, vocab - 1))
    table = draw_table(draw, vocab)
    if draw(st.booleans()):
        table[:, end_id] = table.min() - 1
    return {
        "table": table,
        "start_id": start_id,
        "end_id": end_id,
        "max_steps": draw(st.sampled_from(limits)),
    }


@KATA.cases
def cases(draw):
    return loop_case(draw, limits=(1, 2, 3, 4, 5, 10, 10, 0, 13))


@KATA.corner(points=0.5)
def extreme_logits(table):
    """The largest logit counts, also of those in the hundreds, of which exp is infinite, and of those that
    are so close that rounded probabilities are equal."""
    return bool(np.abs(table).max() > 80 or np.diff(np.sort(table)).min() < 1e-6)


@KATA.corner(points=0.5)
def zeros_and_equals(start_id, end_id, max_steps):
    """An end_id of 0, a limit of 0, and a start_id that equals end_id are as good as others."""
    return end_id == 0 or max_steps == 0 or start_id == end_id


@KATA.example
def same_token_for_start_and_end():
    table = np.array([[0.0, 1.0, -1.0], [0.5, 0.0, 2.0], [3.0, 1.0, 0.0]])
    return {"table": table, "start_id": 0, "end_id": 0, "max_steps": 4}


@KATA.example
def model_that_never_ends():
    return {"table": np.array([[1.0, 0.0], [2.0, -1.0]]), "start_id": 1, "end_id": 1, "max_steps": 10}


@KATA.example
def model_that_never_ends_and_a_patient_caller():
    return {
        "table": np.array([[1.0, 0.0, 2.0], [2.0, -1.0, 0.0]]),
        "start_id": 0,
        "end_id": 1,
        "max_steps": 40,
    }


@KATA.example
def logits_in_the_thousands():
    table = np.array([[1000.0, 3000.0, 2000.0], [-3000.0, -2000.0, -1000.0]], dtype=np.float32)
    return {"table": table, "start_id": 0, "end_id": 0, "max_steps": 3}


@KATA.example
def logits_with_equal_probabilities():
    table = CLOSE * np.array([[1.0, 3.0, 2.0], [0.0, 1.0, 2.0]], dtype=np.float32)
    return {"table": table, "start_id": 0, "end_id": 0, "max_steps": 3}


@KATA.example
def logits_far_below_zero():
    """All of them, further than a bound for the largest so far may begin."""
    table = np.array([[-3e9, -4e9, -2e9], [-2e9, -3e9, -4e9]])
    return {"table": table, "start_id": 0, "end_id": 1, "max_steps": 3}


@KATA.example
def logits_that_float32_does_not_tell_apart():
    table = 1 + CLOSE * np.array([[1.0, 3.0, 2.0], [0.0, 1.0, 2.0]])
    return {"table": table, "start_id": 0, "end_id": 0, "max_steps": 3}


@KATA.observe
def observe(student, table, start_id, end_id, max_steps):
    """A limit of 10 is asked for by leaving it out, so that the default is judged too."""
    given = {} if max_steps == 10 else {"max_steps": max_steps}
    return {"result": student.translate(Model(table), start_id, end_id, **given)}


def translated(student, model, start_id, end_id, max_steps):
    """What translate returns, once it is a list of ids."""
    result = student.translate(model, start_id, end_id, max_steps)
    whole = isinstance(result, list | tuple) and len(result) > 0
    expect.true(whole, "The result must be a list of ids, start_id first.")
    for token in result:
        integer = type(token) is int or getattr(token, "dtype", np.dtype(float)).kind in "iu"
        expect.true(integer, f"Every id must be an integer; the result holds {token!r}.")
    return [int(token) for token in result]


@KATA.law(points=0.5)
def test_model_is_asked_once_a_step(student, table, start_id, end_id, max_steps):
    """The model is shown all ids so far, once a step, and never after the end."""
    model = Model(table)
    ids = translated(student, model, start_id, end_id, max_steps)
    due = [ids[:length] for length in range(1, len(ids))]
    expect.true(
        model.shown == due,
        f"For the ids {ids} the model must be shown {due}, one list a step; it was shown {model.shown}.",
    )
    others = ", ".join(model.kinds - {"list", "tuple"})
    expect.true(not others, f"The model takes a list of ids; it was given a value of the type {others}.")


@KATA.law(points=0.5)
def test_every_id_is_the_most_likely(student, table, start_id, end_id, max_steps):
    """Every generated id is the most likely after the ids before it."""
    model = Model(table)
    ids = translated(student, model, start_id, end_id, max_steps)
    for length in range(1, len(ids)):
        due, got = int(model.logits(ids[:length]).argmax()), ids[length]
        expect.true(due == got, f"After {ids[:length]} the most likely id is {due}, and {got} was appended.")


def endings(draw):
    return loop_case(draw, limits=(2, 3, 5, 1))


@KATA.law(points=0.5, cases=endings)
def test_loop_ends_when_it_must(student, table, start_id, end_id, max_steps):
    """The list ends with the first generated end_id, or else after max_steps ids."""
    ids = translated(student, Model(table), start_id, end_id, max_steps)
    generated = ids[1:]
    early, late = len(generated) < max_steps and end_id not in generated, len(generated) > max_steps
    expect.true(not late, f"At most max_steps={max_steps} ids may follow the start; the result is {ids}.")
    expect.true(not early, f"The loop ended without end_id={end_id} ahead of max_steps={max_steps}: {ids}.")
    expect.true(end_id not in generated[:-1], f"Nothing follows a generated end_id={end_id}; got {ids}.")


@KATA.law(points=0.5)
def test_no_step_asks_nothing(student):
    """With max_steps=0 the result is [start_id], and the model is never asked."""
    model = Model(np.array([[0.0, 1.0]]))
    expect.equal(translated(student, model, 1, 0, 0), [1], "the result for start_id=1 and max_steps=0")
    expect.true(not model.shown, f"The model must not be asked; it was shown {model.shown}.")


def started_with_the_end(draw):
    case = loop_case(draw, limits=(2, 4))
    return {name: case[name] for name in ("table", "start_id", "max_steps")}


@KATA.law(points=0.5, cases=started_with_the_end)
def test_start_is_no_end(student, table, start_id, max_steps):
    """A start_id that equals end_id does not end the loop."""
    ids = translated(student, Model(table), start_id, start_id, max_steps)
    expect.true(len(ids) > 1, f"start_id and end_id are both {start_id}, and nothing was generated: {ids}.")


class Trained:
    """A model that has learnt the logits after some ids, and has one row for all others."""

    def __init__(self, learnt, otherwise):
        self.learnt, self.otherwise = learnt, otherwise

    @property
    def as_code(self):
        row = "{learnt}.get(str([int(n) for n in ids]), {otherwise})"
        return f"{{name}} = lambda ids: np.array({row})", {"learnt": self.learnt, "otherwise": self.otherwise}

    def __call__(self, ids):
        return np.array(self.learnt.get(str([int(token) for token in ids]), self.otherwise))


@KATA.law(points=0.5)
def test_printed_sentence(student):
    """ "Today is sunday" becomes "Hoje é domingo EOS"."""
    vocabulary = ["Hoje", "é", "domingo", "sábado", "EOS", "START"]
    logits = {
        "[5]": [2.0, -1.0, 0.5, 0.0, -1.0, -9.0],
        "[5, 0]": [-0.5, 3.0, 0.0, 0.0, 0.5, -9.0],
        "[5, 0, 1]": [0.0, -2.0, 1.5, 1.0, 0.0, -9.0],
        "[5, 0, 1, 2]": [-3.0, -3.0, -2.0, -2.5, -0.5, -9.0],
    }
    ids = translated(student, Trained(logits, otherwise=[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]), 5, 4, 10)
    words = " ".join(vocabulary[token] for token in ids[1:])
    expect.true(words == "Hoje é domingo EOS", f'The sentence is "Hoje é domingo EOS"; it came as "{words}".')
