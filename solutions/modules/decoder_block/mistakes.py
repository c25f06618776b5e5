"""What goes wrong in decoder_block: one class a mistake, its docstring what the student is told."""

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


class adds_to_the_normalised_input(_Block):
    """The residual starts from the normalised copy: the input's size and mean are lost at each addition.
    With both sublayers silent the block must return x; check what stands to the left of each plus.
    """

    def forward(self, x):
        x = self.norm1(x)
        x = x + self.attention(x)
        x = self.norm2(x)
        return x + self.ffn(x)


class forgets_the_first_residual(_Block):
    """The attention's result takes the place of x, where it should be added to it. A token then keeps of
    itself only what its own attention weight lets through.
    """

    def forward(self, x):
        x = self.attention(self.norm1(x))
        return x + self.ffn(self.norm2(x))


class forgets_the_second_residual(_Block):
    """The feed-forward network's result is returned alone: the stream ends there, and whatever the attention
    has added to it goes on only through the network.
    """

    def forward(self, x):
        return self.ffn(self.norm2(x + self.attention(self.norm1(x))))


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


class feeds_forward_first(_Block):
    """The sublayers have changed places: the feed-forward network comes first, and the attention second."""

    def forward(self, x):
        x = x + self.ffn(self.norm2(x))
        return x + self.attention(self.norm1(x))


class uses_one_norm_twice(_Block):
    """The second sublayer reads through norm1, and norm2 is never called. With fresh weights the two are
    alike, so it shows only once they are trained or loaded.
    """

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.ffn(self.norm1(x))


class feeds_forward_without_a_norm(_Block):
    """The feed-forward network reads the stream as it is: norm2 is declared and never called."""

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.ffn(x)


@subtle
class adds_in_place(_Block):
    """The caller's x is changed: `x += ...` and `add_` write into the tensor that they are given, and raise
    where it is a leaf that needs a gradient. A sum has to be a new tensor.
    """

    def forward(self, x):
        x += self.attention(self.norm1(x))
        return x + self.ffn(self.norm2(x))


class activates_with_relu(_Block):
    """The feed-forward network cuts negative values to zero: its activation is ReLU, where the statement
    names the exact GELU, which lets a little of them through.
    """

    activation = nn.ReLU


class _TanhGELU(nn.GELU):
    def __init__(self):
        super().__init__(approximate="tanh")


@subtle
class approximates_gelu(_Block):
    """Results differ in the fourth digit: GELU is computed by its tanh approximation. The exact one uses the
    normal distribution's own function, erf.
    """

    activation = _TanhGELU


@subtle
class uses_another_eps(_Block):
    """Results differ in the fifth digit or so: the norms have an eps of their own, where 1e-5 is expected.
    Rows of little spread show it best.
    """

    eps = 1e-6


class _DetachedNorm(nn.LayerNorm):
    def forward(self, x):
        mean, spread = x.mean(-1, keepdim=True), torch.sqrt(x.var(-1, keepdim=True, correction=0) + self.eps)
        return (x - mean.detach()) / spread.detach() * self.weight + self.bias


@subtle
class detaches_the_norms_statistics(_Block):
    """Every value is right and gradients are not: mean and variance of the norms are treated as constants.
    They depend on x, and so the gradient runs through them too.
    """

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__(d_model, num_heads, d_ff)
        self.norm1, self.norm2 = _DetachedNorm(d_model), _DetachedNorm(d_model)


@subtle
class detaches_the_stream(_Block):
    """Every value is right, and nothing before the feed-forward network is trained by it: the sum it reads
    is detached, or copied by way of `.data` or `torch.tensor`.
    """

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.ffn(self.norm2(x.detach()))


class _Unmasked(_Attention):
    def _later(self, x):
        return torch.zeros_like(super()._later(x))


@crude
class masks_nothing(_Block):
    """Tokens read later tokens: the attention has no causal mask. Change the last token and see which rows
    of the result move.
    """

    attention_class = _Unmasked


class _Leaking(_Attention):
    def _later(self, x):
        return super()._later(x).triu(2)


class leaks_one_token_ahead(_Block):
    """Each token reads its successor, the very token it is to predict: the triangle of hidden keys begins
    one diagonal too high. Print the mask for T = 3.
    """

    attention_class = _Leaking


class _OnTheCPU(_Attention):
    def _later(self, x):
        return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)


@subtle
class makes_the_mask_on_the_cpu(_Block):
    """Right on the CPU; on a GPU the first step raises, for the mask is made without a device and stays
    behind. Make it on the device of x, or register it as a buffer.
    """

    attention_class = _OnTheCPU


class _HeadFirst(_Attention):
    def _split(self, qkv):
        return qkv.unflatten(-1, (self.num_heads, 3, -1)).permute(3, 0, 2, 1, 4)


class cuts_each_head_into_q_k_and_v(_Block):
    """Right with one head only: the columns of `qkv` are read head by head, each with its own q, k and v.
    The order is all queries, then all keys, then all values.
    """

    attention_class = _HeadFirst


class _StraightMerge(_Attention):
    def _merge(self, mixed):
        batch, heads, tokens, d_head = mixed.shape
        return mixed.reshape(batch, tokens, heads * d_head)


class merges_heads_without_moving_axes(_Block):
    """With several heads and tokens the attention mixes both up: [B, H, T, d_head] is reshaped straight to
    [B, T, d_model]. The heads of one token are neighbours only once T stands before H again.
    """

    attention_class = _StraightMerge


class _Careless(_Attention):
    def _check(self, d_model, num_heads):
        pass


@subtle
class accepts_a_remainder(_Block):
    """num_heads need not divide d_model: the constructor lets it pass, and a reshape fails later with a
    message about sizes. Refuse it in the constructor with a ValueError.
    """

    attention_class = _Careless


class _Biased(_Attention):
    bias = True


class gives_the_attention_biases(_Block):
    """`attention.qkv` and `attention.out` have biases that the statement does not name. A linear layer has
    one unless it is told not to.
    """

    attention_class = _Biased


class _InTrainingOnly(_Attention):
    def _later(self, x):
        return super()._later(x) & self.training


@subtle
class hides_the_future_in_training_only(_Block):
    """In training all is right, and after block.eval() every token reads the whole sequence: the mask depends
    on the mode. A text that is generated has no future, but a prompt has; the mask is expected in both.
    """

    attention_class = _InTrainingOnly


class _LargestMask(_Attention):
    def _later(self, x):
        kept = vars(self).get("kept")
        if kept is None or len(kept) < x.shape[1]:
            kept = vars(self)["kept"] = super()._later(x)
        return kept[-x.shape[1] :, : x.shape[1]]


@subtle
class keeps_the_largest_mask(_Block):
    """A sequence is right until a longer one has been shown; after that shorter ones are masked with the end
    of the large mask and see their future. Cut the kept mask to the rows and columns 0 to T - 1.
    """

    attention_class = _LargestMask


class _ShortestMask(_Attention):
    def _later(self, x):
        tokens = x.shape[1]
        kept = vars(self).setdefault("kept", super()._later(x))
        kept = vars(self)["kept"] = kept[:tokens, :tokens]
        later = torch.zeros(tokens, tokens, dtype=torch.bool, device=x.device)
        later[: len(kept), : len(kept)] = kept
        return later


@subtle
class cuts_the_mask_to_the_shortest_text(_Block):
    """A sequence is right until a shorter one has been shown; after that the tokens behind its end see their
    future: the mask that is kept was cut to it. Keep what is long enough, and cut a copy.
    """

    attention_class = _ShortestMask


@subtle
class keeps_the_results_of_old_weights(_Block):
    """After an update or a load_state_dict the block still answers as before: what it made of an input is
    kept. The same input gives another result once the weights have changed.
    """

    def forward(self, x):
        made = super().forward(x)
        kept = vars(self).setdefault("kept", {}).setdefault((str(x.tolist()), x.dtype), made.detach())
        return made - made.detach() + kept


class _TenThousand(_Attention):
    def _weights(self, scores, later):
        return scores.masked_fill(later, -1e4).softmax(-1)


@subtle
class masks_with_minus_ten_thousand(_Block):
    """Small scores come out right, and where scores are large and negative, hidden keys win: the mask is a
    number that is not far enough below them. -inf is below everything.
    """

    attention_class = _TenThousand


class _Clipping(_Attention):
    def _weights(self, scores, later):
        return super()._weights(scores.clamp(-80, 80), later)


@subtle
class clips_the_scores(_Block):
    """Small scores come out right, and large ones all weigh the same: they are clipped, so that exp does not
    overflow. A softmax that subtracts each row's maximum needs no bounds.
    """

    attention_class = _Clipping


class _Overflowing(_Attention):
    def _weights(self, scores, later):
        powers = scores.exp().masked_fill(later, 0.0)
        return powers / powers.sum(-1, keepdim=True)


@subtle
class overflows_on_large_scores(_Block):
    """The result holds NaN where scores are large: exp overflows from 89 on in float32. A softmax that
    subtracts each row's maximum first has the same value and no overflow.
    """

    attention_class = _Overflowing


class _OneMaximum(_Attention):
    def _weights(self, scores, later):
        scores = scores.masked_fill(later, float("-inf"))
        powers = (scores - scores.max()).exp()
        return powers / powers.sum(-1, keepdim=True)


@subtle
class subtracts_one_maximum_for_all(_Block):
    """Small scores come out right, and where scores are far apart the result is NaN: one maximum is
    subtracted from all rows, and exp of some of them is 0. Each row of each head needs a maximum of its own.
    """

    attention_class = _OneMaximum


class _Renormalising(_Attention):
    def _weights(self, scores, later):
        weights = scores.softmax(-1).masked_fill(later, 0.0)
        return weights / (weights.sum(-1, keepdim=True) + 1e-9)


@subtle
class renormalises_after_the_softmax(_Block):
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
class subtracts_squares_for_the_variance(_Block):
    """Where the features lie around 2000, the sublayers read too much or too little: the variance is the mean
    of the squares minus the square of the mean, two large numbers that differ in their last digits. Subtract
    the mean first, then square.
    """

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__(d_model, num_heads, d_ff)
        self.norm1, self.norm2 = _SquaresNorm(d_model), _SquaresNorm(d_model)
