"""What goes wrong in transformer_decoder, and what its student is told."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from grader.mistakes import crude, subtle


class _Attention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))


class _Layer(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.self_attn, self.cross_attn = _Attention(d_model), _Attention(d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))


class _Decoder(nn.Module):
    """The right decoder in small steps; a mistake overrides one."""

    biased = False

    def __init__(
        self,
        num_layers,
        d_model,
        num_heads,
        d_ff,
        vocab_size,
        max_len=5000,
        dropout=0.1,
        tie_weights=True,
    ):
        super().__init__()
        self.require_heads(d_model, num_heads)
        self.num_heads, self.rate = num_heads, dropout
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.register_buffer("pe", self.table(max_len, d_model), persistent=False)
        self.layers = nn.ModuleList(self.make_layers(num_layers, d_model, d_ff))
        self.norm = nn.LayerNorm(d_model)
        self.out_proj = nn.Linear(d_model, vocab_size, bias=self.biased)
        self.tie(tie_weights)

    def require_heads(self, d_model, num_heads):
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {d_model}")

    def make_layers(self, num_layers, d_model, d_ff):
        return [_Layer(d_model, d_ff) for _ in range(num_layers)]

    def tie(self, wanted):
        if wanted:
            self.out_proj.weight = self.tok_emb.weight

    def table(self, max_len, d_model):
        column = torch.arange(d_model)
        steps = 10000 ** ((column - column % 2) / d_model).double()
        angle = torch.arange(max_len, dtype=torch.float64)[:, None] / steps
        return torch.where(column % 2 == 0, angle.sin(), angle.cos())

    def forward(self, ids, memory, tgt_mask=None, memory_mask=None):
        own = self.own_mask(ids.shape[1], tgt_mask, ids.device)
        other = None if memory_mask is None else self.other_mask(memory_mask)
        x = self.drop_first(self.enter(ids))
        for layer in self.layers:
            x = self.through(layer, x, memory, own, other)
        return self.leave(x)

    def causal(self, tokens, device):
        return torch.ones(tokens, tokens, dtype=torch.bool, device=device).tril()

    def own_mask(self, tokens, given, device):
        return self.causal(tokens, device) if given is None else given

    def other_mask(self, given):
        return given[:, None, None, :]

    def vectors(self, ids):
        return self.tok_emb(ids) * math.sqrt(self.tok_emb.embedding_dim)

    def positions(self, ids):
        return self.pe[: ids.shape[1]].to(self.tok_emb.weight.dtype)

    def enter(self, ids):
        return self.vectors(ids) + self.positions(ids)

    def drop(self, x):
        return F.dropout(x, self.rate, training=self.training)

    def drop_first(self, x):
        return self.drop(x)

    def leave(self, x):
        return self.out_proj(self.norm(x))

    def through(self, layer, x, memory, own, other):
        normed = layer.norm1(x)
        x = x + self.drop(self.attend(layer.self_attn, normed, normed, own))
        x = x + self.drop(self.attend(layer.cross_attn, layer.norm2(x), memory, other))
        return x + self.drop(layer.ffn(layer.norm3(x)))

    def attend(self, attn, x_q, x_kv, visible):
        q, k, v = self.split(attn.q(x_q)), self.split(attn.k(x_kv)), self.split(attn.v(x_kv))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if visible is None:
            visible = torch.ones_like(scores, dtype=torch.bool)
        return attn.o((self.mask(scores, visible) @ v).transpose(1, 2).flatten(2))

    def mask(self, scores, visible):
        return self.weigh(scores.masked_fill(~visible, float("-inf")))

    def weigh(self, scores):
        return scores.softmax(dim=-1)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, x.shape[-1] // self.num_heads)).transpose(1, 2)


class forgets_to_scale_the_embedding(_Decoder):
    """The tokens are small beside the positions: the embedding is not multiplied by sqrt(d_model). Since the
    matrix is shared with the output it is made small, and the factor makes up for that.
    """

    def vectors(self, ids):
        return self.tok_emb(ids)


class scales_the_positions_too(_Decoder):
    """The factor sqrt(d_model) is applied to the sum of embedding and position. It belongs to the embedding
    alone; the positions are added as they are.
    """

    def enter(self, ids):
        tokens = self.tok_emb(ids)
        return (tokens + self.positions(ids)) * math.sqrt(tokens.shape[-1])


class forgets_the_positions(_Decoder):
    """The decoder does not know where a token stands: the sinusoidal table is never added."""

    def enter(self, ids):
        return self.vectors(ids)


class puts_all_sines_first(_Decoder):
    """The positions have all sines in the left half of the columns and all cosines in the right. They
    alternate: sine in column 2i, cosine of the same angle in column 2i + 1.
    """

    def table(self, max_len, d_model):
        right = super().table(max_len, d_model)
        return torch.cat([right[:, 0::2], right[:, 1::2]], dim=1)


class counts_positions_from_one(_Decoder):
    """Every position is taken for the next one: the table begins at 1. The first token stands at position 0,
    whose row is [0, 1, 0, 1, …].
    """

    def table(self, max_len, d_model):
        return super().table(max_len + 1, d_model)[1:]


class forgets_the_final_norm(_Decoder):
    """out_proj reads the stream as it leaves the last layer; `norm` is made and never used. In a pre-norm
    stack nothing else normalises what out_proj reads.
    """

    def leave(self, x):
        return self.out_proj(x)


class repeats_one_layer(_Decoder):
    """All layers share the weights of one: the list holds one and the same module num_layers times. Make a
    new one for each place.
    """

    def make_layers(self, num_layers, d_model, d_ff):
        return [_Layer(d_model, d_ff)] * num_layers


class gives_every_layer_the_embedding(_Decoder):
    """Only the last layer counts: each one is given the embedded target instead of what the layer before it
    returned. Look at the name that the loop assigns to.
    """

    def forward(self, ids, memory, tgt_mask=None, memory_mask=None):
        own = self.own_mask(ids.shape[1], tgt_mask, ids.device)
        other = None if memory_mask is None else self.other_mask(memory_mask)
        x = self.drop_first(self.enter(ids))
        return self.leave(self.through(self.layers[-1], x, memory, own, other))


@subtle
class copies_the_embedding(_Decoder):
    """With tie_weights=True there are two Parameters with equal numbers: the values were copied, and part at
    the first update; half of the gradient is missing. Both names are to hold one and the same Parameter.
    """

    def tie(self, wanted):
        if wanted:
            self.out_proj.weight = nn.Parameter(self.tok_emb.weight.detach().clone())


@subtle
class always_ties(_Decoder):
    """With tie_weights=False there is still one Parameter under two names: the argument is not looked at."""

    def tie(self, wanted):  # noqa: ARG002 - the mistake
        super().tie(True)


class gives_the_output_a_bias(_Decoder):
    """There is a parameter `out_proj.bias`. The logits are products with the token vectors alone; make the
    layer without a bias.
    """

    biased = True


@crude
class sees_the_future(_Decoder):
    """Without a tgt_mask every target token attends to all others: None is taken for 'no mask'. It means
    causal.
    """

    def own_mask(self, tokens, given, device):  # noqa: ARG002 - the mistake
        return given


class ignores_the_target_mask(_Decoder):
    """The self-attention is causal whatever tgt_mask says: the argument is not passed on to the layers. A
    mask that is given is used as it is.
    """

    def own_mask(self, tokens, given, device):  # noqa: ARG002 - the mistake
        return self.causal(tokens, device)


@subtle
class adds_the_causal_mask_to_the_given_one(_Decoder):
    """A tgt_mask that lets tokens see later ones has no effect there: it is combined with the causal mask. A
    mask that is given is used as it is; only None means causal.
    """

    def own_mask(self, tokens, given, device):
        causal = self.causal(tokens, device)
        return causal if given is None else causal & given


class reads_masks_the_other_way_round(_Decoder):
    """Tokens attend to just those that the masks given hide: True is taken for 'hidden', as it is in some
    libraries. Here True means may attend.
    """

    def own_mask(self, tokens, given, device):
        return super().own_mask(tokens, None if given is None else ~given, device)

    def other_mask(self, given):
        return super().other_mask(~given)


class ignores_the_memory_mask(_Decoder):
    """Padding of the source changes the logits: memory_mask is not passed on to the cross-attention."""

    def other_mask(self, given):
        return torch.ones_like(given)[:, None, None, :]


@subtle
class hides_memory_in_evaluation_only(_Decoder):
    """In training the padding of the source is read like the other tokens, after model.eval() it is not. It
    is hidden in both modes: look for what depends on self.training.
    """

    def other_mask(self, given):
        return super().other_mask(given | self.training)


class hides_whole_heads(_Decoder):
    """With a batch of one the memory mask is right, with more it raises or masks by head: [B, 1, T_src] meets
    scores [B, H, T_tgt, T_src], and its batch axis is taken for the heads. Count the axes that it needs.
    """

    def other_mask(self, given):
        return given[:, None, :]


class normalises_the_memory(_Decoder):
    """The cross-attention reads norm2 of the memory. The memory is used as it is; norm2 is for queries."""

    def through(self, layer, x, memory, own, other):
        return super().through(layer, x, layer.norm2(memory), own, other)


class normalises_after_each_sublayer(_Decoder):
    """The layers are post-norm, as in the paper of 2017: the sum is normalised. Here each sublayer reads a
    normalised copy, and the stream is only added to.
    """

    def through(self, layer, x, memory, own, other):
        x = layer.norm1(x + self.drop(self.attend(layer.self_attn, x, x, own)))
        x = layer.norm2(x + self.drop(self.attend(layer.cross_attn, x, memory, other)))
        return layer.norm3(x + self.drop(layer.ffn(x)))


@subtle
class drops_no_embedding(_Decoder):
    """In training nothing is dropped from the sum of embedding and position: dropout stands on the sublayers'
    outputs alone. It belongs in front of the first layer too.
    """

    def drop_first(self, x):
        return x


@subtle
class drops_no_sublayer(_Decoder):
    """In training the sublayers' outputs are added whole: dropout stands on the embedding alone. Each of the
    three outputs of a layer is dropped from before it is added.
    """

    def drop(self, x):
        return x

    def drop_first(self, x):
        return super().drop(x)


@subtle
class drops_half_by_default(_Decoder):
    """Where the caller names no dropout, too much of the training signal is lost: half of all entries are
    dropped, and the statement's default is one in ten. Compare the constructor's defaults with it.
    """

    def __init__(self, *sizes, dropout=0.5, **options):
        super().__init__(*sizes, dropout=dropout, **options)


class drops_out_in_evaluation_too(_Decoder):
    """After model.eval() entries are still dropped: the functional dropout does not know the mode. Use the
    module, or pass on self.training.
    """

    def drop(self, x):
        return F.dropout(x, self.rate)


class drops_attention_weights(_Decoder):
    """Attention weights are dropped, even after model.eval(): dropout_p of a library's attention does not
    know the mode, and the statement asks for no dropout there at all.
    """

    def weigh(self, scores):
        return F.dropout(super().weigh(scores), self.rate)


@subtle
class accepts_any_number_of_heads(_Decoder):
    """A num_heads that does not divide d_model goes through the constructor, and fails later in a reshape, if
    at all. Check it where the model is made.
    """

    def require_heads(self, d_model, num_heads):
        pass


@subtle
class detaches_the_memory(_Decoder):
    """The logits are right, and no gradient reaches the memory: it is detached, and the encoder never
    learns.
    """

    def through(self, layer, x, memory, own, other):
        return super().through(layer, x, memory.detach(), own, other)


@subtle
class makes_the_mask_on_the_cpu(_Decoder):
    """On a GPU the call raises: the causal mask is made without a device, and so on the CPU. Take the device
    from the ids.
    """

    def causal(self, tokens, device):  # noqa: ARG002 - the mistake
        return torch.ones(tokens, tokens, dtype=torch.bool).tril()


@subtle
class keeps_memory_masks_by_shape(_Decoder):
    """The first batch is right; a later one of the same shape has its memory hidden as the first one had. The
    mask of one call says nothing of the next: look for what is kept between calls.
    """

    def other_mask(self, given):
        kept = vars(self).setdefault("kept", {})
        return kept.setdefault(given.shape, super().other_mask(given))


@subtle
class keeps_the_head_of_old_weights(_Decoder):
    """After an update or a load_state_dict the model still answers with its old head: in evaluation mode the
    matrix of `out_proj` was copied once and kept. A parameter changes, so it is read anew in each call.
    """

    def leave(self, x):
        if self.training:
            return super().leave(x)
        weight = self.out_proj.weight
        kept = vars(self).setdefault("kept_head", weight.detach().clone())
        return self.norm(x) @ (weight - weight.detach() + kept).mT


@subtle
class keeps_the_scaled_table_of_old_weights(_Decoder):
    """After an update or a load_state_dict the model still answers with its old vectors: in evaluation mode
    the embedding times sqrt(d_model) was computed once and kept. It changes with the weights.
    """

    def vectors(self, ids):
        vectors = super().vectors(ids)
        kept = vars(self).setdefault("kept", {}).setdefault(str(ids.tolist()), vectors.detach())
        return vectors if self.training else vectors - vectors.detach() + kept


@subtle
class hides_the_future_after_training_only(_Decoder):
    """In training mode target tokens attend to later ones, after model.eval() they do not. The mask is causal
    in both modes, in training above all: look for what depends on self.training.
    """

    def causal(self, tokens, device):
        return super().causal(tokens, device) | self.training


@subtle
class returns_one_buffer(_Decoder):
    """Each call is right, and changes the logits that an earlier one returned: all are written into the same
    memory. Return a tensor of its own from each call.
    """

    def forward(self, *inputs, **masks):
        logits = super().forward(*inputs, **masks)
        key = logits.shape, logits.dtype, len(inputs) + len(masks)
        kept = vars(self).setdefault("kept", {}).setdefault(key, logits.detach())
        logits.data = kept.copy_(logits.detach())
        return logits


@subtle
class keeps_the_largest_mask(_Decoder):
    """A target is right until a longer one has been shown; after that shorter ones are masked with the end of
    the large mask and see their future. Cut the kept mask to the rows and columns 0 to T - 1.
    """

    def causal(self, tokens, device):
        kept = vars(self).get("kept")
        if kept is None or len(kept) < tokens:
            kept = vars(self)["kept"] = super().causal(tokens, device)
        return kept[-tokens:, :tokens]


@subtle
class begins_the_positions_again(_Decoder):
    """A target is right until a shorter one has been shown; after that its later tokens get the first
    positions once more: the table that is kept is lengthened by a count from 0. Count on from its end.
    """

    def positions(self, ids):
        tokens = ids.shape[1]
        kept = vars(self).get("kept", torch.arange(0, device=ids.device)).to(ids.device)
        more = torch.arange(max(0, tokens - len(kept)), device=ids.device)
        kept = vars(self)["kept"] = torch.cat([kept, more])
        return super().positions(ids)[kept[:tokens]]


@subtle
class keeps_positions_by_their_length(_Decoder):
    """Right until the model changes its dtype; then a length that was met before raises, since its positions
    are kept from the first call with the dtype and the device of that time. Cut the table in every call.
    """

    def positions(self, ids):
        kept = vars(self).setdefault("kept", {})
        return kept.setdefault(ids.shape[1], super().positions(ids))


@subtle
class stops_the_positions_at_even_widths(_Decoder):
    """With an odd d_model the last column of the positions is zero: the table is filled in pairs of sine and
    cosine. An odd width ends on a sine without its cosine.
    """

    def positions(self, ids):
        table = super().positions(ids).clone()
        table[:, table.shape[1] // 2 * 2 :] = 0
        return table


@subtle
class clips_the_scores(_Decoder):
    """Small scores come out right, and large ones all weigh the same: they are clipped, so that exp does not
    overflow. A softmax that subtracts each row's maximum needs no bounds.
    """

    def mask(self, scores, visible):
        return super().mask(scores.clamp(-80, 80), visible)


@subtle
class masks_with_minus_ten_thousand(_Decoder):
    """Small scores come out right, and where scores are large and negative, hidden keys win: the mask is a
    number that is not far enough below them. -inf is below everything.
    """

    def mask(self, scores, visible):
        return self.weigh(scores.masked_fill(~visible, -1e4))


@subtle
class subtracts_one_maximum_for_all(_Decoder):
    """Small scores come out right, and where scores are far apart the logits are NaN: one maximum is
    subtracted from all rows, and exp of some of them is 0. Each row of each head needs a maximum of its own.
    """

    def mask(self, scores, visible):
        scores = scores.masked_fill(~visible, float("-inf"))
        powers = (scores - scores.max()).exp()
        return powers / powers.sum(dim=-1, keepdim=True)


@subtle
class renormalises_after_the_softmax(_Decoder):
    """Small scores come out right, and where a hidden score is much larger than the visible ones nothing is
    left of these: the softmax runs over all keys, and its rows are normalised again. Hide first.
    """

    def mask(self, scores, visible):
        weights = scores.softmax(dim=-1).masked_fill(~visible, 0.0)
        return weights / (weights.sum(dim=-1, keepdim=True) + 1e-12)


class _SquaresNorm(nn.LayerNorm):
    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = ((x * x).mean(-1, keepdim=True) - mean * mean).clamp(min=0)
        return (x - mean) / torch.sqrt(variance + self.eps) * self.weight + self.bias


@subtle
class subtracts_squares_for_the_variance(_Decoder):
    """Where the features lie far from zero the logits are off: the variance is the mean of the squares minus
    the square of the mean, two large numbers that differ in their last digits. Subtract the mean first, then
    square.
    """

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        for module in list(self.modules()):
            for name, norm in list(module.named_children()):
                if isinstance(norm, nn.LayerNorm):
                    setattr(module, name, _SquaresNorm(norm.normalized_shape))


@subtle
class drops_the_same_entries_in_each_call(_Decoder):
    """In training the same entries are dropped in every step: the random generator is seeded at each dropout,
    or its mask is kept. Dropout draws anew each time; seeding is for the caller.
    """

    def drop(self, x):
        if not self.training:
            return x
        kept = torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) >= self.rate
        return x * kept.to(x) / max(1 - self.rate, 1e-9)
