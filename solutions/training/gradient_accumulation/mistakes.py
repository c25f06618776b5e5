"""What goes wrong in gradient_accumulation: one function a mistake, its docstring what a student is told."""

import torch
from torch.nn import functional as F

from grader.mistakes import crude, subtle

_COUNTS = {}


def _counted(targets, ignore_index):
    return (targets != ignore_index).sum().item()


def _count(micro_batches, ignore_index):
    """How many targets of all micro-batches count."""
    return sum(_counted(targets, ignore_index) for _, targets in micro_batches)


def _summed(logits, targets, ignore_index):
    """The sum of the losses that count."""
    return F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=ignore_index, reduction="sum"
    )


def _accumulate(
    model,
    micro_batches,
    ignore_index,
    *,
    count=_count,
    summed=_summed,
    weight=lambda inputs, targets: 1.0,  # noqa: ARG005
    begin=lambda model: model.zero_grad(),
    between=lambda model: None,  # noqa: ARG005
):
    """Right, but for the part that is given."""
    divisor = count(micro_batches, ignore_index)
    begin(model)
    mean = 0.0
    for inputs, targets in micro_batches:
        between(model)
        loss = summed(model(inputs), targets, ignore_index) * (weight(inputs, targets) / divisor)
        loss.backward()
        mean += loss.item()
    return mean


def _mean_of(targets, ignore_index):
    """The factor that makes a mean of a sum of losses; that of a micro-batch without targets stays a sum."""
    return 1.0 / max(_counted(targets, ignore_index), 1)


@subtle
def counts_what_is_above_the_ignore_index(model, micro_batches, ignore_index=-100):
    """Right for -100; an ignore_index above all tokens leaves nothing to count. A target counts where it
    differs from it."""

    def count(batches, index):
        return sum((targets > index).sum().item() for _, targets in batches)

    return _accumulate(model, micro_batches, ignore_index, count=count)


def averages_the_means(model, micro_batches, ignore_index=-100):
    """Right where as many targets count in all micro-batches; else those of the short ones weigh too much:
    each mean was divided by the number of micro-batches. A mean of means is no mean; what do all targets have
    in common?"""
    return _accumulate(
        model,
        micro_batches,
        ignore_index,
        count=lambda batches, _: len(batches),
        weight=lambda _, targets: _mean_of(targets, ignore_index),
    )


@crude
def adds_the_means_up(model, micro_batches, ignore_index=-100):
    """The loss grows with the number of micro-batches: each mean is back-propagated as it is, and `.grad`
    adds them up. All together are to be one mean."""
    return _accumulate(
        model,
        micro_batches,
        ignore_index,
        count=lambda *_: 1,
        weight=lambda _, targets: _mean_of(targets, ignore_index),
    )


def _plain_mean(logits, targets, ignore_index):
    """The mean of the losses that count, as PyTorch takes it: NaN where none does."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=ignore_index)


def averages_the_means_of_nothing(model, micro_batches, ignore_index=-100):
    """Right where as many targets count in all micro-batches; else those of the short ones weigh too much,
    and one in which none counts makes everything NaN: each mean was divided by the number of micro-batches. A
    mean of means is no mean; what do all targets have in common?"""
    return _accumulate(
        model, micro_batches, ignore_index, count=lambda batches, _: len(batches), summed=_plain_mean
    )


@crude
def adds_the_means_of_nothing_up(model, micro_batches, ignore_index=-100):
    """The loss grows with the number of micro-batches, and one in which no target counts makes it NaN: each
    mean is back-propagated as it is, and `.grad` adds them up. All together are to be one mean."""
    return _accumulate(model, micro_batches, ignore_index, count=lambda *_: 1, summed=_plain_mean)


@crude
def forgets_to_divide(model, micro_batches, ignore_index=-100):
    """Loss and gradients are too large by the number of targets: they are sums. The mean over all targets
    that count is asked for."""
    return _accumulate(model, micro_batches, ignore_index, count=lambda *_: 1)


@crude
def divides_twice(model, micro_batches, ignore_index=-100):
    """Loss and gradients are too small: each mean was divided by the number of targets of the whole batch. A
    mean is divided already; either sums or shares belong there."""
    return _accumulate(
        model, micro_batches, ignore_index, weight=lambda _, targets: _mean_of(targets, ignore_index)
    )


def divides_by_the_micro_batches(model, micro_batches, ignore_index=-100):
    """Loss and gradients are too large: sums of losses were divided by the number of micro-batches. Divide by
    the number of targets that count."""
    return _accumulate(model, micro_batches, ignore_index, count=lambda batches, _: len(batches))


def counts_ignored_targets(model, micro_batches, ignore_index=-100):
    """Right where every target counts; else loss and gradients are too small: the divisor is the number of
    all positions. Those that are ignored add nothing above, and must not count below."""
    return _accumulate(
        model, micro_batches, ignore_index, count=lambda batches, _: sum(t.numel() for _, t in batches)
    )


def weighs_by_positions(model, micro_batches, ignore_index=-100):
    """Right where every target counts; else micro-batches with many ignored targets weigh too much: each mean
    has the weight of its positions. Only those that count give weight."""
    positions = sum(targets.numel() for _, targets in micro_batches)
    return _accumulate(
        model,
        micro_batches,
        ignore_index,
        count=lambda *_: positions,
        weight=lambda _, targets: targets.numel() * _mean_of(targets, ignore_index),
    )


def weighs_by_sequences(model, micro_batches, ignore_index=-100):
    """Right where all sequences have as many targets that count; else those of short ones weigh too much:
    each mean has the weight of its number of sequences. The loss is a mean over targets."""
    return _accumulate(
        model,
        micro_batches,
        ignore_index,
        count=lambda batches, _: sum(len(targets) for _, targets in batches),
        weight=lambda _, targets: len(targets) * _mean_of(targets, ignore_index),
    )


def averages_each_sequence(model, micro_batches, ignore_index=-100):
    """Right where all sequences have as many targets that count: the mean is taken in each sequence, and then
    over the sequences. All targets of the batch weigh the same."""

    def summed(logits, targets, ignored):
        losses = F.cross_entropy(logits.mT, targets, ignore_index=ignored, reduction="none").sum(-1)
        return (losses / (targets != ignored).sum(-1).clamp(min=1)).sum()

    return _accumulate(
        model,
        micro_batches,
        ignore_index,
        count=lambda batches, ignored: sum((t != ignored).any(-1).sum().item() for _, t in batches),
        summed=summed,
    )


def divides_by_the_count_so_far(model, micro_batches, ignore_index=-100):
    """Right for one micro-batch; with more, the first weigh too much: the count was not complete when it
    divided. Count the targets of all micro-batches before the first backward, or divide at the end."""
    model.zero_grad()
    mean, count = 0.0, 0
    for inputs, targets in micro_batches:
        count += _counted(targets, ignore_index)
        loss = _summed(model(inputs), targets, ignore_index) / max(count, 1)
        loss.backward()
        mean += loss.item()
    return mean


def divides_by_the_largest_count(model, micro_batches, ignore_index=-100):
    """Right for one micro-batch; with more, loss and gradients are too large: the divisor is the count of one
    micro-batch. Add the counts of all."""
    return _accumulate(
        model,
        micro_batches,
        ignore_index,
        count=lambda batches, ignored: max(_counted(targets, ignored) for _, targets in batches),
    )


@subtle
def lets_gradients_add_up(model, micro_batches, ignore_index=-100):
    """Right for a fresh model; a second call adds its gradients to those of the first: `.grad` is not set to
    zero at the beginning. Within a call it is to add up, not between calls."""
    return _accumulate(model, micro_batches, ignore_index, begin=lambda _: None)


@crude
def keeps_the_last_micro_batch_alone(model, micro_batches, ignore_index=-100):
    """The loss is right, the gradients are those of the last micro-batch: they are set to zero inside the
    loop. Do it once, in front of it."""
    return _accumulate(model, micro_batches, ignore_index, between=lambda model: model.zero_grad())


@subtle
def keeps_old_gradients_of_the_rest(model, micro_batches, ignore_index=-100):
    """A parameter that takes no part keeps the gradient that it had before the call: only the others were
    written. An optimiser would move it; set all gradients to zero or None first."""

    def begin(model):
        for parameter in list(model.parameters())[:2]:
            parameter.grad = None

    return _accumulate(model, micro_batches, ignore_index, begin=begin)


@subtle
def keeps_all_graphs(model, micro_batches, ignore_index=-100):
    """Loss and gradients are right, and the memory is that of the whole batch: the losses were added up and
    back-propagated once, so each micro-batch's graph stays until the end. Go backward inside the loop."""
    model.zero_grad()
    count = _count(micro_batches, ignore_index)
    loss = sum(_summed(model(inputs), targets, ignore_index) / count for inputs, targets in micro_batches)
    loss.backward()
    return loss.item()


@subtle
def counts_by_running_the_model(model, micro_batches, ignore_index=-100):
    """Loss and gradients are right, and the model runs twice for each micro-batch, once to find out how much
    there is. The targets alone tell how many count."""
    with torch.no_grad():
        for inputs, _ in micro_batches:
            model(inputs)
    return _accumulate(model, micro_batches, ignore_index)


@subtle
def measures_the_loss_once_more(model, micro_batches, ignore_index=-100):
    """Loss and gradients are right, and the model runs twice for each micro-batch, once for the gradient and
    once for the loss. Keep the number of the run that is back-propagated."""
    _accumulate(model, micro_batches, ignore_index)
    with torch.no_grad():
        total = sum(_summed(model(inputs), targets, ignore_index).item() for inputs, targets in micro_batches)
    return total / _count(micro_batches, ignore_index)


@subtle
def divides_a_sum_of_nothing(model, micro_batches, ignore_index=-100):
    """A micro-batch in which no target counts makes loss and gradients NaN: its mean is 0 / 0, and NaN times
    a weight of 0 stays NaN. Divide sums by the count of all."""
    return _accumulate(
        model,
        micro_batches,
        ignore_index,
        weight=lambda _, targets: _counted(targets, ignore_index),
        summed=_plain_mean,
    )


@subtle
def stops_at_an_empty_micro_batch(model, micro_batches, ignore_index=-100):
    """Micro-batches behind one in which no target counts are lost: the loop ends there. Such a micro-batch
    adds nothing, and the next one does."""
    counts = [_counted(targets, ignore_index) for _, targets in micro_batches]
    reached = counts.index(0) if 0 in counts else len(counts)
    return _accumulate(model, micro_batches[:reached], ignore_index, count=lambda *_: sum(counts))


@subtle
def switches_to_training_mode(model, micro_batches, ignore_index=-100):
    """A model that came in evaluation mode runs in training mode, so dropout would change its numbers. The
    model runs in the mode in which it comes: leave the mode to the caller."""
    return _accumulate(model.train(), micro_batches, ignore_index)


@subtle
def takes_only_minus_100_for_ignored(model, micro_batches, ignore_index=-100):  # noqa: ARG001 - the mistake
    """Right for the default; another ignore_index has no effect, or raises: -100 is written into the code, or
    ignore_index is not handed to the cross-entropy. Check both the count and the loss."""
    return _accumulate(model, micro_batches, -100)


@subtle
def counts_with_another_index(model, micro_batches, ignore_index=-100):
    """The loss ignores what it should; the count does not, where ignore_index is not -100. Both need the same
    index."""
    return _accumulate(model, micro_batches, ignore_index, count=lambda batches, _: _count(batches, -100))


@subtle
def takes_negative_targets_for_ignored(model, micro_batches, ignore_index=-100):
    """Right for negative numbers; an ignore_index inside the vocabulary counts in the divisor: targets are
    asked whether they are below 0. Compare them with ignore_index."""
    return _accumulate(
        model,
        micro_batches,
        ignore_index,
        count=lambda batches, _: sum((targets >= 0).sum().item() for _, targets in batches),
    )


def takes_zero_for_padding(model, micro_batches, ignore_index=-100):
    """Targets of 0 do not count: they are taken for padding. Only ignore_index is ignored."""
    return _accumulate(
        model,
        [(inputs, targets.masked_fill(targets == 0, ignore_index)) for inputs, targets in micro_batches],
        ignore_index,
        count=lambda batches, ignored: max(_count(batches, ignored), 1),
    )


@subtle
def reads_targets_in_memory_order(model, micro_batches, ignore_index=-100):
    """Targets that are a slice or a transpose end in an error: `view` needs contiguous memory. `reshape` and
    `flatten` do not."""

    def summed(logits, targets, ignored):
        return _summed(logits, targets.view(-1, 1), ignored)

    return _accumulate(model, micro_batches, ignore_index, summed=summed)


def mixes_positions_and_classes(model, micro_batches, ignore_index=-100):
    """Right for a single position; else logits of one position are scored with another's target: an axis was
    moved before the logits were flattened. The classes must stay together, [B * T, V]."""

    def summed(logits, targets, ignored):
        return _summed(logits.mT.reshape(logits.shape), targets, ignored)

    return _accumulate(model, micro_batches, ignore_index, summed=summed)


@crude
def takes_the_softmax_twice(model, micro_batches, ignore_index=-100):
    """The losses stay near log V: probabilities are given to the cross-entropy, which does its own softmax.
    It wants logits."""
    return _accumulate(
        model,
        micro_batches,
        ignore_index,
        summed=lambda logits, targets, ignored: _summed(logits.softmax(-1), targets, ignored),
    )


def shifts_the_targets_again(model, micro_batches, ignore_index=-100):
    """Targets are compared with the logits of the position before: they were shifted, and they are so
    already. Position t of the targets belongs to position t of the logits."""

    def summed(logits, targets, ignored):
        return _summed(logits[:, :-1], targets[:, 1:], ignored)

    def count(batches, ignored):
        return max(sum(_counted(targets[:, 1:], ignored) for _, targets in batches), 1)

    return _accumulate(model, micro_batches, ignore_index, summed=summed, count=count)


@crude
def takes_the_first_micro_batch_alone(model, micro_batches, ignore_index=-100):
    """Only the first micro-batch takes part: `return` or `break` stands inside the loop."""
    return _accumulate(
        model, micro_batches[:1], ignore_index, count=lambda *_: _count(micro_batches, ignore_index)
    )


def drops_other_shapes(model, micro_batches, ignore_index=-100):
    """Right where all micro-batches have one shape; one that is shorter, as the last often is, is left out.
    Every target counts."""
    shape = micro_batches[0][1].shape
    kept = [batch for batch in micro_batches if batch[1].shape == shape]
    return _accumulate(
        model, kept, ignore_index, count=lambda batches, ignored: max(_count(batches, ignored), 1)
    )


def returns_the_mean_of_the_means(model, micro_batches, ignore_index=-100):
    """The gradients are right; the loss is the mean of the micro-batches' means. Return the number whose
    gradient was taken."""
    means = []

    def summed(logits, targets, ignored):
        loss = _summed(logits, targets, ignored)
        means.append(loss.item() * _mean_of(targets, ignored))
        return loss

    _accumulate(model, micro_batches, ignore_index, summed=summed)
    return sum(means) / len(means)


def returns_the_last_share(model, micro_batches, ignore_index=-100):
    """The gradients are right; the loss is that of the last micro-batch. Add the shares of all."""
    shares = []

    def summed(logits, targets, ignored):
        loss = _summed(logits, targets, ignored)
        shares.append(loss.item())
        return loss

    _accumulate(model, micro_batches, ignore_index, summed=summed)
    return shares[-1] / _count(micro_batches, ignore_index)


def returns_the_sum(model, micro_batches, ignore_index=-100):
    """The gradients are right; the loss is the sum over the targets. The mean is asked for."""
    return _accumulate(model, micro_batches, ignore_index) * _count(micro_batches, ignore_index)


@subtle
def returns_a_tensor(model, micro_batches, ignore_index=-100):
    """Gradients and loss are right; the loss is a tensor, and may hold a graph. A Python float is asked
    for."""
    return torch.tensor(_accumulate(model, micro_batches, ignore_index))


@crude
def leaves_the_gradients_in_a_list(model, micro_batches, ignore_index=-100):
    """The loss is right and `.grad` is empty: the gradients were computed and not stored there, where the
    optimiser looks for them."""
    loss = _accumulate(model, micro_batches, ignore_index)
    model.zero_grad()
    return loss


@subtle
def takes_a_step(model, micro_batches, ignore_index=-100):
    """The parameters have moved after the call: an optimiser's step was taken. The call only leaves
    gradients; the step is the caller's."""
    loss = _accumulate(model, micro_batches, ignore_index)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter -= 0.1 * parameter.grad
    return loss


def clips_the_gradients(model, micro_batches, ignore_index=-100):
    """The loss is right; gradients with a norm above a bound are too small: they were clipped. Nothing is to
    be done to them."""
    loss = _accumulate(model, micro_batches, ignore_index)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    return loss


@subtle
def computes_the_loss_in_float32(model, micro_batches, ignore_index=-100):
    """A float64 model gets a loss and gradients with half of their digits: the logits were made float32, as
    is done where models run in half precision. Leave them in the dtype in which they come."""
    return _accumulate(
        model,
        micro_batches,
        ignore_index,
        summed=lambda logits, targets, ignored: _summed(logits.float(), targets, ignored),
    )


def keeps_the_count_of_the_first_call(model, micro_batches, ignore_index=-100):
    """The first call is right; a later one with as many micro-batches divides by the count of the first.
    Check what is kept between calls."""
    return _accumulate(
        model,
        micro_batches,
        ignore_index,
        count=lambda batches, ignored: _COUNTS.setdefault(len(batches), _count(batches, ignored)),
    )


@subtle
def divides_a_tied_gradient_twice(model, micro_batches, ignore_index=-100):
    """The gradient of a tied weight is too small: the gradients are divided by the count in the end, and a
    Parameter with two names is met twice. `model.parameters()` gives each Parameter once.
    """
    divisor = _count(micro_batches, ignore_index)
    total = _accumulate(model, micro_batches, ignore_index, count=lambda *_: 1.0)
    for _, parameter in model.named_parameters(remove_duplicate=False):
        if parameter.grad is not None:
            parameter.grad /= divisor
    return total / divisor
