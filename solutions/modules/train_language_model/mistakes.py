"""What goes wrong in train_language_model, and what its student is told."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from grader.mistakes import crude, subtle


def _adamw(model, lr):
    return torch.optim.AdamW(model.parameters(), lr=lr)


def _loss(logits, targets, **options):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), **options)


def _train(
    model,
    inputs,
    targets,
    steps,
    lr,
    *,
    make=_adamw,
    measure=_loss,
    mode=nn.Module.train,
    rows=lambda _, whole: whole,
    zero=True,
    after_each=lambda *_: None,
):
    """Right, but for the part that is given."""
    mode(model)
    optimizer, losses = make(model, lr), []
    for step in range(steps):
        loss = measure(model(rows(step, inputs)), rows(step, targets))
        if zero:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        after_each(optimizer, step)
        losses.append(loss.item())
    return losses


def uses_adam(model, inputs, targets, steps, lr=1e-2):
    """From the second step on the losses differ a little: the optimiser is Adam, whose default is no weight
    decay. AdamW's default is 0.01.
    """
    return _train(
        model, inputs, targets, steps, lr, make=lambda model, lr: torch.optim.Adam(model.parameters(), lr=lr)
    )


def uses_sgd(model, inputs, targets, steps, lr=1e-2):
    """The loss falls far more slowly: the optimiser is plain gradient descent. AdamW divides each step by the
    size of the gradients.
    """
    return _train(
        model, inputs, targets, steps, lr, make=lambda model, lr: torch.optim.SGD(model.parameters(), lr=lr)
    )


def decays_as_gpt_does(model, inputs, targets, steps, lr=1e-2):
    """From the second step on the losses differ: weight_decay is set. All of AdamW's settings but the
    learning rate are its defaults.
    """

    def make(model, lr):
        return torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.1)

    return _train(model, inputs, targets, steps, lr, make=make)


@subtle
def decays_matrices_alone(model, inputs, targets, steps, lr=1e-2):
    """From the second step on the losses differ a little: vectors, such as biases, have no weight decay.
    AdamW with its defaults has one group of parameters, and decays them all.
    """

    def make(model, lr):
        matrices = [p for p in model.parameters() if p.ndim > 1]
        vectors = [p for p in model.parameters() if p.ndim < 2]
        return torch.optim.AdamW([{"params": matrices}, {"params": vectors, "weight_decay": 0.0}], lr=lr)

    return _train(model, inputs, targets, steps, lr, make=make)


def takes_other_betas(model, inputs, targets, steps, lr=1e-2):
    """The first two losses are right and later ones differ: betas is set. All of AdamW's settings but the
    learning rate are its defaults.
    """

    def make(model, lr):
        return torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95))

    return _train(model, inputs, targets, steps, lr, make=make)


def ignores_the_learning_rate(model, inputs, targets, steps, lr=1e-2):  # noqa: ARG001 - the mistake
    """Whatever lr says, the loss falls at one pace: it is not passed on, and AdamW takes its own default."""
    return _train(
        model, inputs, targets, steps, 0, make=lambda model, _: torch.optim.AdamW(model.parameters())
    )


def lets_the_rate_fade(model, inputs, targets, steps, lr=1e-2):
    """The first steps are right and the last ones too short: the learning rate falls towards the end. It is
    the same for all steps.
    """

    def after_each(optimizer, step):
        optimizer.param_groups[0]["lr"] = lr * (1 - (step + 1) / steps)

    return _train(model, inputs, targets, steps, lr, after_each=after_each)


def lets_gradients_add_up(model, inputs, targets, steps, lr=1e-2):
    """The first two losses are right, later ones are not: each backward adds to the gradients of the steps
    before. Set them to zero in every step.
    """
    return _train(model, inputs, targets, steps, lr, zero=False)


def makes_an_optimiser_a_step(model, inputs, targets, steps, lr=1e-2):
    """Every step is as long as the first: a new AdamW is made inside the loop, and its running means begin
    again. Make one in front of the loop.
    """
    return [_train(model, inputs, targets, 1, lr)[0] for _ in range(steps)]


@subtle
def keeps_the_optimiser_for_later(model, inputs, targets, steps, lr=1e-2):
    """A second call on the same model goes on with the first one's optimiser, its means and its learning
    rate. Each call has an optimiser of its own.
    """

    def make(model, lr):
        if "kept" not in vars(model):
            object.__setattr__(model, "kept", _adamw(model, lr))
        return vars(model)["kept"]

    return _train(model, inputs, targets, steps, lr, make=make)


def notes_losses_after_the_update(model, inputs, targets, steps, lr=1e-2):
    """The first loss is already below that of the model as it came: each is measured after its update. Note
    the loss from which the gradient is taken.
    """
    losses = []

    def after_each(*_):
        losses.append(_loss(model(inputs), targets).item())

    _train(model, inputs, targets, steps, lr, after_each=after_each)
    return losses


def notes_one_loss_more(model, inputs, targets, steps, lr=1e-2):
    """The list has steps + 1 entries: the loss of the trained model stands at its end. There is one for each
    step, from before its update.
    """
    losses = _train(model, inputs, targets, steps, lr)
    return [*losses, _loss(model(inputs), targets).item()]


@subtle
def always_takes_a_step(model, inputs, targets, steps, lr=1e-2):
    """With steps=0 the model is trained all the same, and the list is not empty."""
    return _train(model, inputs, targets, max(steps, 1), lr)


def returns_tensors(model, inputs, targets, steps, lr=1e-2):
    """The losses are tensors: `loss` itself is collected, and with it the whole graph of every step stays in
    memory. A number is asked for.
    """
    return [torch.tensor(loss) for loss in _train(model, inputs, targets, steps, lr)]


@subtle
def reads_losses_by_numpy(model, inputs, targets, steps, lr=1e-2):
    """The first step raises: the loss carries the graph of the model, and `.numpy()` refuses that. Read the
    number by `.item()`, or call `.detach()` first.
    """

    def measure(logits, targets):
        loss = _loss(logits, targets)
        loss.numpy()
        return loss

    return _train(model, inputs, targets, steps, lr, measure=measure)


@subtle
def keeps_the_mode(model, inputs, targets, steps, lr=1e-2):
    """A model that comes in evaluation mode is trained in it, and its dropout does nothing. Switch the mode
    before the loop.
    """
    return _train(model, inputs, targets, steps, lr, mode=lambda _: None)


@subtle
def trains_in_evaluation_mode(model, inputs, targets, steps, lr=1e-2):
    """The model is in evaluation mode while it learns. That mode is for using it."""
    return _train(model, inputs, targets, steps, lr, mode=nn.Module.eval)


@crude
def trains_a_copy(model, inputs, targets, steps, lr=1e-2):
    """The losses fall and the model is as it was: a copy was trained. The next call begins where the first
    began. Train in place.
    """
    return _train(copy.deepcopy(model), inputs, targets, steps, lr)


def takes_one_row_a_step(model, inputs, targets, steps, lr=1e-2):
    """Each step sees one row of the batch, so the losses jump. All rows take part in every step."""
    return _train(
        model, inputs, targets, steps, lr, rows=lambda step, whole: whole[step % len(whole)].unsqueeze(0)
    )


def takes_the_first_row_alone(model, inputs, targets, steps, lr=1e-2):
    """Only the first row is ever learnt: with a batch of one that is right. All rows take part each time."""
    return _train(model, inputs, targets, steps, lr, rows=lambda _, whole: whole[:1])


def shifts_the_targets_again(model, inputs, targets, steps, lr=1e-2):
    """The model learns the token after the next: the targets are shifted, and they were so already. Position
    t of the targets belongs to position t of the logits.
    """

    def measure(logits, targets):
        return _loss(logits[:, :-1], targets[:, 1:])

    return _train(model, inputs, targets, steps, lr, measure=measure)


def looks_at_the_last_position_alone(model, inputs, targets, steps, lr=1e-2):
    """The loss is that of the last position. Every position has a target; a decoder learns from all of them
    at once.
    """

    def measure(logits, targets):
        return _loss(logits[:, -1:], targets[:, -1:])

    return _train(model, inputs, targets, steps, lr, measure=measure)


def adds_the_losses_up(model, inputs, targets, steps, lr=1e-2):
    """The losses are too large by the number of positions: they are summed. Cross-entropy is their mean."""
    return _train(model, inputs, targets, steps, lr, measure=lambda a, b: _loss(a, b, reduction="sum"))


def takes_zero_for_padding(model, inputs, targets, steps, lr=1e-2):
    """Positions whose target is 0 do not count: ignore_index=0 was set. Nothing says that 0 is padding; it is
    a token as any other.
    """
    return _train(model, inputs, targets, steps, lr, measure=lambda a, b: _loss(a, b, ignore_index=0))


def takes_the_softmax_twice(model, inputs, targets, steps, lr=1e-2):
    """The losses stay near log V: probabilities are given to the cross-entropy, which does its own softmax.
    It wants logits.
    """
    return _train(model, inputs, targets, steps, lr, measure=lambda a, b: _loss(a.softmax(-1), b))


@subtle
def reads_targets_in_memory_order(model, inputs, targets, steps, lr=1e-2):
    """Targets that are a slice or a transpose end in an error: `view` needs contiguous memory. `reshape` and
    `flatten` do not.
    """
    return _train(model, inputs, targets, steps, lr, measure=lambda a, b: _loss(a, b.view(-1)))


@subtle
def zeroes_gradients_after_the_step(model, inputs, targets, steps, lr=1e-2):
    """Right for a fresh model; one that comes with gradients takes a wrong first step: they are set to zero
    after each step only, so what was there before the call counts in. Zero them ahead of the backward.
    """
    return _train(
        model, inputs, targets, steps, lr, zero=False, after_each=lambda optimizer, _: optimizer.zero_grad()
    )
