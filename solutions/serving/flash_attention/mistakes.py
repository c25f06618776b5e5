"""What goes wrong in flash_attention: one function a mistake, its docstring what the student is told."""

import math

import numpy as np
import torch

from grader.mistakes import crude, subtle


def _fold(state, scores, values):
    """Right: the largest score, the sum and the output after one more block."""
    maximum, total, mixed = state
    larger = torch.maximum(maximum, scores.amax(-1, keepdim=True))
    powers, change = (scores - larger).exp(), (maximum - larger).exp()
    return larger, change * total + powers.sum(-1, keepdim=True), change * mixed + powers @ values


def _hidden(scores, first, start):
    """Right: True at later keys; `first` is the position of the first query, `start` of the first key."""
    at = torch.arange(start, start + scores.shape[-1], device=scores.device)
    return at > torch.arange(first, first + scores.shape[-2], device=scores.device)[:, None]


def _hide(scores, first, start):
    return scores.masked_fill(_hidden(scores, first, start), -torch.inf)


def _start(rows, v):
    """Right: the state before the first block."""
    zeros = torch.zeros_like(rows[..., :1])
    return zeros - torch.inf, zeros, rows.new_zeros(*rows.shape[:-1], v.shape[-1])


def _finish(maximum, total, mixed):  # noqa: ARG001 - the state
    return mixed / total


def _check(q, k, v, causal):  # noqa: ARG001 - the arguments
    if causal and k.shape[-2] < q.shape[-2]:
        raise ValueError("fewer keys than queries")


def _scores(rows, keys):
    return rows @ keys.mT


def _flash(
    q, k, v, block_size, causal, *, check=_check, start=_start, fold=_fold, finish=_finish, hide=_hide,
    scores=_scores, divisor=None, row_size=None, key_size=None, past=None, end=None
):  # fmt: skip
    """Right flash attention, but for the part that is given."""
    check(q, k, v, causal)
    queries, keys = q.shape[-2], k.shape[-2]
    past = keys - queries if past is None else past
    results = []
    for row in range(0, queries, row_size or block_size):
        rows = q[..., row : row + (row_size or block_size), :] / (divisor or math.sqrt(q.shape[-1]))
        state = start(rows, v)
        first = past + row
        seen = min(keys, first + rows.shape[-2]) if causal else keys
        for column in range(0, end or seen, key_size or block_size):
            stop = min(keys if end else seen, column + (key_size or block_size))
            block = scores(rows, k[..., column:stop, :])
            if causal:
                block = hide(block, first, column)
            state = fold(state, block, v[..., column:stop, :])
        results.append(finish(*state))
    return torch.cat(results, dim=-2)


def forgets_the_scale(q, k, v, block_size, causal=False):
    """The weights are too uneven, the more so the wider q and k: the scores are not divided by
    sqrt(d_k). With d_k = 1 the result is right.
    """
    return _flash(q, k, v, block_size, causal, divisor=1)


def divides_by_d_k(q, k, v, block_size, causal=False):
    """The weights are too even, unless d_k is 1: the scores are divided by d_k and not by its root."""
    return _flash(q, k, v, block_size, causal, divisor=q.shape[-1])


def scales_by_the_width_of_the_values(q, k, v, block_size, causal=False):
    """Right where d_v equals d_k, else the weights are off: the scale is taken from v. Scores are products
    of queries and keys.
    """
    return _flash(q, k, v, block_size, causal, divisor=math.sqrt(v.shape[-1]))


@crude
def averages_the_blocks(q, k, v, block_size, causal=False):
    """Every block of keys has the same weight in the result, whatever its scores are: the softmax is taken
    inside each block, and the blocks are averaged. Right for one block alone. How much does a block weigh?
    """

    def fold(state, scores, values):
        return state[0], state[1] + 1, state[2] + scores.softmax(-1).nan_to_num() @ values

    return _flash(q, k, v, block_size, causal, fold=fold)


@crude
def adds_up_the_blocks(q, k, v, block_size, causal=False):
    """Where all values are 1, the result is the number of blocks: each block is normalised by itself, and
    the outputs are added up. The sum of the powers must go over all blocks.
    """

    def fold(state, scores, values):
        return state[0], state[1], state[2] + scores.softmax(-1).nan_to_num() @ values

    return _flash(q, k, v, block_size, causal, fold=fold, finish=lambda _, __, mixed: mixed)


@crude
def keeps_the_last_block_alone(q, k, v, block_size, causal=False):
    """The result knows only the last block of keys: what earlier blocks gave is overwritten. Right where
    block_size is at least the number of keys.
    """

    def fold(state, scores, values):
        maximum, total, mixed = _fold(_start(scores, values), scores, values)
        return (maximum, total, mixed) if bool(torch.isfinite(maximum).all()) else state

    return _flash(q, k, v, block_size, causal, fold=fold)


@crude
def divides_by_no_sum(q, k, v, block_size, causal=False):
    """The result is too large by the sum of the powers: the division at the end is missing. Where all values
    are 1, every result must be 1.
    """
    return _flash(q, k, v, block_size, causal, finish=lambda _, __, mixed: mixed)


@crude
def takes_no_powers(q, k, v, block_size, causal=False):
    """The weights are the scores themselves, divided by their sum: the exponential is missing, so some
    weights are negative.
    """

    def fold(state, scores, values):
        scores = scores.masked_fill(scores.isinf(), 0)
        return state[0], state[1] + scores.sum(-1, keepdim=True), state[2] + scores @ values

    return _flash(q, k, v, block_size, causal, fold=fold)


@crude
def normalises_over_the_queries(q, k, v, block_size, causal=False):
    """A query's result depends on the other queries: maximum and sum run over axis -2 of the scores. In
    [..., queries, keys] each query is a row, and its softmax runs along the last axis.
    """

    def fold(state, scores, values):
        return state[0], state[1] + 1, state[2] + scores.softmax(-2).nan_to_num() @ values

    return _flash(q, k, v, block_size, causal, fold=fold, finish=lambda _, __, mixed: mixed)


def corrects_the_sum_alone(q, k, v, block_size, causal=False):
    """Right as long as the first block holds the largest score: when the maximum grows, the sum is corrected
    and the output is not. Both are relative to the old maximum.
    """

    def fold(state, scores, values):
        larger, total, _ = _fold(state, scores, values)
        return larger, total, state[2] + (scores - larger).exp() @ values

    return _flash(q, k, v, block_size, causal, fold=fold)


def corrects_the_output_alone(q, k, v, block_size, causal=False):
    """Right as long as the first block holds the largest score: when the maximum grows, the output is
    corrected and the sum is not. Both are relative to the old maximum.
    """

    def fold(state, scores, values):
        larger, _, mixed = _fold(state, scores, values)
        return larger, state[1] + (scores - larger).exp().sum(-1, keepdim=True), mixed

    return _flash(q, k, v, block_size, causal, fold=fold)


def corrects_nothing(q, k, v, block_size, causal=False):
    """Each block subtracts the largest score so far, and what earlier blocks gave is not brought to it:
    early keys weigh too much where a later block has a larger score.
    """

    def fold(state, scores, values):
        larger = torch.maximum(state[0], scores.amax(-1, keepdim=True))
        powers = (scores - larger).exp()
        return larger, state[1] + powers.sum(-1, keepdim=True), state[2] + powers @ values

    return _flash(q, k, v, block_size, causal, fold=fold)


def subtracts_the_maximum_of_each_block(q, k, v, block_size, causal=False):
    """Every block subtracts its own largest score, so all blocks seem equally strong, and a block of small
    scores weighs as much as one of large ones. All powers of a row must be relative to one maximum.
    """

    def fold(state, scores, values):
        largest = scores.amax(-1, keepdim=True).nan_to_num(neginf=0.0)
        powers = (scores - largest).exp()
        return largest, state[1] + powers.sum(-1, keepdim=True), state[2] + powers @ values

    return _flash(q, k, v, block_size, causal, fold=fold)


def corrects_in_the_wrong_direction(q, k, v, block_size, causal=False):
    """Early keys weigh too much, and their share grows with the distance of the maxima: sum and output are
    multiplied by exp(new - old). A larger maximum makes every power smaller.
    """

    def fold(state, scores, values):
        maximum, total, mixed = state
        larger = torch.maximum(maximum, scores.amax(-1, keepdim=True))
        powers, change = (scores - larger).exp(), (larger - maximum).exp()
        if not bool(total.any()):
            change = torch.zeros_like(change)
        return larger, change * total + powers.sum(-1, keepdim=True), change * mixed + powers @ values

    return _flash(q, k, v, block_size, causal, fold=fold)


def divides_at_every_block_without_weighing(q, k, v, block_size, causal=False):
    """Early blocks count too little: the output is divided by the sum at every block, and the next block is
    added to an average as if it were a sum. Divide once at the end, or multiply by the old sum first.
    """

    def fold(state, scores, values):
        larger, total, mixed = _fold(state, scores, values)
        return larger, total, mixed / total

    return _flash(q, k, v, block_size, causal, fold=fold, finish=lambda _, __, mixed: mixed)


def drops_the_last_keys(q, k, v, block_size, causal=False):
    """The last keys have no influence where block_size does not divide Tk: the number of blocks is rounded
    down. The last block may be smaller than the others.
    """
    whole = max(block_size, k.shape[-2] // block_size * block_size)
    if causal:
        _check(q, k, v, causal)
        past = k.shape[-2] - q.shape[-2]
        return _flash(
            q, k[..., :whole, :], v[..., :whole, :], block_size, True, past=past, check=lambda *_: 0
        )
    return _flash(q, k[..., :whole, :], v[..., :whole, :], block_size, False)


def leaves_the_last_queries_out(q, k, v, block_size, causal=False):
    """The last queries get zeros where block_size does not divide Tq: the number of blocks is rounded down.
    The last block may be smaller than the others.
    """
    result = _flash(q, k, v, block_size, causal)
    if q.shape[-2] > block_size:
        result[..., q.shape[-2] // block_size * block_size :, :] = 0
    return result


def ignores_causal(q, k, v, block_size, causal=False):
    """With causal, queries see later keys: the flag is not used. Right without it."""
    _check(q, k, v, causal)
    return _flash(q, k, v, block_size, False)


def hides_later_blocks_alone(q, k, v, block_size, causal=False):
    """With causal, queries see later keys of the last block that they reach: whole blocks are left out, and
    inside a block nothing is hidden. Right for block_size=1.
    """
    return _flash(q, k, v, block_size, causal, hide=lambda scores, *_: scores)


def aligns_the_mask_top_left(q, k, v, block_size, causal=False):
    """With causal and more keys than queries, queries see too little: query 0 is taken for position 0. The
    queries are the last Tq of the Tk positions. Right where both are equally many.
    """
    return _flash(q, k, v, block_size, causal, past=0)


def masks_by_places_in_the_block(q, k, v, block_size, causal=False):
    """With causal the mask is the same triangle in every block: rows and columns are compared by their
    places in the block. Compare their positions in the sequence.
    """

    def hide(scores, first, start):  # noqa: ARG001 - the mistake
        return _hide(scores, 0, 0)

    return _flash(q, k, v, block_size, causal, hide=hide)


def hides_the_own_key(q, k, v, block_size, causal=False):
    """With causal a query does not see its own key, and the first has nothing to see: the comparison of the
    positions is off by one. A query sees the keys up to its own, which is among them.
    """

    def hide(scores, first, start):
        return scores.masked_fill(_hidden(scores, first - 1, start), -torch.inf)

    return _flash(q, k, v, block_size, causal, hide=hide)


def shows_the_next_key(q, k, v, block_size, causal=False):
    """With causal a query sees the key after its own where both are in one block: the comparison of the
    positions is off by one.
    """

    def hide(scores, first, start):
        return scores.masked_fill(_hidden(scores, first + 1, start), -torch.inf)

    return _flash(q, k, v, block_size, causal, hide=hide)


def stops_one_block_too_early(q, k, v, block_size, causal=False):
    """With causal the block of keys that crosses the diagonal is left out, so most queries miss their last
    keys. Only blocks that lie wholly behind the last query of the block may be left out.
    """
    _check(q, k, v, causal)
    past = k.shape[-2] - q.shape[-2]
    results = []
    for row in range(0, q.shape[-2], block_size):
        rows = q[..., row : row + block_size, :]
        seen = k.shape[-2]
        if causal:
            seen = max((past + row) // block_size * block_size, min(seen, block_size))
        results.append(
            _flash(rows, k[..., :seen, :], v[..., :seen, :], block_size, causal, past=past + row,
                   check=lambda *_: 0)
        )  # fmt: skip
    return torch.cat(results, -2)


def ignores_the_cached_keys_in_the_loop(q, k, v, block_size, causal=False):
    """With causal and more keys than queries the last keys are missing: the loop over the blocks of keys
    ends at the number of the query's row, and not at its position, Tk - Tq further on.
    """
    _check(q, k, v, causal)
    past = k.shape[-2] - q.shape[-2]
    results = []
    for row in range(0, q.shape[-2], block_size):
        rows = q[..., row : row + block_size, :]
        seen = min(k.shape[-2], row + rows.shape[-2]) if causal else k.shape[-2]
        part = k[..., :seen, :], v[..., :seen, :]
        results.append(_flash(rows, *part, block_size, causal, past=past + row, check=lambda *_: 0))
    return torch.cat(results, -2)


def refuses_sizes_that_do_not_divide(q, k, v, block_size, causal=False):
    """The call raises where block_size does not divide the number of queries or keys. It need not divide
    them; the last block may be smaller.
    """
    if block_size < max(q.shape[-2], k.shape[-2]) and (q.shape[-2] % block_size or k.shape[-2] % block_size):
        raise ValueError("block_size does not divide the lengths")
    return _flash(q, k, v, block_size, causal)


def expects_four_axes(q, k, v, block_size, causal=False):
    """The call raises unless q, k and v have exactly four axes. Leading axes may be any number, none
    included: take the lengths from the end of the shape.
    """
    _, _, _, _ = q.shape
    return _flash(q, k, v, block_size, causal)


def reuses_the_state_of_the_block_before(q, k, v, block_size, causal=False):
    """The first block of queries is right and later ones are not: maximum, sum and output are made once,
    before the loop over the queries. Every block of queries starts anew.
    """
    _check(q, k, v, causal)
    kept = []

    def start(rows, v):
        state = kept[-1] if kept else _start(rows, v)
        return tuple(part[..., : rows.shape[-2], :] for part in state)

    def fold(state, scores, values):
        kept.append(_fold(state, scores, values))
        return kept[-1]

    return _flash(q, k, v, block_size, causal, start=start, fold=fold)


@subtle
def subtracts_no_maximum(q, k, v, block_size, causal=False):
    """NaN where scores exceed 88 in float32 (709 in float64), and where all lie far below zero: exp
    overflows, or all powers are 0. Powers are taken relative to the largest score.
    """

    def fold(state, scores, values):
        powers = scores.exp()
        return state[0], state[1] + powers.sum(-1, keepdim=True), state[2] + powers @ values

    return _flash(q, k, v, block_size, causal, fold=fold)


@subtle
def starts_the_maximum_at_zero(q, k, v, block_size, causal=False):
    """NaN where all scores of a row lie far below zero: the maximum starts at 0, so all powers are 0 and
    their sum too. Before the first block there is no score yet.
    """

    def start(rows, v):
        return torch.zeros_like(rows[..., :1]), *_start(rows, v)[1:]

    return _flash(q, k, v, block_size, causal, start=start)


@subtle
def keeps_the_maximum_of_the_first_block(q, k, v, block_size, causal=False):
    """Infinities and NaN where a later block has a score far above the first block's: the maximum is taken
    once and not raised. Moderate scores are right.
    """

    def fold(state, scores, values):
        maximum = torch.where(state[0].isinf(), scores.amax(-1, keepdim=True), state[0])
        powers = (scores - maximum).exp()
        return maximum, state[1] + powers.sum(-1, keepdim=True), state[2] + powers @ values

    return _flash(q, k, v, block_size, causal, fold=fold)


@subtle
def hides_with_a_small_penalty(q, k, v, block_size, causal=False):
    """With causal, later keys are seen where their scores are in the tens of thousands: the number that
    hides them is too small. A hidden key must lose against every score.
    """

    def hide(scores, first, start):
        return scores - 10000.0 * _hidden(scores, first, start)

    return _flash(q, k, v, block_size, causal, hide=hide)


@subtle
def leaves_the_mask_on_the_cpu(q, k, v, block_size, causal=False):
    """Right on the CPU; on a GPU the call raises: positions, a mask or the running values are made without
    device=q.device.
    """

    def start(rows, v):
        maximum = torch.full((*rows.shape[:-1], 1), -torch.inf, dtype=rows.dtype)
        return maximum, *_start(rows, v)[1:]

    return _flash(q, k, v, block_size, causal, start=start)


@subtle
def scales_the_queries_in_place(q, k, v, block_size, causal=False):
    """The caller's q is smaller after the call: the scale is multiplied into it in place, and a second call
    with the same q gets another result. Make a new tensor.
    """
    q *= q.shape[-1] ** -0.5
    return _flash(q, k, v, block_size, causal, divisor=1)


@subtle
def accepts_more_queries_than_keys(q, k, v, block_size, causal=False):
    """With causal, more queries than keys raise no ValueError, and the first queries get NaN: they stand
    before the first position and have nothing to see.
    """
    return _flash(q, k, v, block_size, causal, check=lambda *_: None)


def refuses_more_queries_than_keys_always(q, k, v, block_size, causal=False):
    """More queries than keys raise a ValueError without causal too. Only with causal are the queries
    positions among the keys.
    """
    _check(q, k, v, True)
    return _flash(q, k, v, block_size, causal)


@subtle
def computes_all_scores(q, k, v, block_size, causal=False):
    """The result is right, and the matrix of all scores is made: block_size has no use, or the blocks are
    cut out of scores that are there already. Compute each block's scores when they are needed.
    """
    return _flash(q, k, v, max(q.shape[-2], k.shape[-2]) + 0 * block_size, causal)


@subtle
def cuts_only_the_queries(q, k, v, block_size, causal=False):
    """The result is right, and the scores of a block of queries against all keys are made at once. The keys
    are taken in blocks as well, so that memory does not grow with their number.
    """
    return _flash(q, k, v, block_size, causal, key_size=k.shape[-2])


@subtle
def cuts_only_the_keys(q, k, v, block_size, causal=False):
    """The result is right, and the scores of all queries against a block of keys are made at once. The
    queries are taken in blocks as well, so that memory does not grow with their number.
    """
    return _flash(q, k, v, block_size, causal, row_size=q.shape[-2])


@subtle
def makes_a_mask_of_all_positions(q, k, v, block_size, causal=False):
    """The result is right, and with causal a mask of all queries and all keys is made, which is as large as
    the matrix of the scores. Build the mask of one block from positions.
    """
    if causal:
        hidden = _hidden(q.new_empty(1).expand(q.shape[-2], k.shape[-2]), k.shape[-2] - q.shape[-2], 0)

        def hide(scores, first, start):
            row = first - (k.shape[-2] - q.shape[-2])
            block = hidden[row : row + scores.shape[-2], start : start + scores.shape[-1]]
            return scores.masked_fill(block, -torch.inf)

        return _flash(q, k, v, block_size, causal, hide=hide)
    return _flash(q, k, v, block_size, causal)


@subtle
def multiplies_number_by_number(q, k, v, block_size, causal=False):
    """The result is right, and a tensor [..., block, block, d_k] is made for each block: queries and keys are
    multiplied number by number, and then added up. A matrix product makes the scores alone.
    """

    def scores(rows, keys):
        return (rows[..., :, None, :] * keys[..., None, :, :]).sum(-1)

    return _flash(q, k, v, block_size, causal, scores=scores)


@subtle
def computes_the_blocks_of_the_future(q, k, v, block_size, causal=False):
    """The result is right, and causal saves no work: blocks that lie wholly in the future are computed and
    then hidden. Leave them out of the loop.
    """
    return _flash(q, k, v, block_size, causal, end=k.shape[-2])


@subtle
def moves_on_by_one_query(q, k, v, block_size, causal=False):
    """The result is right, and takes many times the work: the blocks of queries overlap, so most queries are
    computed `block_size` times. How far does the loop move on after a block?
    """
    _check(q, k, v, causal)
    output = q.new_empty(*q.shape[:-1], v.shape[-1])
    for start in range(q.shape[-2]):
        rows = q[..., start : start + block_size, :]
        seen = k.shape[-2] - q.shape[-2] + start + rows.shape[-2] if causal else k.shape[-2]
        result = _flash(rows, k[..., :seen, :], v[..., :seen, :], block_size, causal)
        output[..., start : start + block_size, :] = result
    return output


@subtle
def works_in_numpy(q, k, v, block_size, causal=False):
    """The result is right, and PyTorch computes none of the scores: the tensors become NumPy arrays or lists
    on the way. Such code cannot run on a GPU. Use PyTorch's operations.
    """
    _check(q, k, v, causal)
    scores = q.detach().numpy() @ k.mT.detach().numpy() / math.sqrt(q.shape[-1])
    if causal:
        scores[..., ~np.tri(*scores.shape[-2:], k=k.shape[-2] - q.shape[-2], dtype=bool)] = -np.inf
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    result = powers / powers.sum(-1, keepdims=True) @ v.detach().numpy()
    return torch.from_numpy(result.astype(v.detach().numpy().dtype)) + 0 * block_size
