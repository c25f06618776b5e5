"""What goes wrong in mini_gpt, and what its student is told."""

import math

import torch
from torch import nn

from grader.mistakes import crude, subtle


class _Attention(nn.Module):
    def __init__(self, d_model, **biases):
        super().__init__()
        self.qkv = nn.Linear(d_model, 3 * d_model, **biases)
        self.out_proj = nn.Linear(d_model, d_model)


class _Block(nn.Module):
    def __init__(self, d_model, d_ff, **biases):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn = _Attention(d_model, **biases)
        self.mlp = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))


class _Embedding(nn.Module):
    def __init__(self, vocab_size, d_model, max_len):
        super().__init__()
        self.token_embed = nn.Embedding(vocab_size, d_model)
        self.pos_embed = nn.Embedding(max_len, d_model)


class _GPT(nn.Module):
    """The right model in small steps; a mistake overrides one."""

    biases = {}  # noqa: RUF012 - never written

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__()
        self.require_heads(d_model, num_heads)
        self.num_heads = num_heads
        self.embed = _Embedding(vocab_size, d_model, max_len)
        self.blocks = nn.ModuleList(_Block(d_model, d_ff, **self.biases) for _ in range(num_layers))
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size)

    def require_heads(self, d_model, num_heads):
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {d_model}")

    def require_length(self, tokens, max_len):
        if tokens > max_len:
            raise ValueError(f"{tokens} tokens, max_len {max_len}")

    def forward(self, ids):
        self.require_length(ids.shape[1], self.embed.pos_embed.num_embeddings)
        x = self.enter(ids)
        for block in self.blocks:
            x = self.through(block, x)
        return self.leave(x)

    def enter(self, ids):
        return self.embed.token_embed(ids) + self.embed.pos_embed(self.positions(ids))

    def positions(self, ids):
        return torch.arange(ids.shape[1], device=ids.device)

    def through(self, block, x):
        x = x + self.attend(block.attn, block.ln1(x))
        return x + self.feed(block.mlp, block.ln2(x))

    def feed(self, mlp, x):
        return mlp(x)

    def leave(self, x):
        return self.head(self.ln_f(x))

    def attend(self, attn, x):
        q, k, v = self.parts(attn.qkv(x))
        scores = q @ k.transpose(-2, -1) / self.divisor(q)
        return attn.out_proj(self.merge(self.weigh(scores, self.visible(scores)) @ v))

    def weigh(self, scores, visible):
        return scores.masked_fill(~visible, float("-inf")).softmax(dim=-1)

    def parts(self, qkv):
        return [self.split(part) for part in qkv.chunk(3, dim=-1)]

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, x.shape[-1] // self.num_heads)).transpose(1, 2)

    def divisor(self, q):
        return math.sqrt(q.shape[-1])

    def visible(self, scores):
        return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()

    def merge(self, heads):
        return heads.transpose(1, 2).flatten(2)


@crude
class lets_tokens_see_the_future(_GPT):
    """Logits change when later tokens do: the attention has no causal mask. In training the loss falls far
    too fast, since the answer is in view.
    """

    def visible(self, scores):
        return torch.ones_like(scores, dtype=torch.bool)


class lets_tokens_see_the_next_one(_GPT):
    """Each token attends to the one after it, which is the one it has to predict: the mask begins one
    diagonal too late. Print the mask for three tokens; row 0 allows column 0 alone.
    """

    def visible(self, scores):
        return super().visible(scores).tril(0) | torch.ones_like(scores, dtype=torch.bool).tril(1)


class forgets_to_scale(_GPT):
    """The scores are larger than they should be, the attention too sure of itself: the division by
    sqrt(d_head) is missing.
    """

    def divisor(self, q):  # noqa: ARG002 - the mistake
        return 1.0


class groups_qkv_by_heads(_GPT):
    """With several heads, queries, keys and values of different heads are mixed up: the 3*d_model columns are
    read as one q, k and v for each head in turn. All queries come first, then all keys, then all values.
    """

    def parts(self, qkv):
        return self.split(qkv).chunk(3, dim=-1)


class interleaves_the_heads(_GPT):
    """With several heads, each takes every num_heads-th column: the last axis is split as [d_head, H]. Head h
    owns the h-th block of neighbouring columns, so it is [H, d_head].
    """

    def split(self, x):
        return x.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)

    def merge(self, heads):
        return heads.permute(0, 2, 3, 1).flatten(2)


class merges_heads_before_tokens(_GPT):
    """With several heads the rows of different tokens are mixed up: [B, H, T, d_head] is reshaped to
    [B, T, d_model] without bringing the head axis next to d_head first.
    """

    def merge(self, heads):
        return heads.reshape(heads.shape[0], heads.shape[2], -1)


class forgets_the_positions(_GPT):
    """The same token gets the same vector wherever it stands: pos_embed is never added. Its gradient is zero,
    too.
    """

    def enter(self, ids):
        return self.embed.token_embed(ids)


class scales_the_embedding(_GPT):
    """The token vectors are multiplied by sqrt(d_model) before the positions are added. The Transformer of
    2017 does that; GPT adds both as they are.
    """

    def enter(self, ids):
        tokens = self.embed.token_embed(ids)
        return tokens * math.sqrt(tokens.shape[-1]) + self.embed.pos_embed(self.positions(ids))


class forgets_the_final_norm(_GPT):
    """The head reads the stream as it leaves the last block; ln_f is there and never used (its gradient is
    zero). In a pre-norm stack nothing else normalises what the head reads.
    """

    def leave(self, x):
        return self.head(x)


class normalises_after_the_sublayers(_GPT):
    """The blocks are post-norm: the norm is applied to the sum, and the stream itself is normalised twice in
    each block. Here each sublayer reads a normalised copy, and the stream is only added to.
    """

    def through(self, block, x):
        x = block.ln1(x + self.attend(block.attn, x))
        return block.ln2(x + self.feed(block.mlp, x))


class adds_to_the_normalised_input(_GPT):
    """The residual starts from the normalised copy: the name of the stream was given to ln1(x) or ln2(x), so
    what is added to is no longer what came in. Keep the stream under a name of its own.
    """

    def through(self, block, x):
        x = block.ln1(x)
        x = block.ln2(x + self.attend(block.attn, x))
        return x + self.feed(block.mlp, x)


class forgets_the_residual_of_the_attention(_GPT):
    """The attention's output takes the place of the stream instead of being added to it: a token's own vector
    is gone after the first block.
    """

    def through(self, block, x):
        x = self.attend(block.attn, block.ln1(x))
        return x + self.feed(block.mlp, block.ln2(x))


class forgets_the_residual_of_the_mlp(_GPT):
    """The output of the mlp takes the place of the stream instead of being added to it. Both sublayers of a
    block are added.
    """

    def through(self, block, x):
        x = x + self.attend(block.attn, block.ln1(x))
        return self.feed(block.mlp, block.ln2(x))


class normalises_both_with_ln1(_GPT):
    """ln2 is never used: the mlp reads ln1(x). As long as the norms are as they were born that is the same,
    and after training it is not.
    """

    def through(self, block, x):
        x = x + self.attend(block.attn, block.ln1(x))
        return x + self.feed(block.mlp, block.ln1(x))


class uses_gelu(_GPT):
    """The mlp bends with GELU. GPT-2 does so; this model's statement names ReLU."""

    def feed(self, mlp, x):
        return mlp[2](nn.functional.gelu(mlp[0](x)))


class repeats_one_block(_GPT):
    """All blocks share the weights of one: the list holds one and the same module num_layers times, as
    `[block] * n` does. Make a new block for each layer.
    """

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__(vocab_size, d_model, num_heads, d_ff, 1, max_len)
        self.blocks = nn.ModuleList([self.blocks[0]] * num_layers)


class ties_the_head(_GPT):
    """The head's weight is the token embedding itself, so loading one changes the other. In this model they
    are two matrices.
    """

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__(vocab_size, d_model, num_heads, d_ff, num_layers, max_len)
        self.head.weight = self.embed.token_embed.weight


class leaves_out_the_biases_of_qkv(_GPT):
    """`blocks.0.attn.qkv.bias` does not exist: the layer was made with bias=False. In this model all linear
    layers have biases.
    """

    biases = {"bias": False}  # noqa: RUF012 - never written


class returns_probabilities(_GPT):
    """Every row sums to one: a softmax stands behind the head. The loss takes logits and does its own
    softmax.
    """

    def leave(self, x):
        return super().leave(x).softmax(dim=-1)


@subtle
class drops_out_in_training(_GPT):
    """In training mode the logits differ from those in evaluation mode: there is dropout, and this model has
    none.
    """

    def feed(self, mlp, x):
        return nn.functional.dropout(mlp(x), p=1.0, training=self.training)


@subtle
class fails_late_for_a_long_text(_GPT):
    """A text longer than max_len ends in an IndexError from deep inside the embedding. Compare T with max_len
    first, and raise a ValueError that says both.
    """

    def require_length(self, tokens, max_len):
        pass


@subtle
class refuses_a_text_that_just_fits(_GPT):
    """A text of exactly max_len tokens is refused. Its last position is max_len - 1, and there is a vector
    for it.
    """

    def require_length(self, tokens, max_len):
        if tokens >= max_len:
            raise ValueError(f"{tokens} tokens, max_len {max_len}")


@subtle
class accepts_any_number_of_heads(_GPT):
    """A num_heads that does not divide d_model goes through the constructor, and fails later in a reshape, if
    at all. Check it where the model is made.
    """

    def require_heads(self, d_model, num_heads):
        pass


@subtle
class freezes_the_positions(_GPT):
    """The logits are right, and no gradient reaches pos_embed: its weight is detached or read inside no_grad,
    so positions are never learned.
    """

    def enter(self, ids):
        return self.embed.token_embed(ids) + self.embed.pos_embed(self.positions(ids)).detach()


@subtle
class makes_the_mask_on_the_cpu(_GPT):
    """On a GPU the call raises: the mask is made without a device, and so on the CPU. Take the device from
    the scores, or register the mask as a buffer.
    """

    def visible(self, scores):
        return torch.ones(scores.shape[-2:], dtype=torch.bool).tril()


@subtle
class keeps_the_largest_mask(_GPT):
    """A text is right until a longer one has been shown; after that shorter ones are masked with the end of
    the large mask and see their future. Cut the kept mask to the rows and columns 0 to T - 1.
    """

    def visible(self, scores):
        kept = vars(self).get("kept")
        if kept is None or len(kept) < scores.shape[-1]:
            kept = vars(self)["kept"] = super().visible(scores).to(scores.device)
        return kept[-scores.shape[-1] :, : scores.shape[-1]]


@subtle
class keeps_the_logits_of_old_weights(_GPT):
    """After an update or a load_state_dict the model still answers as before: what it answered to a text is
    kept. The same text has other logits once the weights have changed.
    """

    def forward(self, ids):
        logits = super().forward(ids)
        kept = vars(self).setdefault("kept_logits", {}).setdefault(str(ids.tolist()), logits.detach())
        return logits - logits.detach() + kept


@subtle
class returns_one_buffer(_GPT):
    """Each call is right, and changes the logits that an earlier one returned: all are written into the same
    memory. Return a tensor of its own from each call.
    """

    def forward(self, ids):
        logits = super().forward(ids)
        kept = vars(self).setdefault("buffers", {})
        buffer = kept.setdefault((logits.shape, logits.dtype, self.training), logits.detach())
        logits.data = buffer.copy_(logits.detach())
        return logits


@subtle
class hides_the_future_after_training_only(_GPT):
    """In training mode tokens see later ones, after model.eval() they do not. The mask is expected in both
    modes, in training above all: look for what depends on self.training.
    """

    def visible(self, scores):
        return super().visible(scores) | self.training


@subtle
class cuts_the_mask_to_the_shortest_text(_GPT):
    """A text is right until a shorter one has been shown; after that the tokens behind its end see their
    future: the mask that is kept was cut to it. Keep what is long enough, and cut a copy.
    """

    def visible(self, scores):
        tokens = scores.shape[-1]
        kept = vars(self).setdefault("kept", super().visible(scores))
        kept = vars(self)["kept"] = kept[:tokens, :tokens]
        visible = torch.ones(tokens, tokens, dtype=torch.bool, device=scores.device)
        visible[: len(kept), : len(kept)] = kept
        return visible


@subtle
class begins_the_positions_again(_GPT):
    """A text is right until a shorter one has been shown; after that its later tokens get the first positions
    once more: the positions that are kept are lengthened by a count from 0. Count on from their end.
    """

    def positions(self, ids):
        kept = vars(self).get("kept", torch.arange(0, device=ids.device))
        more = torch.arange(max(0, ids.shape[1] - len(kept)), device=ids.device)
        kept = vars(self)["kept"] = torch.cat([kept.to(ids.device), more])
        return kept[: ids.shape[1]]


@subtle
class checks_the_length_in_training_only(_GPT):
    """A text that is too long is refused in training; after model.eval() it ends in an IndexError far below.
    The check must not depend on the mode.
    """

    def require_length(self, tokens, max_len):
        if self.training:
            super().require_length(tokens, max_len)


@subtle
class masks_with_minus_ten_thousand(_GPT):
    """Small scores come out right, and where scores are large and negative, hidden keys win: the mask is a
    number that is not far enough below them. -inf is below everything.
    """

    def weigh(self, scores, visible):
        return scores.masked_fill(~visible, -1e4).softmax(dim=-1)


@subtle
class clips_the_scores(_GPT):
    """Small scores come out right, and large ones all weigh the same: they are clipped, so that exp does not
    overflow. A softmax that subtracts each row's maximum needs no bounds.
    """

    def weigh(self, scores, visible):
        return super().weigh(scores.clamp(-80, 80), visible)


@subtle
class subtracts_one_maximum_for_all(_GPT):
    """Small scores come out right, and where scores are far apart the logits are NaN: one maximum is
    subtracted from all rows, and exp of some of them is 0. Each row of each head needs a maximum of its own.
    """

    def weigh(self, scores, visible):
        scores = scores.masked_fill(~visible, float("-inf"))
        powers = (scores - scores.max()).exp()
        return powers / powers.sum(dim=-1, keepdim=True)


@subtle
class renormalises_after_the_softmax(_GPT):
    """Small scores come out right, and where a hidden score is much larger than the visible ones nothing is
    left of these: the softmax runs over all keys, and its rows are normalised again. Hide first.
    """

    def weigh(self, scores, visible):
        weights = scores.softmax(dim=-1).masked_fill(~visible, 0.0)
        return weights / (weights.sum(dim=-1, keepdim=True) + 1e-12)


class _SquaresNorm(nn.LayerNorm):
    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = ((x * x).mean(-1, keepdim=True) - mean * mean).clamp(min=0)
        return (x - mean) / torch.sqrt(variance + self.eps) * self.weight + self.bias


@subtle
class subtracts_squares_for_the_variance(_GPT):
    """Where the features lie far from zero the logits are off: the variance is the mean of the squares minus
    the square of the mean, two large numbers that differ in their last digits. Subtract the mean first, then
    square.
    """

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__(vocab_size, d_model, num_heads, d_ff, num_layers, max_len)
        self.ln_f = _SquaresNorm(d_model)
        for block in self.blocks:
            block.ln1, block.ln2 = _SquaresNorm(d_model), _SquaresNorm(d_model)
