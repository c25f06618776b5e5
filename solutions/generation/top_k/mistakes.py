"""What goes wrong in top_k: one function a mistake, its docstring what the student is told."""

import torch

from grader.mistakes import crude, subtle

_verdicts = {}


def _require_tokens(k):
    if k < 1:
        raise ValueError(f"k={k} must be at least 1")


def _right(logits, k):
    _require_tokens(k)
    return _cut(logits, logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:])


def _cut(logits, threshold):
    return logits.masked_fill(logits < threshold, float("-inf"))


def _ranked_by(scores, logits, k):
    """The k of each row with the largest scores keep their logits."""
    _require_tokens(k)
    tokens = scores.topk(min(k, logits.shape[-1]), dim=-1).indices
    kept = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, tokens, True)
    return logits.masked_fill(~kept, float("-inf"))


def _sorted(logits):
    return logits.sort(dim=-1, descending=True).values


def drops_the_kth_token(logits, k):
    """Rows keep one token too few, and with k=1 none at all: the k-th largest logit is the threshold, and the
    comparison with it is strict. The k-th token belongs to those that stay.
    """
    _require_tokens(k)
    threshold = _sorted(logits)[..., min(k, logits.shape[-1]) - 1, None]
    return logits.masked_fill(logits <= threshold, float("-inf"))


def keeps_one_token_too_many(logits, k):
    """Rows keep k + 1 tokens: the threshold is read at index k of the sorted row. Counting begins at 0, so
    which index has the k-th largest?
    """
    _require_tokens(k)
    return _cut(logits, _sorted(logits)[..., min(k, logits.shape[-1] - 1), None])


@crude
def keeps_the_least_likely(logits, k):
    """The k smallest logits stay: the sort runs upwards, or topk was asked for the smallest. Check it with
    k=1, which must keep the argmax.
    """
    return _ranked_by(-logits, logits, k)


@crude
def keeps_the_first_k_of_the_vocabulary(logits, k):
    """The tokens 0 to k - 1 stay, whatever their logits: the verdict follows the place in the vocabulary, or
    the sorted order was never brought back to the tokens. topk and sort also return where each logit was.
    """
    _require_tokens(k)
    dropped = torch.arange(logits.shape[-1], device=logits.device) >= k
    return logits.masked_fill(dropped, float("-inf"))


def leaves_the_logits_sorted(logits, k):
    """The result runs from the largest logit down, so token 0 gets the logit of the most likely one. Each
    logit must stay in its own place.
    """
    return _sorted(_right(logits, k))


@crude
def returns_k_columns(logits, k):
    """The result has k columns, the values that topk returns, and nothing says any more which token each
    belongs to. The result has the shape of `logits`, with -inf in the place of the others.
    """
    _require_tokens(k)
    return logits.topk(min(k, logits.shape[-1]), dim=-1).values


@subtle
def counts_distinct_logits(logits, k):
    """Rows with equal logits keep too many tokens: k different values stay, with every token that has one of
    them. Equal tokens count one each.
    """
    _require_tokens(k)
    ordered = _sorted(logits)
    is_new = torch.cat([ordered[..., :1].isnan(), ordered[..., 1:] < ordered[..., :-1]], dim=-1)
    is_new[..., 0] = True
    within = is_new.cumsum(dim=-1) <= k
    return _cut(logits, ordered.masked_fill(~within, float("inf")).amin(dim=-1, keepdim=True))


@subtle
def ranks_by_probability(logits, k):
    """Widely spread logits lose the wrong tokens: the probabilities are compared, and those of unlikely
    tokens are all rounded to 0, where they tie. Logits are in the same order, and do not round.
    """
    return _ranked_by(logits.softmax(dim=-1), logits, k)


@subtle
def ranks_in_float32(logits, k):
    """float64 logits that differ by less than float32 can tell are taken for equal, and the wrong one stays:
    they are compared in float32. Compare them in the dtype they come in.
    """
    return _ranked_by(logits.float(), logits, k)


def pours_all_rows_together(logits, k):
    """A batch keeps k tokens in all, so some rows keep none: the largest are sought in the flattened logits.
    Each row keeps k of its own.
    """
    _require_tokens(k)
    threshold = logits.flatten().topk(min(k, logits.numel())).values[-1]
    return _cut(logits, threshold)


def uses_the_threshold_of_the_first_row(logits, k):
    """The first row is right, others keep too many tokens or none: all are cut at the k-th largest logit of
    the first. Each row has a threshold of its own.
    """
    _require_tokens(k)
    rows = logits.reshape(-1, logits.shape[-1])
    return _cut(logits, _sorted(rows)[0, min(k, rows.shape[1]) - 1])


def uses_the_lowest_threshold(logits, k):
    """Some rows keep more than k tokens: all are cut at the lowest of the rows' thresholds. A minimum over
    the k largest must run along the vocabulary alone.
    """
    _require_tokens(k)
    return _cut(logits, logits.topk(min(k, logits.shape[-1]), dim=-1).values.min())


@crude
def sorts_down_the_batch(logits, k):
    """Logits without leading axes are right, batches are not: the largest are sought along the first axis, so
    rows compete with each other and tokens do not. The vocabulary is the last axis.
    """
    return _right(logits.transpose(0, -1), k).transpose(0, -1)


@subtle
def sorts_along_the_second_axis(logits, k):
    """A batch of rows is right, one row raises, and three axes are cut across the rows: the vocabulary is
    taken for axis 1. It is the last one, whatever comes before.
    """
    _require_tokens(k)
    threshold = logits.topk(min(k, logits.shape[1]), dim=1).values[:, -1:]
    return _cut(logits, threshold)


@subtle
def makes_the_result_in_float32(logits, k):
    """float64 logits raise or come back as float32: the tensor that receives what is kept was made without
    their dtype, and without their device too. What dtype does torch.full give?
    """
    _require_tokens(k)
    largest = logits.topk(min(k, logits.shape[-1]), dim=-1)
    return torch.full(logits.shape, float("-inf")).scatter(-1, largest.indices, largest.values)


def drops_tokens_to_zero(logits, k):
    """Dropped tokens get the logit 0, which is a logit like any other: exp(0) = 1, and the softmax that
    follows gives them mass. Which logit has the probability 0?
    """
    kept = _right(logits, k)
    return torch.where(kept.isneginf() & ~logits.isneginf(), torch.zeros_like(kept), kept)


def drops_tokens_to_a_large_negative_number(logits, k):
    """Dropped tokens are finite, a large negative number. It wins where real logits lie lower, and cannot be
    told from a logit. The statement asks for -inf.
    """
    kept = _right(logits, k)
    return torch.where(kept.isneginf() & ~logits.isneginf(), torch.full_like(kept, -1e9), kept)


def multiplies_by_the_verdicts(logits, k):
    """Logits become NaN: the verdicts, 0 or 1, are multiplied with -inf, and 0 * inf is NaN. Choose between
    the logit and -inf, in place of computing with them.
    """
    dropped = (_right(logits, k).isneginf() & ~logits.isneginf()).to(logits.dtype)
    return logits + dropped * float("-inf")


def returns_probabilities(logits, k):
    """The result holds probabilities, with 0 where a token is dropped. It must hold logits: a temperature or
    another filter may follow, and a softmax will.
    """
    return _right(logits, k).softmax(dim=-1)


@subtle
def overwrites_the_logits(logits, k):
    """The caller's logits hold -inf after the call: they are filled in place. Fill a copy."""
    return logits.copy_(_right(logits, k))


@subtle
def raises_where_k_exceeds_the_vocabulary(logits, k):
    """k larger than the vocabulary raises: topk cannot return more values than a row has, and an index beyond
    its end does not exist. From k = V on everything is kept.
    """
    _require_tokens(k)
    return _cut(logits, logits.topk(k, dim=-1).values[..., -1:])


@subtle
def keeps_at_most_fifty_tokens(logits, k):
    """Right up to k = 50; a larger k in a larger vocabulary keeps 50 tokens all the same: some limit on k, or
    on the candidates, is built in. The caller's k is the only limit, besides V.
    """
    _require_tokens(k)
    return _right(logits, min(k, 50))


@subtle
def accepts_every_k(logits, k):
    """k = 0 drops every token, and the softmax after it is NaN: nothing is refused. Where k is below 1, a
    ValueError is due.
    """
    tokens = logits.argsort(dim=-1, descending=True)[..., : max(k, 0)]
    kept = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, tokens, True)
    return logits.masked_fill(~kept, float("-inf"))


@subtle
def raises_k_to_one(logits, k):
    """k = 0 keeps one token without a word: k is raised to 1. A call that asks for no token is a mistake of
    its caller, who has to learn of it: a ValueError is due.
    """
    return _right(logits, max(k, 1))


@subtle
def reads_k_of_zero_as_no_filter(logits, k):
    """k = 0 keeps every token, as in libraries where 0 turns the filter off. Here a ValueError is due."""
    return _right(logits, k) if k else logits.clone()


@subtle
def keeps_the_verdicts_of_an_earlier_call(logits, k):
    """The first call is right, a later one of the same shape keeps the tokens of the first: verdicts are
    remembered by shape and k. They depend on the logits.
    """
    key = tuple(logits.shape), k
    if key not in _verdicts:
        _verdicts[key] = _right(logits, k).isneginf()
    return logits.masked_fill(_verdicts[key], float("-inf"))


@subtle
def keeps_at_most_three_hundred_tokens(logits, k):
    """Small vocabularies come out right, and with 50,257 tokens never more than 300 are kept: a sort is cut
    short to save work. k may be any number up to V.
    """
    return _right(logits, min(k, 300))


@subtle
def counts_tokens_in_sixteen_bits(logits, k):
    """Small vocabularies come out right, and with 50,257 tokens the wrong ones are kept: their places are
    held in int16, which ends at 32,767. Indices are int64.
    """
    result = _right(logits, k)
    places = torch.arange(logits.shape[-1]).to(torch.int16).long() % logits.shape[-1]
    return result if logits.shape[-1] < 2**15 else result[..., places]


def joins_the_leading_axes_as_a_view(logits, k):
    """A transposed batch raises an error: the leading axes are joined with `view`, which needs them to lie
    behind each other in memory. The logits may have any memory layout.
    """
    return _right(logits.view(-1, logits.shape[-1]), k).view(logits.shape)
