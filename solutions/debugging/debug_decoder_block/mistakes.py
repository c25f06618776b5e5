"""What is still wrong, or newly wrong, in debug_decoder_block: one class a mistake."""

import math

import torch
from torch import nn

from grader.mistakes import crude, subtle


class _Attention(nn.Module):
    """The right attention; mistakes override a part of it."""

    bias = False

    def __init__(self, d_model, num_heads):
        super().__init__()
        self._check(d_model, num_heads)
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=self.bias)
        self.out = nn.Linear(d_model, d_model, bias=self.bias)

    def _check(self, d_model, num_heads):
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")

    def forward(self, x):
        q, k, v = self._split(self.qkv(x))
        weights = self._weights(q @ k.mT / self._divisor(q), self._later(x))
        return self.out(self._merge(weights @ v))

    def _weights(self, scores, later):
        return scores.masked_fill(later, float("-inf")).softmax(-1)

    def _split(self, qkv):
        return qkv.unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)

    def _divisor(self, q):
        return math.sqrt(q.shape[-1])

    def _later(self, x):
        return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)

    def _merge(self, mixed):
        return mixed.transpose(1, 2).flatten(2)


class _Block(nn.Module):
    """The right block; mistakes override a part of it."""

    attention_class = _Attention
    activation = nn.GELU
    eps = 1e-5

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model, eps=self.eps)
        self.attention = self.attention_class(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model, eps=self.eps)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), self.activation(), nn.Linear(d_ff, d_model))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.ffn(self.norm2(x))


@crude
class loses_the_stream_twice(_Block):
    """The result is that of the code as it came: nothing of x reaches it but by way of norms and sublayers.
    Two additions carry the stream past the sublayers; look at what stands on both sides of each.
    """

    def forward(self, x):
        x = self.norm1(x)
        return self.ffn(self.norm2(x + self.attention(x)))


class adds_to_the_normalised_input(_Block):
    """The first sum starts from the normalised copy: the input's size and mean are lost there, and the second
    sum carries on what is left. The attention reads norm1(x), and its result is added to x.
    """

    def forward(self, x):
        x = self.norm1(x)
        x = x + self.attention(x)
        return x + self.ffn(self.norm2(x))


class forgets_the_second_residual(_Block):
    """The first sum is right and the second is missing: the feed-forward network's result is returned alone,
    and the stream ends in its norm.
    """

    def forward(self, x):
        return self.ffn(self.norm2(x + self.attention(self.norm1(x))))


class adds_to_the_second_copy(_Block):
    """The first sum is right, and the second starts from norm2's copy: the size and mean of the stream are
    lost there. The feed-forward network reads the copy, and its result is added to the stream.
    """

    def forward(self, x):
        h = self.norm2(x + self.attention(self.norm1(x)))
        return h + self.ffn(h)


class adds_to_both_copies(_Block):
    """There are two sums now, and both start from a normalised copy: the stream passes norm1 and norm2 on its
    way. With both sublayers silent the block must return x.
    """

    def forward(self, x):
        h = self.norm1(x)
        h = self.norm2(h + self.attention(h))
        return h + self.ffn(h)


class adds_the_copy_as_well(_Block):
    """The normalised copy is in the sum beside x: three things are added where there should be two. The
    attention reads the copy, and nothing else does.
    """

    def forward(self, x):
        h = self.norm1(x)
        x = x + h + self.attention(h)
        return x + self.ffn(self.norm2(x))


class feeds_the_stream_itself(_Block):
    """The sums are right and the sublayers read the stream as it is: the norms are gone. They belong in front
    of the sublayers, inside the branches.
    """

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.ffn(x)


class forgets_the_first_residual(_Block):
    """The attention's result takes the place of x, where it should be added to it. A token then keeps of
    itself only what its own attention weight lets through.
    """

    def forward(self, x):
        x = self.attention(self.norm1(x))
        return x + self.ffn(self.norm2(x))


class adds_the_block_input_twice(_Block):
    """The second addition starts from the block's input again, so that what the attention gave is read by
    the feed-forward network and then lost. Each sum is the next one's left-hand side.
    """

    def forward(self, x):
        return x + self.ffn(self.norm2(x + self.attention(self.norm1(x))))


class runs_the_sublayers_in_parallel(_Block):
    """The feed-forward network reads the block's input and not the sum with the attention: both sublayers
    work side by side. Some models do so; here the second reads what the first has written.
    """

    def forward(self, x):
        return x + self.attention(self.norm1(x)) + self.ffn(self.norm2(x))


@subtle
class uses_one_norm_twice(_Block):
    """The second sublayer reads through norm1, and norm2 is never called. With fresh weights the two are
    alike, so it shows only once they are trained or loaded.
    """

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.ffn(self.norm1(x))


class normalises_after_the_sum(_Block):
    """The block is post-norm: each norm takes the sum of sublayer and input, so no path through the block is
    free of norms. Here the norm stands inside the branch, in front of the sublayer.
    """

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.ffn(x))


class normalises_what_a_sublayer_gives(_Block):
    """The norms come behind the sublayers, inside the branch: each sublayer reads the stream as it is, and
    its result is normalised before it is added. The norm belongs in front of the sublayer.
    """

    def forward(self, x):
        x = x + self.norm1(self.attention(x))
        return x + self.norm2(self.ffn(x))


@subtle
class adds_in_place(_Block):
    """The caller's x is changed: `x += ...` and `add_` write into the tensor that they are given, and raise
    where it is a leaf that needs a gradient. A sum has to be a new tensor.
    """

    def forward(self, x):
        x += self.attention(self.norm1(x))
        return x + self.ffn(self.norm2(x))


class _Unmasked(_Attention):
    def _later(self, x):
        return torch.zeros_like(super()._later(x))


@crude
class masks_nothing(_Block):
    """Tokens read later tokens: the attention has no causal mask. Change the last token and see which rows
    of the result move.
    """

    attention_class = _Unmasked


@subtle
class adds_the_stream_in_training_only(_Block):
    """In training all is right, and after `eval()` the second sum is missing: it depends on the mode. The
    stream passes in both.
    """

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x * self.training + self.ffn(self.norm2(x))


class _MaskedInTraining(_Attention):
    def _later(self, x):
        return super()._later(x) & self.training


@subtle
class hides_the_future_in_training_only(_Block):
    """In training all is right, and after `eval()` every token reads the whole sequence: the mask depends on
    the mode. The attention was right as it stood.
    """

    attention_class = _MaskedInTraining


class _FirstMask(_Attention):
    def _later(self, x):
        return vars(self).setdefault("first", super()._later(x))[: x.shape[1], : x.shape[1]]


@subtle
class keeps_the_first_mask(_Block):
    """The first sequence comes out right, and a longer one later raises: the attention keeps the mask of the
    first call. It was made in every call, as it should be.
    """

    attention_class = _FirstMask


class _Clipped(_Attention):
    def _weights(self, scores, later):
        return super()._weights(scores.clamp(-50, 50), later)


@subtle
class clips_the_scores(_Block):
    """Small scores come out right, and large ones all weigh the same: they are clipped, so that exp does not
    overflow. The softmax as it stood needs no bounds.
    """

    attention_class = _Clipped


class _Overflowing(_Attention):
    def _weights(self, scores, later):
        powers = scores.exp().masked_fill(later, 0.0)
        return powers / powers.sum(-1, keepdim=True)


@subtle
class overflows_on_large_scores(_Block):
    """The result is NaN where scores are large: exp overflows from 89 on in float32. The softmax as it stood
    subtracts each row's maximum first.
    """

    attention_class = _Overflowing


class _OneMaximum(_Attention):
    def _weights(self, scores, later):
        powers = (scores - scores.max()).masked_fill(later, float("-inf")).exp()
        return powers / powers.sum(-1, keepdim=True)


@subtle
class subtracts_one_maximum_for_all(_Block):
    """Small scores come out right, and where scores are far apart some rows are NaN or zero: one maximum is
    subtracted from all of them, and exp of the others is 0. Each row needs a maximum of its own.
    """

    attention_class = _OneMaximum


class _MaskedWithLittle(_Attention):
    def _weights(self, scores, later):
        return scores.masked_fill(later, -10_000).softmax(-1)


@subtle
class masks_with_minus_ten_thousand(_Block):
    """Scores of ordinary size are right; where those of a query lie below -10,000, it sees the future, whose
    scores are set to -10,000. The mask was right before.
    """

    attention_class = _MaskedWithLittle
