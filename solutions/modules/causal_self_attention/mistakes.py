"""What goes wrong in causal_self_attention: one class a mistake, its docstring what the student is told."""

import math

import torch
from torch import nn

from grader.mistakes import crude, subtle


class _Attention(nn.Module):
    """The right module; mistakes override a part of it."""

    biases = (False, False)

    def __init__(self, d_model, num_heads):
        super().__init__()
        self._check(d_model, num_heads)
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=self.biases[0])
        self.out = nn.Linear(d_model, d_model, bias=self.biases[1])

    def _check(self, d_model, num_heads):
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")

    def forward(self, x):
        q, k, v = self._split(self.qkv(x))
        weights = self._weights(self._scores(q, k), self._later(x))
        return self._results(self.out(self._merge(weights @ v)), weights)

    def _split(self, qkv):
        batch, tokens, width = qkv.shape
        parts = qkv.view(batch, tokens, 3, self.num_heads, width // 3 // self.num_heads)
        return parts.permute(2, 0, 3, 1, 4)

    def _scores(self, q, k):
        return q @ k.mT / math.sqrt(q.shape[-1])

    def _later(self, x):
        return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)

    def _weights(self, scores, later):
        return scores.masked_fill(later, float("-inf")).softmax(-1)

    def _merge(self, mixed):
        return mixed.transpose(1, 2).flatten(2)

    def _results(self, output, weights):
        return output, weights


class forgets_to_scale(_Attention):
    """The weights are too sharp, the more so the wider a head: the scores are not divided. Their variance
    grows with d_head, which is why the formula divides by its root.
    """

    def _scores(self, q, k):
        return q @ k.mT


class scales_by_the_full_width(_Attention):
    """With one head all is right, with several the weights are too flat: the scores are divided by
    sqrt(d_model). Each head's dot product has d_head terms.
    """

    def _scores(self, q, k):
        return q @ k.mT / math.sqrt(q.shape[-1] * self.num_heads)


@crude
class masks_nothing(_Attention):
    """Every token reads the whole sequence, later tokens included. In training the answer stands in the
    input; when text is generated there is no future to read. Look at the weights above the diagonal.
    """

    def _weights(self, scores, later):  # noqa: ARG002 - the mistake
        return scores.softmax(-1)


class hides_the_token_itself(_Attention):
    """The first row is NaN, or spread over all tokens, and no token reads itself: the diagonal is hidden
    too. A query may attend to its own position; which diagonal does the triangle begin with?
    """

    def _later(self, x):
        return torch.ones_like(super()._later(x)).triu(0)


class leaks_one_token_ahead(_Attention):
    """Each token reads its successor, the very token it is to predict: the triangle of hidden keys begins
    one diagonal too high. Print the mask for T = 3.
    """

    def _later(self, x):
        return super()._later(x).triu(2)


@crude
class reads_only_the_future(_Attention):
    """The mask is the wrong way round: keys up to the query are hidden and later ones are seen, so the last
    token has nothing to read but itself. With a boolean mask, check which of its values hides a key.
    """

    def _later(self, x):
        return super()._later(x).mT


class masks_after_the_softmax(_Attention):
    """Rows of the weights sum to less than one, all but the last: hidden keys are set to zero after the
    softmax, and have taken their share of it before. The mask belongs on the scores.
    """

    def _weights(self, scores, later):
        return scores.softmax(-1).masked_fill(later, 0.0)


@subtle
class masks_with_minus_ten_thousand(_Attention):
    """Small scores come out right, and where scores are large and negative, hidden keys win: the mask is a
    number that is not far enough below them. -inf is below everything.
    """

    def _weights(self, scores, later):
        return scores.masked_fill(later, -1e4).softmax(-1)


@subtle
class overflows_on_large_scores(_Attention):
    """The weights hold NaN where scores are large: exp overflows from 89 on in float32. A softmax that
    subtracts each row's maximum first has the same value and no overflow.
    """

    def _weights(self, scores, later):
        powers = scores.exp().masked_fill(later, 0.0)
        return powers / powers.sum(-1, keepdim=True)


class swaps_queries_and_keys(_Attention):
    """The scores are transposed: what `qkv` gives first is taken for the keys. The order of the blocks is
    queries, keys, values.
    """

    def _split(self, qkv):
        k, q, v = super()._split(qkv)
        return q, k, v


class cuts_each_head_into_q_k_and_v(_Attention):
    """Right with one head only: the columns of `qkv` are read head by head, each with its own q, k and v.
    The statement's order is all queries, then all keys, then all values; see which of the two axes, 3 or H,
    comes first in the view.
    """

    def _split(self, qkv):
        batch, tokens, width = qkv.shape
        parts = qkv.view(batch, tokens, self.num_heads, 3, width // 3 // self.num_heads)
        return parts.permute(3, 0, 2, 1, 4)


class deals_columns_out_in_turn(_Attention):
    """Head h owns columns h, h + H, h + 2H and so on, and not a block of neighbours: the view has the heads
    as its last axis. Right with one head, and with d_head 1.
    """

    def _split(self, qkv):
        batch, tokens, width = qkv.shape
        parts = qkv.view(batch, tokens, 3, width // 3 // self.num_heads, self.num_heads)
        return parts.permute(2, 0, 4, 1, 3)

    def _merge(self, mixed):
        return mixed.permute(0, 2, 3, 1).flatten(2)


class splits_heads_without_moving_axes(_Attention):
    """The shapes are right and a head holds parts of several tokens: q, k and v are reshaped straight to
    [B, H, T, d_head]. A reshape cuts the last axis in two; bringing the heads before the tokens is a
    step of its own.
    """

    def _split(self, qkv):
        q, k, v = qkv.chunk(3, dim=-1)
        batch, tokens, d_model = q.shape
        shape = (batch, self.num_heads, tokens, d_model // self.num_heads)
        return q.reshape(shape), k.reshape(shape), v.reshape(shape)


class merges_heads_without_moving_axes(_Attention):
    """The weights are right, the output mixes tokens: [B, H, T, d_head] is reshaped straight to
    [B, T, d_model]. The heads of one token are neighbours only once T stands before H again.
    """

    def _merge(self, mixed):
        batch, heads, tokens, d_head = mixed.shape
        return mixed.reshape(batch, tokens, heads * d_head)


class reads_the_first_sequence_only(_Attention):
    """Right for a batch of one. In a larger batch every sequence attends to the keys and values of the first
    one: look for an index or a squeeze on the batch axis.
    """

    def _split(self, qkv):
        q, k, v = super()._split(qkv)
        return q, k[:1], v[:1].expand_as(v)


class returns_the_output_alone(_Attention):
    """forward returns one tensor where two are expected: the output and the attention weights."""

    def _results(self, output, weights):  # noqa: ARG002 - the mistake
        return output


class averages_the_weights(_Attention):
    """The weights have lost the axis of the heads: their mean over the heads is returned. Due are those of
    every head, [B, H, T, T].
    """

    def _results(self, output, weights):
        return output, weights.mean(dim=1)


@subtle
class detaches_the_scores(_Attention):
    """Every value is right, and queries and keys are never trained: the gradient ends at the scores, which
    are detached, made anew, or computed under no_grad. Follow the path from the weights back to `qkv`.
    """

    def _scores(self, q, k):
        return super()._scores(q, k).detach()


class gives_qkv_a_bias(_Attention):
    """`qkv` has a bias that the statement does not name, so weights that are loaded by name leave it as it
    was drawn. A linear layer has one unless it is told not to.
    """

    biases = (True, False)


@subtle
class accepts_a_remainder(_Attention):
    """num_heads need not divide d_model: the constructor lets it pass, and a reshape fails later, with a
    message about sizes, or drops columns. Refuse it in the constructor with a ValueError.
    """

    def _check(self, d_model, num_heads):
        pass


@subtle
class makes_the_mask_on_the_cpu(_Attention):
    """Right on the CPU; on a GPU the step raises, for the mask is made without a device and stays behind.
    Make it on the device of x, or register it as a buffer.
    """

    def _later(self, x):
        return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)


@subtle
class keeps_the_first_mask(_Attention):
    """The first sequence comes out right, and a longer one later sees too much: the mask of the first call is
    kept and used for every length. Make it for the sequence at hand, or cut it from one that is long enough.
    """

    def _later(self, x):
        tokens = x.shape[1]
        kept = vars(self).setdefault("first", super()._later(x))[:tokens, :tokens]
        later = torch.zeros(tokens, tokens, dtype=torch.bool, device=x.device)
        later[: len(kept), : len(kept)] = kept
        return later


@subtle
class scales_the_input_in_place(_Attention):
    """The first call changes its argument: x is divided, or multiplied, in place, and a residual outside
    then adds something else. An in-place method ends in an underscore; `/=` and `*=` are in place as well.
    """

    def forward(self, x):
        with torch.no_grad():
            x.mul_(0.5)
        return super().forward(x * 2)


@subtle
class clips_the_scores(_Attention):
    """Small scores come out right, and large ones all weigh the same: they are clipped, so that exp does not
    overflow. A softmax that subtracts each row's maximum needs no bounds.
    """

    def _scores(self, q, k):
        return super()._scores(q, k).clamp(-50, 50)


@subtle
class subtracts_one_maximum_for_all(_Attention):
    """Small scores come out right, and where scores are far apart some rows are NaN or zero: one maximum is
    subtracted from all of them, and exp of the others is 0. Each row needs a maximum of its own.
    """

    def _weights(self, scores, later):
        powers = (scores - scores.max()).masked_fill(later, float("-inf")).exp()
        return powers / powers.sum(-1, keepdim=True)


@subtle
class hides_the_future_in_training_only(_Attention):
    """In training all is right, and after module.eval() every token reads the whole sequence: the mask
    depends on the mode. A text that is generated has no future, but a prompt has; the mask is expected in
    both.
    """

    def _later(self, x):
        return super()._later(x) & self.training


@subtle
class keeps_the_largest_mask(_Attention):
    """A sequence is right until a longer one has been shown; after that shorter ones are masked with the end
    of the large mask and see their future. Cut the kept mask to the rows and columns 0 to T - 1.
    """

    def _later(self, x):
        kept = vars(self).get("kept")
        if kept is None or len(kept) < x.shape[1]:
            kept = vars(self)["kept"] = super()._later(x)
        return kept[-x.shape[1] :, : x.shape[1]]


@subtle
class keeps_the_results_of_old_weights(_Attention):
    """After an update or a load_state_dict the module still answers as before: q, k and v of an input are
    kept. The same input gives others once the weights have changed.
    """

    def _split(self, qkv):
        made = super()._split(qkv)
        kept = vars(self).setdefault("kept", {}).setdefault(self.key, made.detach())
        return made - made.detach() + kept

    def forward(self, x):
        self.key = str(x.tolist())
        return super().forward(x)


@subtle
class returns_one_buffer(_Attention):
    """Each call is right, and changes the output that an earlier one returned: all are written into the same
    memory. Return a tensor of its own from each call.
    """

    def _results(self, output, weights):
        kept = vars(self).setdefault("kept", {}).setdefault((output.shape, output.dtype), output.detach())
        output.data = kept.copy_(output.detach())
        return output, weights


@subtle
class lets_later_keys_set_the_maximum(_Attention):
    """A later key with a large score leaves nothing for the visible ones: it takes part in the maximum, and
    beside that their exponentials are 0. Mask the scores before the maximum is taken.
    """

    def _weights(self, scores, later):
        powers = (scores - scores.amax(-1, keepdim=True)).exp().masked_fill(later, 0.0)
        return powers / powers.sum(-1, keepdim=True)


@subtle
class subtracts_the_mean(_Attention):
    """NaN where one score is far above the rest of its row: the mean is subtracted, and exp of what is left
    overflows all the same. Only the maximum leaves nothing above 0.
    """

    def _weights(self, scores, later):
        powers = (scores - scores.mean(-1, keepdim=True)).exp().masked_fill(later, 0.0)
        return powers / powers.sum(-1, keepdim=True)
