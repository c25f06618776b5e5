"""greedy_generate: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "greedy_generate",
    track="generation",
    entry_points=("generate",),
    title="The decoding loop: always the most likely token",
    source="Vaswani et al. 2017, section 3.1; Radford et al. 2019, section 2",
    library="torch",
    axes={"ids": "batch tokens", "table": "position id vocab"},
    bank_size=44,
    hints=(
        "Write the loop for one row, without eos_id and without a limit of the window. Which position's "
        "logits are about the next token, and what does the model see at the second step?",
        "Two texts live in the loop: the whole one, which is returned, and the window cut from its end, "
        "which the model is shown. For eos_id keep one flag a row, all false at first, whatever the prompt "
        "holds.",
        "Note model.training; switch to evaluation mode; disable gradients around the loop. At each step: "
        "cut the last context_length ids, take the logits of the last position, and their argmax along the "
        "vocabulary. Where a row has ended put eos_id in its place, then mark rows whose token is eos_id as "
        "ended, append, and leave the loop if all have ended. Bring back the mode on every way out.",
    ),
    hint_for={
        "reads_the_first_position": 1,
        "shows_the_prompt_at_every_step": 1,
        "returns_only_the_new_tokens": 2,
        "keeps_only_the_window": 2,
        "shows_the_whole_text": 2,
        "lets_the_prompt_end_a_row": 2,
        "stops_when_one_row_has_ended": 2,
        "leaves_dropout_on": 3,
    },
)

#: A model whose logits at a position are the sum of one table row for each id up to it. Training mode
#: turns the vocabulary by one.
MODEL = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, table, training):
        super().__init__()
        self.table = nn.Parameter(table)
        self.dropout = nn.Dropout(0.0)
        self.calls = 0
        self.train(training)

    def forward(self, ids):
        self.calls += 1
        positions, vocab, _ = self.table.shape
        if ids.shape[1] > positions:
            raise ValueError(f"the model has {positions} positions and was shown {ids.shape[1]} ids")
        at = torch.arange(ids.shape[1], device=ids.device) * vocab + ids
        logits = nn.functional.embedding(at, self.table.flatten(0, 1)).cumsum(dim=1)
        logits = logits + torch.arange(vocab, device=ids.device) / 8
        if self.training or self.dropout.training:
            logits = logits.roll(1, dims=-1)
        return logits
"""

#: A model that tells what it saw: 0 where all is well, 1 in training mode or with gradients recorded, 2
#: where a submodule alone is in training mode.
WITNESS = """
import torch
from torch import nn

class Witness(nn.Module):
    def __init__(self, looks_at, training):
        super().__init__()
        self.scale = nn.Parameter(torch.ones((), device=device))
        self.inner = nn.Sequential(nn.Dropout(0.0))
        self.looks_at = looks_at
        self.train(training)

    def forward(self, ids):
        logits = torch.zeros(*ids.shape, 3, device=ids.device) * self.scale
        amiss = int(logits.requires_grad)
        if self.looks_at == "mode":
            inside = self.inner.training or self.inner[0].training
            amiss = 1 if self.training else 2 * inside
        return logits + (torch.arange(3, device=ids.device) == amiss)

def records_gradients():
    return torch.is_grad_enabled()
"""

WHOLE, STRIDE = 50_257, 20_011  # tokens of GPT-2, and how far the next one lies

#: A model for which the token after id is (id + STRIDE) mod V. The ids just below it are nearly as likely,
#: and with a small scale so much so that rounded probabilities are equal.
WIDE = """
import torch
from torch import nn

class Wide(nn.Module):
    def __init__(self, vocab, stride, scale):
        super().__init__()
        self.vocab, self.stride, self.scale = vocab, stride, scale

    def forward(self, ids):
        below = (ids[..., None] + self.stride - torch.arange(self.vocab, device=ids.device)) % self.vocab
        return (512 - below / 64) * self.scale  # exact in float32
"""


@KATA.cases
def cases(draw, most_tokens=5, eos=None):
    """A model's table, a prompt without eos_id, and how far to go."""
    vocab, context_length = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    batch, tokens = draw(st.shapes(2, longest=3))
    table = st.normal_arrays((context_length, vocab, vocab), draw(st.float_dtypes()), scale=3.0)
    eos_ids = st.one_of(st.none(), st.integers(0, vocab - 1))
    ids = prompts(draw, (batch, draw(st.sampled_from([tokens, 2 * tokens]))), vocab)
    eos_id = draw(eos_ids if eos is None else eos)
    return {
        "table": draw(st.tensors(table.map(np.round))),
        "ids": ids if eos_id is None else ids.where(ids != eos_id, (eos_id + 1) % vocab),
        "max_new_tokens": draw(st.integers(0, most_tokens)),
        "context_length": context_length,
        "eos_id": eos_id,
    }


@KATA.corner(points=0.5)
def zeros_are_numbers(max_new_tokens, eos_id):
    """A max_new_tokens of 0 and an eos_id of 0 are numbers like any other."""
    return max_new_tokens == 0 or eos_id == 0


def prompts(draw, shape, vocab):
    """Ids, their memory in either order of axes."""
    size = shape[0] * shape[1]
    ids = draw(st.lists(st.integers(0, vocab - 1), min_size=size, max_size=size))
    return draw(st.tensors(st.permuted(st.just(np.array(ids, dtype=np.int64).reshape(shape)))))


def counting_up(ids, max_new_tokens, eos_id=None):
    """The example of the statement: the token after id is (id + 1) mod 4."""
    import torch

    return {
        "table": 4 * torch.eye(4).roll(1, dims=1)[None],
        "ids": torch.tensor(ids),
        "max_new_tokens": max_new_tokens,
        "context_length": 1,
        "eos_id": eos_id,
    }


@KATA.example
def three_tokens():
    return counting_up([[2]], 3)


@KATA.example
def two_rows_that_end():
    return counting_up([[2], [1]], 9, eos_id=0)


@KATA.example
def three_rows_that_end_one_by_one():
    return counting_up([[2], [0], [1]], 9, eos_id=3)


@KATA.example
def logits_that_nearly_tie():
    """Token 2 leads by the ninth digit, which float32 does not hold."""
    import torch

    case = counting_up([[0], [1]], 2)
    table = torch.tensor([[0.0, 1.125, 1.0 + 1e-9, 0.0]], dtype=torch.float64).expand(4, -1)
    return {**case, "table": table[None].clone()}


@KATA.example
def eos_in_the_prompt():
    return counting_up([[0]], 2, eos_id=0)


@KATA.observe
def observe(student, table, ids, max_new_tokens, context_length, eos_id):
    """The text."""
    model = student.build(MODEL, "Model", table, False)
    return {"result": generate(student, model, ids, max_new_tokens, context_length, eos_id)}


def generate(student, model, ids, max_new_tokens, context_length, eos_id):
    """The call, which leaves eos_id out where it is None."""
    if eos_id is None:
        return student.generate(model, ids, max_new_tokens, context_length)
    return student.generate(model, ids, max_new_tokens, context_length, eos_id=eos_id)


def generated(student, model, ids, max_new_tokens, context_length, eos_id):
    """The text, once it is known to be a batch of rows that begin with the prompt, and how many are new."""
    text = generate(student, model, ids, max_new_tokens, context_length, eos_id)
    rows, tokens = ids.shape
    shape = tuple(getattr(text, "shape", ()))
    right = len(shape) == 2 and shape[0] == rows and tokens <= shape[1] <= tokens + max_new_tokens
    due = f"[{rows}, {tokens} + n], n at most {max_new_tokens}"
    expect.true(right, f"The result has the shape {due}; it is {list(shape)}.")
    expect.equal(text[:, :tokens], ids, "the beginning of the result, which is the prompt,")
    return text


def texts_without_an_end(draw):
    """Cases in two parts, the first of which writes past the window."""
    case = cases(draw, eos=st.none())
    return {**case, "first": draw(st.integers(1, 4)), "max_new_tokens": draw(st.integers(1, 4))}


@KATA.law(points=0.5, cases=texts_without_an_end)
def test_going_on_is_going_through(student, table, ids, first, max_new_tokens, context_length):
    """Generating some tokens and then, from that text, some more gives what one call gives."""
    model = student.build(MODEL, "Model", table, False)
    text = generated(student, model, ids, first, context_length, None)
    expect.true(
        text.shape[1] == ids.shape[1] + first, f"Without eos_id the result must have {first} new ids."
    )
    in_two = generated(student, model, text, max_new_tokens, context_length, None)
    at_once = generated(student, model, ids, first + max_new_tokens, context_length, None)
    expect.equal(in_two, at_once, f"the text of {first} new ids, continued by {max_new_tokens},")


def texts_with_an_end(draw):
    """A table and prompts from one seed, an eos_id, and the time to meet it."""
    import torch

    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    eos_id = draw(st.integers(1, 2))
    return {
        "table": torch.from_numpy(np.round(rng.standard_normal((2, 3, 3)) * 3)),
        "ids": torch.from_numpy(rng.integers(0, 2, (3, 2)) * (3 - eos_id)),
        "max_new_tokens": draw(st.integers(1, 8)),
        "context_length": 2,
        "eos_id": eos_id,
    }


@KATA.law(points=0.5, cases=texts_with_an_end)
def test_rows_end_and_the_loop_with_them(student, table, ids, max_new_tokens, context_length, eos_id):
    """Behind its eos_id a row holds nothing else, and the loop ends with the last row, not before."""
    model = student.build(MODEL, "Model", table, True)  # the mode has nothing to do with the end
    new = generated(student, model, ids, max_new_tokens, context_length, eos_id)[:, ids.shape[1] :]
    steps = new.shape[1]
    ended = (new == eos_id).cumsum(dim=1) > 0
    expect.true(
        not (ended[:, :-1] & (new[:, 1:] != eos_id)).any(),
        f"A row that has generated eos_id={eos_id} must hold nothing but eos_id behind it.",
    )
    due = f"After {steps} of {max_new_tokens} steps the loop is over, so all rows have ended. One had not."
    expect.true(steps == max_new_tokens or (steps > 0 and ended[:, -1].all()), due)
    late = bool(ended[:, :-1].all(dim=0).any())
    expect.true(not late, "Once all rows have generated eos_id, nothing may be appended.")


def prompts_with_an_end(draw):
    """Prompts of two ids or more."""
    case = cases(draw, eos=st.just(1))
    shape = draw(st.integers(1, 3)), draw(st.integers(2, 4))
    ids = prompts(draw, shape, case["table"].shape[1])
    return {**case, "ids": ids, "max_new_tokens": draw(st.integers(1, 3))}


@KATA.law(points=0.5, cases=prompts_with_an_end)
def test_prompt_ends_nothing(student, table, ids, max_new_tokens, context_length, eos_id):
    """An eos_id in the prompt ends no row, wherever it stands."""
    model = student.build(MODEL, "Model", table, False)
    for at, place in ((0, "first"), (-1, "last")):
        prompt = ids.clone()
        prompt[:, -1] = 1 - eos_id
        prompt[:, at] = eos_id
        free = generated(student, model, prompt, 1, context_length, None)
        text = generated(student, model, prompt, max_new_tokens, context_length, eos_id)
        steps = ids.shape[1] + 1
        what = f"the first new id after prompts whose {place} id is eos_id={eos_id}"
        expect.equal(text[:, :steps], free[:, :steps], what)


@KATA.law(points=0.5, cases=texts_with_an_end)
def test_model_rests_after_the_end(student, table, ids, max_new_tokens, context_length, eos_id):
    """The model is asked for no token that is not in the result."""
    row = ids[:1]
    model = student.build(MODEL, "Model", table, False)
    text = generated(student, model, row, max_new_tokens, context_length, eos_id)
    steps, calls = text.shape[1] - row.shape[1], model.calls
    expect.true(calls <= steps, f"{steps} ids are generated, and the model ran {calls} times.")


@KATA.law(points=0.5)
def test_rows_are_independent(student, table, ids, max_new_tokens, context_length, eos_id):
    """Each row's text is the one that it gets alone, filled up with eos_id."""
    model = student.build(MODEL, "Model", table, False)
    text = generated(student, model, ids, max_new_tokens, context_length, eos_id)
    for index in range(len(ids)):
        alone = generated(student, model, ids[index : index + 1], max_new_tokens, context_length, eos_id)
        length = min(alone.shape[1], text.shape[1])
        what = f"row {index} of {len(ids)}, against the same row alone,"
        expect.equal(text[index, :length], alone[0, :length], what)
        expect.true(alone.shape[1] <= text.shape[1], f"Row {index} has not ended, and its text is cut off.")
        fill = [eos_id] * (text.shape[1] - length)
        expect.equal(text[index, length:].tolist(), fill, f"what follows the end of row {index}")


def modes(draw):
    """Prompts of two tokens, and the mode in which the model comes."""
    return {
        "ids": prompts(draw, draw(st.shapes(2, longest=3)), 2),
        "max_new_tokens": draw(st.integers(1, 3)),
        "training": draw(st.booleans()),
    }


@KATA.law(points=0.5, cases=modes)
def test_model_is_in_evaluation_mode(student, ids, max_new_tokens, training):
    """While it generates the model is in evaluation mode, and so are all of its submodules."""
    witness = student.build(WITNESS, "Witness", "mode", training)
    text = generated(student, witness, ids, max_new_tokens, 4, None)
    new = text[:, ids.shape[1] :]
    expect.true(not (new == 1).any(), "The model ran in training mode; evaluation mode is expected.")
    expect.true(not new.any(), "Evaluation mode must reach every submodule. One was in training mode.")


@KATA.law(points=0.5, cases=modes)
def test_gradients_are_disabled(student, ids, max_new_tokens, training):
    """While the model runs, gradients are disabled, and afterwards no longer."""
    witness = student.build(WITNESS, "Witness", "gradients", training)
    text = generated(student, witness, ids, max_new_tokens, 4, None)
    expect.true(
        not text[:, ids.shape[1] :].any(),
        "The model must run with gradients disabled. Its logits came with a history for autograd.",
    )
    expect.true(
        student.build(WITNESS, "records_gradients"), "After the call, gradients must be enabled as they were."
    )


def modes_and_ends(draw):
    """Cases in which some loops run their course and others meet an eos_id."""
    return {**cases(draw, most_tokens=8, eos=st.integers(0, 1)), "training": draw(st.booleans())}


@KATA.law(points=0.5, cases=modes_and_ends)
def test_mode_is_restored(student, table, ids, max_new_tokens, context_length, eos_id, training):
    """Afterwards the model is in the mode in which it came."""
    model = student.build(MODEL, "Model", table, training)
    for end, way in ((None, "a full loop"), (eos_id, "a loop that eos_id may have ended")):
        generate(student, model, ids, max_new_tokens, context_length, end)
        expect.true(
            model.training == training,
            f"model.training was {training} before the call, and after {way} it must be so again.",
        )


@KATA.law(points=0.5)
def test_holds_a_whole_vocabulary(student):
    """Of 50,257 tokens any may be written, and any may end a row, however close the logits are."""
    import torch

    due = torch.tensor([[10_234, 30_245, 50_256, 50_256], [3, 20_014, 40_025, 9_779]])
    for scale, logits in ((1.0, "that lie 1/64 apart"), (2.0**-40, "whose rounded probabilities are equal")):
        model, ids = student.build(WIDE, "Wide", WHOLE, STRIDE, scale), torch.tensor([[10_234], [3]])
        text = generated(student, model, ids, 3, 2, WHOLE - 1)
        what = f"the text of a model that goes on by 20,011 tokens at each step, by logits {logits},"
        expect.equal(text, due, what)
