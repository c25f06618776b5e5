"""train_language_model: its cases and its laws.

Only losses are compared. The models are the grader's own: small tables whose gradients do not cancel, so that
AdamW's first steps, which follow the signs of the gradients, are the same in any order of sums.
"""

import math

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 16

KATA = Kata(
    "train_language_model",
    track="modules",
    entry_points=("train",),
    title="The training loop",
    source="Loshchilov and Hutter 2019, algorithm 2; Radford et al. 2018, section 3.1",
    library="torch",
    axes={
        "embedding": "vocab d_model",
        "head": "d_model vocab",
        "inputs": "batch tokens",
        "targets": "batch tokens",
    },
    grades_device=False,
    roundings=ROUNDINGS,
    bank_size=20,
    hints=(
        "A step has five lines, and two of them must stand outside the loop or everything begins again at"
        " each step. Which things are made once, and which are done every time?",
        "The loss wants one row of logits a position and one target a position: [B * T, V] and [B * T]. "
        "Which way of flattening works whatever the memory looks like? And at which moment is the loss "
        "that of the model before the update?",
        "Switch the model to training mode and make AdamW from its parameters and lr. In each step: "
        "logits of all inputs, cross-entropy of the flattened logits and targets, gradients to zero, "
        "backward, the optimiser's step, and the loss as a Python number into the list. Return the list.",
    ),
)

#: The next token from the one before it, logits = (embedding[id] + shift) @ head. The vector `shift` begins
#: as the first row of `embedding`. In evaluation mode the signs of the logits are turned.
MODEL = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, embedding, head, training):
        super().__init__()
        self.embedding = nn.Parameter(embedding.clone())
        self.head = nn.Parameter(head.clone())
        self.shift = nn.Parameter(embedding[0].clone())
        self.train(training)

    def forward(self, ids):
        logits = (nn.functional.embedding(ids, self.embedding) + self.shift) @ self.head
        return logits if self.training else -logits
"""

#: All tokens are equally likely in training mode, in every submodule; otherwise token 0 is far more so.
WITNESS = """
import torch
from torch import nn

class Witness(nn.Module):
    def __init__(self, vocab, training):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(vocab, device=device))
        self.inner = nn.Sequential(nn.Dropout(0.0))
        self.train(training)

    def forward(self, ids):
        logits = 0 * self.logits.expand(*ids.shape, -1)
        if self.training and self.inner[0].training:
            return logits
        return logits + 9.0 * (torch.arange(logits.shape[-1], device=ids.device) == 0)
"""

#: One causal attention between embeddings and head: enough to carry a token to all places behind it.
ATTENTIVE = """
import torch
from torch import nn

class Attentive(nn.Module):
    def __init__(self, vocab, max_len, width, seed):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        def drawn(*shape):
            return nn.Parameter((0.3 * torch.randn(shape, generator=generator)).to(device))
        self.tokens, self.places = drawn(vocab, width), drawn(max_len, width)
        self.q, self.k, self.v = drawn(width, width), drawn(width, width), drawn(width, width)
        self.head = drawn(width, vocab)

    def forward(self, ids):
        x = self.tokens[ids] + self.places[: ids.shape[1]]
        scores = (x @ self.q) @ (x @ self.k).mT / x.shape[-1] ** 0.5
        later = torch.ones_like(scores[0], dtype=torch.bool).triu(1)
        return scores.masked_fill(later, float("-inf")).softmax(-1) @ (x @ self.v) @ self.head
"""


#: A model that has been through a backward already, as one that was trained before.
USED = """
def leave_gradients(model):
    for parameter in model.parameters():
        parameter.grad = parameter.detach() * 3 + 1
    return model
"""


@KATA.cases
def cases(draw, shortest=0, largest_batch=3):
    """A model's two tables, a batch, how many steps, at which rate, and the mode in which the model comes."""
    import torch

    vocab, width = draw(st.integers(2, 5)), draw(st.integers(1, 4))
    rng, steps = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.integers(shortest, 4))
    # AdamW's first step follows the sign of a gradient, which is noise where terms cancel: float32 loses it
    # sooner, and numbers with few digits meet in equal logits, whose terms cancel
    dtype = draw(st.float_dtypes()) if steps < 2 else "float64"
    shape = draw(st.integers(1, largest_batch)), draw(st.integers(1, 4))
    inputs, targets = (rng.integers(0, vocab, shape) for _ in range(2))
    rate = draw(st.sampled_from([None, 0.03, 0.1, 0.3]))
    return {
        "embedding": torch.from_numpy(rng.standard_normal((vocab, width)).astype(dtype)),
        "head": torch.from_numpy(rng.standard_normal((width, vocab)).astype(dtype)),
        "inputs": torch.from_numpy(inputs),
        "targets": draw(st.tensors(st.permuted(st.just(targets)))),
        "steps": steps,
        "options": {} if rate is None else {"lr": rate},
        "training": draw(st.booleans()),
    }


@KATA.example
def two_tokens():
    """The example of the statement: the table of logits is the product with an identity."""
    import torch

    return {
        "embedding": torch.zeros(2, 2, dtype=torch.float64),
        "head": torch.eye(2, dtype=torch.float64),
        "inputs": torch.tensor([[0]]),
        "targets": torch.tensor([[1]]),
        "steps": 1,
        "options": {"lr": 0.1},
        "training": True,
    }


@KATA.corner(points=0.5)
def no_steps(steps):
    """With steps=0 nothing is trained and the list is empty."""
    return steps == 0


@KATA.corner(points=0.5)
def comes_in_evaluation_mode(training):
    """A model that is in evaluation mode before the call is trained in training mode."""
    return not training


@KATA.observe
def observe(student, embedding, head, inputs, targets, steps, options, training):
    """The losses of one call, and of a second one on the model that the first has trained."""
    model = student.build(MODEL, "Model", embedding, head, training)
    losses = student.train(model, inputs, targets, steps, **options)
    more = student.train(model, inputs, targets, 3)
    return {"losses": in_dtype(losses, embedding), "losses when called again": in_dtype(more, embedding)}


def in_dtype(losses, weights):
    """A list of numbers as a tensor of the model's dtype, whose precision they have; else what came."""
    import torch

    numbers = isinstance(losses, list | tuple) and all(map(is_a_number, losses))
    return torch.tensor([float(loss) for loss in losses], dtype=weights.dtype) if numbers else losses


def is_a_number(loss):
    """A Python float, or a number of NumPy's; no tensor, no array."""
    return isinstance(loss, float | np.floating)


@KATA.law(points=0.5)
def test_one_float_a_step(student, embedding, head, inputs, targets, steps, options, training):
    """The result is a list with one Python float for each step, an empty one for none."""
    model = student.build(MODEL, "Model", embedding, head, training)
    losses = student.train(model, inputs, targets, steps, **options)
    expect.true(isinstance(losses, list), "The losses must come as a list.")
    expect.true(len(losses) == steps, f"There must be a loss for each of {steps} steps; {len(losses)} came.")
    expect.true(all(map(is_a_number, losses)), "Each loss must be a Python float.")


def larger_batches(draw):
    """Cases of two steps or more, and an order to put the rows in."""
    case = cases(draw, shortest=2, largest_batch=4)
    return {**case, "order": list(draw(st.permutations(range(len(case["inputs"])))))}


@KATA.law(points=0.5, cases=larger_batches)
def test_all_rows_take_part(student, embedding, head, inputs, targets, steps, options, order):
    """Rows in another order give the same losses, and rows given twice as well."""
    model = student.build(MODEL, "Model", embedding, head, True)
    first = student.train(model, inputs, targets, steps, **options)
    for rows, what in ((order, f"with the rows in the order {order}"), (order * 2, "with each row twice")):
        model = student.build(MODEL, "Model", embedding, head, True)
        losses = student.train(model, inputs[rows], targets[rows], steps, **options)
        expect.close(losses, first, f"the list of losses {what}", terms=len(rows), roundings=2 * ROUNDINGS)


@KATA.law(points=0.5, cases=larger_batches)
def test_earlier_gradients_count_for_nothing(
    student, embedding, head, inputs, targets, steps, options, training
):
    """Gradients that the model brings with it change no loss."""
    fresh, used = (student.build(MODEL, "Model", embedding, head, training) for _ in range(2))
    used = student.build(USED, "leave_gradients", used)
    expected = student.train(fresh, inputs, targets, steps, **options)
    losses = student.train(used, inputs, targets, steps, **options)
    what = "the list of losses of a model that comes with gradients"
    expect.close(losses, expected, what, terms=len(inputs), roundings=2 * ROUNDINGS)


def modes(draw):
    """A vocabulary, a shape, and the mode in which the model comes."""
    shape = draw(st.shapes(2, longest=3))
    return {"vocab": draw(st.integers(2, 4)), "shape": list(shape), "training": draw(st.booleans())}


@KATA.law(points=0.5, cases=modes)
def test_trains_in_training_mode(student, vocab, shape, training):
    """The model runs in training mode, whichever it came in."""
    import torch

    witness = student.build(WITNESS, "Witness", vocab, training)
    ids = torch.zeros(shape, dtype=torch.int64)
    losses = student.train(witness, ids, ids + 1, 2)
    what = "the loss of a model that tells all tokens apart in evaluation mode alone"
    expect.close(losses, [math.log(vocab)] * 2, what, terms=8 * vocab, dtype="float32")


@KATA.law(points=1)
def test_learns_what_needs_attention(student):
    """Forty steps take a model from log V to next to nothing where each answer is the row's first token."""
    import torch

    vocab, tokens = 5, 4
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randint(0, vocab, (16, tokens), generator=generator)
    targets = inputs[:, :1].expand(-1, tokens)
    model = student.build(ATTENTIVE, "Attentive", vocab, tokens, 12, 5)
    losses = student.train(model, inputs, targets, 40, lr=0.03)
    expect.true(
        isinstance(losses, list) and len(losses) == 40, "Forty steps must give a list of forty losses."
    )
    first, last = losses[0], losses[-1]
    steps = [f"step {step}" for step in range(40)]
    knows_nothing, titles = [math.log(vocab)] * 40, (f"log {vocab}", "loss")
    expect.true(
        abs(first - math.log(vocab)) < 0.2,
        f"The first loss is that of a model which knows nothing, about log {vocab} = {math.log(vocab):.2f}; "
        f"it is {first:.2f}.",
        expect.curve("training loss", knows_nothing, losses, steps, wrong=[0], titles=titles),
    )
    expect.true(
        last < 0.1,
        f"After forty steps at lr=0.03 the loss is below 0.1; it is {last:.2f}.",
        expect.curve("training loss", knows_nothing, losses, steps, wrong=[39], titles=titles),
    )
