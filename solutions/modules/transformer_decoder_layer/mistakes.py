"""What goes wrong in transformer_decoder_layer: one class a mistake, its docstring what is told."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from grader.mistakes import crude, subtle


class _Attention(nn.Module):
    """The right attention; mistakes override a part of it."""

    weight_dropout = 0.0

    def __init__(self, d_model, num_heads):
        super().__init__()
        self._check(d_model, num_heads)
        self.num_heads = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))

    def _check(self, d_model, num_heads):
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")

    def _split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def _divisor(self, q):
        return math.sqrt(q.shape[-1])

    def forward(self, x, source, mask):
        q, (k, v) = self._split(self.q(x)), self._keys_and_values(source)
        weights = self._weights(q @ k.mT / self._divisor(q), mask)
        weights = F.dropout(weights, self.weight_dropout, self.training)
        return self.o(self._merge(weights @ v))

    def _weights(self, scores, mask):
        return scores.masked_fill(~mask, float("-inf")).softmax(-1)

    def _keys_and_values(self, source):
        return self._split(self.k(source)), self._split(self.v(source))

    def _merge(self, mixed):
        return mixed.transpose(1, 2).flatten(2)


class _Layer(nn.Module):
    """The right layer; mistakes override a part of it."""

    attention_class = _Attention

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.self_attn = self.attention_class(d_model, num_heads)
        self.cross_attn = self.attention_class(d_model, num_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.rate = dropout

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        own, read = self._own(x, tgt_mask), self._read(x, memory, memory_mask)
        h = self.norm1(x)
        x = self._add(x, self.self_attn(h, h, own))
        x = self._add(x, self._cross(self.norm2(x), memory, read))
        return self._add(x, self.ffn(self.norm3(x)))

    def _own(self, x, mask):
        return self._causal(x) if mask is None else mask

    def _causal(self, x):
        return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()

    def _read(self, x, memory, mask):  # noqa: ARG002 - mistakes read x
        mask = memory.new_ones(memory.shape[:2], dtype=torch.bool) if mask is None else mask
        return mask[:, None, None]

    def _cross(self, h, memory, read):
        return self.cross_attn(h, memory, read)

    def _add(self, x, result):
        return x + self._drop(result)

    def _drop(self, result):
        return F.dropout(result, self.rate, self.training)


class normalises_after_the_sum(_Layer):
    """The layer is post-norm: each norm takes the sum of sublayer and input, so no path through the layer is
    free of norms. Here the norm stands inside the branch, in front of the sublayer.
    """

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        own, read = self._own(x, tgt_mask), self._read(x, memory, memory_mask)
        x = self.norm1(self._add(x, self.self_attn(x, x, own)))
        x = self.norm2(self._add(x, self.cross_attn(x, memory, read)))
        return self.norm3(self._add(x, self.ffn(x)))


class adds_to_the_normalised_input(_Layer):
    """The residual starts from the normalised copy: with all sublayers silent, the layer returns a norm of x
    and not x. Check what stands to the left of each plus.
    """

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        own, read = self._own(x, tgt_mask), self._read(x, memory, memory_mask)
        h = self.norm1(x)
        h = self.norm2(self._add(h, self.self_attn(h, h, own)))
        h = self.norm3(self._add(h, self._cross(h, memory, read)))
        return self._add(h, self.ffn(h))


class replaces_x_by_the_cross_attention(_Layer):
    """What the target knew is lost in the middle of the layer: the cross-attention's result takes the place
    of x. All three sublayers are added.
    """

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        own, read = self._own(x, tgt_mask), self._read(x, memory, memory_mask)
        h = self.norm1(x)
        x = self._add(x, self.self_attn(h, h, own))
        x = self._drop(self._cross(self.norm2(x), memory, read))
        return self._add(x, self.ffn(self.norm3(x)))


class normalises_the_memory(_Layer):
    """The memory passes norm2 like the queries. It is used as it is: its encoder has normalised it, and the
    norm of a norm with other weights is another thing.
    """

    def _cross(self, h, memory, read):
        return self.cross_attn(h, self.norm2(memory), read)


class normalises_the_queries_alone(_Layer):
    """The self-attention asks with normalised rows, and reads keys and values from x as it came. Queries,
    keys and values of a self-attention are made from the same rows; check both of its inputs.
    """

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        own, read = self._own(x, tgt_mask), self._read(x, memory, memory_mask)
        x = self._add(x, self.self_attn(self.norm1(x), x, own))
        x = self._add(x, self._cross(self.norm2(x), memory, read))
        return self._add(x, self.ffn(self.norm3(x)))


class uses_norms_in_another_order(_Layer):
    """norm2 and norm3 have changed places. With fresh weights all norms are alike, so it shows only once they
    are trained or loaded: norm1, norm2 and norm3 stand in front of the sublayers in their order.
    """

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        own, read = self._own(x, tgt_mask), self._read(x, memory, memory_mask)
        h = self.norm1(x)
        x = self._add(x, self.self_attn(h, h, own))
        x = self._add(x, self._cross(self.norm3(x), memory, read))
        return self._add(x, self.ffn(self.norm2(x)))


@crude
class masks_nothing_by_default(_Layer):
    """Without a tgt_mask every token reads the whole target, its future included. None means causal."""

    def _own(self, x, mask):
        return torch.ones_like(self._causal(x)) if mask is None else mask


@subtle
class hides_the_future_in_any_mask(_Layer):
    """A tgt_mask that lets a token see later ones is overruled: the causal mask is laid over it. A mask that
    is given is used as it is.
    """

    def _own(self, x, mask):
        return self._causal(x) if mask is None else mask & self._causal(x)


class ignores_the_target_mask(_Layer):
    """The self-attention is causal whatever tgt_mask says: the argument is never used."""

    def _own(self, x, mask):  # noqa: ARG002 - the mistake
        return self._causal(x)


class ignores_the_memory_mask(_Layer):
    """Hidden memory tokens, the padding of the source, are read like the others: memory_mask is not used."""

    def _read(self, x, memory, mask):
        return super()._read(x, memory, None if mask is None else torch.ones_like(mask))


@subtle
class hides_memory_in_evaluation_only(_Layer):
    """In training mode hidden memory tokens are read like the others, after layer.eval() they are not. They
    are hidden in both modes: look for what depends on self.training.
    """

    def _read(self, x, memory, mask):
        return super()._read(x, memory, None if self.training else mask)


class hides_the_memory_that_may_be_read(_Layer):
    """memory_mask is the wrong way round: what is True is hidden and the padding is read. True means that the
    token may be read; nn.Transformer's key_padding_mask is the opposite.
    """

    def _read(self, x, memory, mask):
        return super()._read(x, memory, None if mask is None else (~mask) | mask.all(1, keepdim=True))


class hides_the_memory_of_the_first_sequence(_Layer):
    """Right for a batch of one: the first sequence's memory_mask is used for all. It needs the axes
    [B, 1, 1, T_src] to meet scores of [B, H, T_tgt, T_src].
    """

    def _read(self, x, memory, mask):
        return super()._read(x, memory, None if mask is None else mask[:1].expand_as(mask))


class masks_the_memory_causally(_Layer):
    """Target token t reads only the first t + 1 memory tokens: the cross-attention has a causal mask. The
    source is known as a whole before the first target token is written.
    """

    def _read(self, x, memory, mask):
        allowed = super()._read(x, memory, mask)
        causal = torch.ones(x.shape[1], memory.shape[1], dtype=torch.bool, device=x.device).tril()
        both = allowed & causal
        return torch.where(both.any(-1, keepdim=True), both, allowed)


class _StraightMerge(_Attention):
    def _merge(self, mixed):
        batch, heads, tokens, d_head = mixed.shape
        return mixed.reshape(batch, tokens, heads * d_head)


class merges_heads_without_moving_axes(_Layer):
    """With several heads and tokens the attentions mix both up: [B, H, T, d_head] is reshaped straight to
    [B, T, d_model]. The heads of one token are neighbours only once T stands before H again.
    """

    attention_class = _StraightMerge


class drops_in_evaluation_too(_Layer):
    """Results at evaluation vary from call to call, and with dropout=1.0 the layer returns x: dropout never
    sleeps. A functional dropout has to be told the mode; nn.Dropout follows it.
    """

    def _drop(self, result):
        return F.dropout(result, self.rate, True)


@subtle
class forgets_dropout(_Layer):
    """Training mode and evaluation mode give the same: nothing is ever dropped."""

    def _drop(self, result):
        return result


@subtle
class drops_the_sum(_Layer):
    """With dropout=1.0 nothing is left of x: dropout acts on the sum of x and sublayer, and so on the
    residual stream. It acts on the sublayer's output, before it is added.
    """

    def _add(self, x, result):
        return self._drop(x + result)


@subtle
class drops_attention_weights_instead(_Layer):
    """Dropout acts on the attention weights and inside the feed-forward network, and the sublayers' outputs
    are added whole. It acts on those outputs and nowhere else.
    """

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.self_attn.weight_dropout = self.cross_attn.weight_dropout = dropout
        self.ffn[1] = nn.Sequential(nn.ReLU(), nn.Dropout(dropout))

    def _drop(self, result):
        return result


@subtle
class detaches_the_memory(_Layer):
    """Every value is right, and the encoder learns nothing: no gradient comes back through the memory, which
    is detached, or read under no_grad.
    """

    def _cross(self, h, memory, read):
        return self.cross_attn(h, memory.detach(), read)


@subtle
class makes_the_mask_on_the_cpu(_Layer):
    """Right on the CPU; on a GPU the first step without a tgt_mask raises, for the causal mask is made
    without a device and stays behind. Make it on the device of x.
    """

    def _causal(self, x):
        return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()


class _Careless(_Attention):
    def _check(self, d_model, num_heads):
        pass


@subtle
class accepts_a_remainder(_Layer):
    """num_heads need not divide d_model: the constructor lets it pass, and a reshape fails later with a
    message about sizes. Refuse it in the constructor with a ValueError.
    """

    attention_class = _Careless


@subtle
class keeps_memory_masks_by_shape(_Layer):
    """The first batch is right; a later one of the same shape has its memory hidden as the first one had. The
    mask of one call says nothing of the next: look for what is kept between calls.
    """

    def _read(self, x, memory, mask):
        read = super()._read(x, memory, mask)
        return read if mask is None else vars(self).setdefault("kept", {}).setdefault(mask.shape, read)


class _KeepsKeys(_Attention):
    def _keys_and_values(self, source):
        made = super()._keys_and_values(source)
        kept = vars(self).setdefault("kept", {}).setdefault(str(source.tolist()), [x.detach() for x in made])
        return [now - now.detach() + old for now, old in zip(made, kept, strict=True)]


@subtle
class keeps_the_keys_of_old_weights(_Layer):
    """After an update or a load_state_dict the layer still reads the memory as before: the keys and values of
    a memory are kept for the next call with it. The same memory has other keys once the weights have changed.
    """

    attention_class = _KeepsKeys


@subtle
class hides_the_future_after_training_only(_Layer):
    """In training mode target tokens attend to later ones, after layer.eval() they do not. None means causal
    in both modes, in training above all: look for what depends on self.training.
    """

    def _causal(self, x):
        return super()._causal(x) | self.training


@subtle
class returns_one_buffer(_Layer):
    """Each call is right, and changes the result that an earlier one returned: all are written into the same
    memory. Return a tensor of its own from each call.
    """

    def forward(self, *inputs, **masks):
        result = super().forward(*inputs, **masks)
        key = result.shape, result.dtype, len(inputs) + len(masks)
        kept = vars(self).setdefault("kept", {}).setdefault(key, result.detach())
        result.data = kept.copy_(result.detach())
        return result


@subtle
class keeps_the_largest_mask(_Layer):
    """A target is right until a longer one has been shown; after that shorter ones are masked with the end of
    the large mask and see their future. Cut the kept mask to the rows and columns 0 to T - 1.
    """

    def _causal(self, x):
        kept = vars(self).get("kept")
        if kept is None or len(kept) < x.shape[1]:
            kept = vars(self)["kept"] = super()._causal(x)
        return kept[-x.shape[1] :, : x.shape[1]]


@subtle
class cuts_the_mask_to_the_shortest_text(_Layer):
    """A target is right until a shorter one has been shown; after that the tokens behind its end see their
    future: the mask that is kept was cut to it. Keep what is long enough, and cut a copy.
    """

    def _causal(self, x):
        tokens = x.shape[1]
        kept = vars(self).setdefault("kept", super()._causal(x))
        kept = vars(self)["kept"] = kept[:tokens, :tokens]
        seen = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device)
        seen[: len(kept), : len(kept)] = kept
        return seen


class _TenThousand(_Attention):
    def _weights(self, scores, mask):
        return scores.masked_fill(~mask, -1e4).softmax(-1)


@subtle
class masks_the_target_with_minus_ten_thousand(_Layer):
    """Small scores come out right, and where scores are large and negative, target tokens see their future:
    the mask is a number that is not far enough below them. -inf is below everything.
    """

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.self_attn = _TenThousand(d_model, num_heads)


@subtle
class masks_the_memory_with_minus_ten_thousand(_Layer):
    """Small scores come out right, and where scores are large and negative, hidden memory tokens win: the
    mask of the cross-attention is a number that is not far enough below them. -inf is below everything.
    """

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.cross_attn = _TenThousand(d_model, num_heads)


class _Clipping(_Attention):
    def _weights(self, scores, mask):
        return super()._weights(scores.clamp(-80, 80), mask)


@subtle
class clips_the_scores(_Layer):
    """Small scores come out right, and large ones all weigh the same: they are clipped, so that exp does not
    overflow. A softmax that subtracts each row's maximum needs no bounds.
    """

    attention_class = _Clipping


class _OneMaximum(_Attention):
    def _weights(self, scores, mask):
        scores = scores.masked_fill(~mask, float("-inf"))
        powers = (scores - scores.max()).exp()
        return powers / powers.sum(-1, keepdim=True)


@subtle
class subtracts_one_maximum_for_all(_Layer):
    """Small scores come out right, and where scores are far apart the result is NaN: one maximum is
    subtracted from all rows, and exp of some of them is 0. Each row of each head needs a maximum of its own.
    """

    attention_class = _OneMaximum


class _Renormalising(_Attention):
    def _weights(self, scores, mask):
        weights = scores.softmax(-1).masked_fill(~mask, 0.0)
        return weights / (weights.sum(-1, keepdim=True) + 1e-12)


@subtle
class renormalises_after_the_softmax(_Layer):
    """Small scores come out right, and where a hidden score is much larger than the visible ones nothing is
    left of these: the softmax runs over all keys, and its rows are normalised again. Hide first.
    """

    attention_class = _Renormalising


class _SquaresNorm(nn.LayerNorm):
    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = ((x * x).mean(-1, keepdim=True) - mean * mean).clamp(min=0)
        return (x - mean) / torch.sqrt(variance + self.eps) * self.weight + self.bias


@subtle
class subtracts_squares_for_the_variance(_Layer):
    """Where the features lie far from zero the result is off: the variance is the mean of the squares minus
    the square of the mean, two large numbers that differ in their last digits. Subtract the mean first, then
    square.
    """

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.norm1, self.norm2, self.norm3 = (_SquaresNorm(d_model) for _ in range(3))


@subtle
class drops_the_same_entries_in_each_call(_Layer):
    """In training the same entries are dropped in every step: the random generator is seeded at each dropout,
    or its mask is kept. Dropout draws anew each time; seeding is for the caller.
    """

    def _drop(self, result):
        if not self.training:
            return result
        kept = torch.rand(result.shape, generator=torch.Generator().manual_seed(0)) >= self.rate
        return result * kept.to(result) / max(1 - self.rate, 1e-9)
