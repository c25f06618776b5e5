"""gradient_accumulation: its cases and its laws.

The models are the grader's own. Their gradients are read from `.grad` after the call.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

DEFAULT = -100
ROUNDINGS = 4

KATA = Kata(
    "gradient_accumulation",
    track="training",
    entry_points=("accumulate_gradients",),
    title="A large batch in small pieces",
    source="Ott et al. 2018 (delayed updates); Hugging Face 2024, Fixing Gradient Accumulation (the count)",
    library="torch",
    axes={"embedding": "vocab d_model", "head": "d_model vocab", "spare": "d_model"},
    grades_device=False,
    roundings=ROUNDINGS,
    bank_size=12,
    hints=(
        "Three losses of 1 in one micro-batch and a loss of 3 in another: by which number must each be "
        "divided, so that all four weigh the same? What do you have to know before the first runs?",
        "The targets alone tell how many count, in all micro-batches together. A sum of losses over that "
        "number can be back-propagated at once, since `.grad` adds up. What should it hold before the first?",
        "Before the model runs, go through the targets of all micro-batches and count those that are not "
        "ignore_index; clear the gradients. Then for each micro-batch:\n\n"
        "    logits     of its inputs, flattened               [B_i * T_i, V]\n"
        "    targets    flattened                              [B_i * T_i]\n"
        "    loss       cross-entropy with this ignore_index and\n"
        "               reduction='sum', over the count of ALL micro-batches\n"
        "    backward   at once, which frees the graph\n"
        "    mean       plus the loss as a Python number\n\n"
        "In the statement's example the sums are 3.0 and 3.0 and the count is 4: 0.75 + 0.75 = 1.5. Each "
        "backward adds to `.grad`, so nothing else has to be added up. A micro-batch without a target "
        "that counts has the sum 0; its mean would be NaN.",
    ),
)

#: The next token from the one before it, logits = embedding[id] @ head; `spare` takes no part. The model
#: counts how often it ran, and how many runs waited for their backward pass at once.
MODEL = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, embedding, head, spare, used):
        super().__init__()
        self.embedding = nn.Parameter(embedding.clone())
        self.head = nn.Parameter(head.clone())
        self.spare = nn.Parameter(spare.clone())
        self.rows = self.embedding  # one Parameter by two names, as in models that tie their weights
        self.runs, self.waiting, self.most_waiting, self.modes = 0, set(), 0, set()
        for parameter in self.parameters():
            parameter.grad = 3 * parameter.detach() + 1 if used else None

    def forward(self, ids):
        logits = nn.functional.embedding(ids, self.embedding) @ self.head
        self.runs += 1
        run = self.runs
        self.modes.add("train" if self.training else "eval")
        self.waiting.add(run)
        self.most_waiting = max(self.most_waiting, len(self.waiting))
        if logits.requires_grad:
            logits.register_hook(lambda gradient: self.waiting.discard(run))
        return logits

    def gradients(self):
        return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in self.parameters()]

    def weights(self):
        return [parameter.detach().clone() for parameter in self.parameters()]

    def counts(self):
        return [self.runs, self.most_waiting, sorted(self.modes)]
"""


def draw_batch(draw, rng, vocab, ignore_index, shape, empty=False):
    """Inputs and targets, some targets ignored, or all; at least one counts where not all are ignored."""
    inputs, targets = rng.integers(0, vocab, shape), rng.integers(0, vocab, shape)
    targets = np.where(rng.random(shape) < draw(st.sampled_from([0.0, 0.3, 0.6])), ignore_index, targets)
    counting = [token for token in range(vocab) if token != ignore_index]
    targets[0, -1] = rng.choice(counting)
    if empty:
        targets[:] = ignore_index
    return draw(st.tensors(st.just(inputs))), draw(st.tensors(st.permuted(st.just(targets))))


@KATA.cases
def cases(draw, kinds=("plain", "plain", "plain", "index", "empty", "used"), fewest=1):
    """A model's tables and micro-batches of several shapes; now and then with one of the corners."""
    import torch

    kind, vocab, width = draw(st.sampled_from(kinds)), draw(st.integers(2, 5)), draw(st.integers(1, 4))
    rng, dtype = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.float_dtypes())
    ignore_index = draw(st.sampled_from([-1, 0, vocab - 1])) if kind == "index" else DEFAULT
    batches = [
        draw_batch(draw, rng, vocab, ignore_index, draw(st.shapes(2, longest=4)))
        for _ in range(draw(st.integers(fewest, 4)))
    ]
    if kind == "empty":
        empty = draw_batch(draw, rng, vocab, ignore_index, draw(st.shapes(2, longest=3)), empty=True)
        batches.insert(draw(st.integers(0, len(batches))), empty)
    return {
        "embedding": torch.from_numpy(rng.standard_normal((vocab, width)).astype(dtype)),
        "head": torch.from_numpy(rng.standard_normal((width, vocab)).astype(dtype)),
        "spare": torch.from_numpy(rng.standard_normal(width).astype(dtype)),
        "micro_batches": batches,
        "ignore_index": ignore_index,
        "used": kind == "used",
    }


@KATA.corner(points=0.5)
def another_ignore_index(ignore_index):
    """Another ignore_index than -100 is honoured, one inside the vocabulary too."""
    return ignore_index != DEFAULT


@KATA.corner(points=0.5)
def nothing_counts_in_a_micro_batch(micro_batches, ignore_index):
    """A micro-batch may have no target that counts."""
    return any(bool((targets == ignore_index).all()) for _, targets in micro_batches)


@KATA.corner(points=0.5)
def comes_with_gradients(used):
    """Gradients that the model brings with it count for nothing."""
    return used


def case_of(table, *batches, dtype="float64", **others):
    """A case whose logits are the rows of a table."""
    import torch

    table = torch.tensor(table, dtype=getattr(torch, dtype))
    micro_batches = [(torch.tensor(inputs), torch.tensor(targets)) for inputs, targets in batches]
    case = {
        "embedding": table,
        "head": torch.eye(table.shape[1], dtype=table.dtype),
        "spare": table[0].clone(),
    }
    return {**case, "micro_batches": micro_batches, "ignore_index": DEFAULT, "used": False, **others}


#: Rows of logits in which token 0 has the loss 1, and the loss 3.
PRINTED = [[-0.541324855, 0.0], [-2.948931035, 0.0]]


@KATA.example
def printed_losses():
    return case_of(PRINTED, ([[0, 0, 0]], [[0, 0, 0]]), ([[1]], [[0]]))


@KATA.example
def old_gradients_and_a_large_first_share():
    return case_of(PRINTED, ([[1, 1]], [[0, 0]]), ([[0]], [[0]]), used=True)


@KATA.example
def as_many_sequences_and_positions_but_not_targets():
    """Both micro-batches are 2 x 2, and in the second one target counts."""
    first = [[0, 1], [1, 1]], [[0, 1], [1, 0]]
    return case_of(PRINTED, first, ([[1, 0], [0, 1]], [[-100, -100], [1, -100]]), dtype="float32")


@KATA.example
def one_micro_batch_without_a_target():
    empty = [[0, 1]], [[-100, -100]]
    return case_of(PRINTED, ([[1], [0]], [[1], [0]]), empty, ([[0, 1, 1]], [[1, 0, 0]]))


@KATA.example
def padding_is_token_zero():
    return case_of(PRINTED, ([[0, 1, 1]], [[1, 1, 0]]), ([[1]], [[1]]), ignore_index=0)


@KATA.example
def ignored_targets_are_minus_one():
    return case_of(PRINTED, ([[0, 1, 1]], [[1, -1, 0]]), ([[1, 0]], [[1, -1]]), ignore_index=-1)


@KATA.example
def ignored_targets_are_above_all_tokens():
    return case_of(PRINTED, ([[0, 1, 1]], [[1, 9, 0]]), ([[1, 0]], [[1, 9]]), ignore_index=9)


@KATA.observe
def observe(student, embedding, head, spare, micro_batches, ignore_index, used):
    """The loss and each parameter's gradient; None counts as zeros."""
    loss, gradients, _ = accumulated(student, embedding, head, spare, micro_batches, ignore_index, used)
    names = [f"gradient of {name}" for name in ("embedding", "head", "spare")]
    return {"loss": in_dtype(loss, embedding), **dict(zip(names, gradients, strict=True))}


def accumulated(
    student, embedding, head, spare, micro_batches, ignore_index=DEFAULT, used=False, calls=1, mode="train"
):
    """The loss, the gradients and the model after a call; the default of ignore_index is judged too."""
    model = student.build(MODEL, "Model", embedding, head, spare, used)
    getattr(model, mode)()
    options = {} if ignore_index == DEFAULT else {"ignore_index": ignore_index}
    for _ in range(calls):
        loss = student.accumulate_gradients(model, micro_batches, **options)
    return loss, model.gradients(), model


def in_dtype(loss, weights):
    """A number, or a tensor of one, in the model's dtype, whose precision it has; else what came."""
    import torch

    number = isinstance(loss, float | np.floating) or getattr(loss, "ndim", None) == 0
    return torch.tensor(float(loss), dtype=weights.dtype) if number else loss


@KATA.law(points=0.5)
def test_loss_is_a_float(student, embedding, head, spare, micro_batches):
    """The loss comes back as a Python float."""
    loss, _, _ = accumulated(student, embedding, head, spare, micro_batches)
    expect.true(isinstance(loss, float), f"The loss must be a float; a {type(loss).__name__} came back.")


def larger(draw):
    """Two micro-batches and more, plain ones."""
    return cases(draw, kinds=["plain"], fewest=2)


@KATA.law(points=0.5, cases=larger)
def test_cutting_changes_nothing(student, embedding, head, spare, micro_batches):
    """Cut into rows, and in another order, the same targets give the same loss and gradients."""
    rows = [
        (inputs[i : i + 1], targets[i : i + 1])
        for inputs, targets in reversed(micro_batches)
        for i in range(len(inputs))
    ]
    loss, gradients, _ = accumulated(student, embedding, head, spare, micro_batches)
    loss_of_rows, gradients_of_rows, _ = accumulated(student, embedding, head, spare, rows)
    close(loss_of_rows, loss, "the loss of the rows, the last first,", embedding)
    expect.close(gradients_of_rows, gradients, "the gradients of the rows", terms=16, roundings=ROUNDINGS)


def close(loss, expected, what, embedding):
    """Require two losses to be equal to the model's digits."""
    dtype = str(embedding.dtype).removeprefix("torch.")
    expect.close(loss, expected, what, terms=16, roundings=ROUNDINGS, dtype=dtype)


@KATA.law(points=0.5, cases=larger)
def test_ignored_targets_add_nothing(student, embedding, head, spare, micro_batches):
    """A further micro-batch of ignored targets changes nothing."""
    inputs, targets = micro_batches[0]
    more = [*micro_batches, (inputs, targets * 0 + DEFAULT)]
    loss, gradients, _ = accumulated(student, embedding, head, spare, micro_batches)
    loss_of_more, gradients_of_more, _ = accumulated(student, embedding, head, spare, more)
    close(
        loss_of_more, loss, "the loss with one more micro-batch, all of whose targets are ignored,", embedding
    )
    what = "the gradients with one more micro-batch, all of whose targets are ignored,"
    expect.close(gradients_of_more, gradients, what, terms=16, roundings=ROUNDINGS)


@KATA.law(points=0.5, cases=larger)
def test_a_second_call_gives_the_same(student, embedding, head, spare, micro_batches):
    """A second call on the same model gives the same gradients, and no call changes a parameter."""
    _, gradients, _ = accumulated(student, embedding, head, spare, micro_batches)
    _, again, model = accumulated(student, embedding, head, spare, micro_batches, calls=2)
    expect.close(again, gradients, "the gradients after a second call", terms=16, roundings=ROUNDINGS)
    expect.equal(model.weights(), [embedding, head, spare], "the parameters after the calls")


def in_either_mode(draw):
    """The same, and the mode in which the model comes."""
    return {**larger(draw), "mode": draw(st.sampled_from(["train", "eval"]))}


@KATA.law(points=1, cases=in_either_mode, purpose=True)
def test_one_graph_at_a_time(student, embedding, head, spare, micro_batches, mode):
    """The model runs once a micro-batch, in its mode, and is back-propagated through before it runs again."""
    _, _, model = accumulated(student, embedding, head, spare, micro_batches, mode=mode)
    runs, most_waiting, modes = model.counts()
    due = len(micro_batches)
    expect.true(runs == due, f"With {due} micro-batches the model runs {due} times; it ran {runs} times.")
    expect.true(
        modes == [mode],
        f"The model comes in the mode of model.{mode}() and stays in it; it ran after model.{modes[0]}().",
    )
    expect.true(
        most_waiting == 1,
        f"One run of the model at a time waits for its backward pass; {most_waiting} runs waited at once, "
        "each with its graph.",
    )
