"""What goes wrong in transformer, and what its student is told."""

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
    def __init__(self, d_model, d_ff, crosses):
        super().__init__()
        self.self_attn = _Attention(d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        if crosses:
            self.cross_attn, self.norm3 = _Attention(d_model), nn.LayerNorm(d_model)


class _Transformer(nn.Module):
    """The right model in small steps; a mistake overrides one."""

    def __init__(
        self,
        src_vocab,
        tgt_vocab,
        d_model,
        num_heads,
        d_ff,
        num_layers,
        max_len=512,
        dropout=0.1,
        pad_id=0,
    ):
        super().__init__()
        self.require_heads(d_model, num_heads)
        self.num_heads, self.rate, self.pad_id = num_heads, dropout, pad_id
        self.src_emb, self.tgt_emb = nn.Embedding(src_vocab, d_model), nn.Embedding(tgt_vocab, d_model)
        self.register_buffer("pe", _sinusoids(max_len, d_model), persistent=False)
        self.encoder = self.stack(num_layers, d_model, d_ff, False)
        self.decoder = self.stack(num_layers, d_model, d_ff, True)
        self.out_proj = nn.Linear(d_model, tgt_vocab)
        self.tie()

    def require_heads(self, d_model, num_heads):
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {d_model}")

    def stack(self, num_layers, *sizes):
        return nn.ModuleList(_Layer(*sizes) for _ in range(num_layers))

    def tie(self):
        pass

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)

    def encode(self, src):
        x = self.enter(self.src_emb, src)
        for layer in self.encoder:
            x = self.through_encoder(layer, x, self.encoder_mask(src))
        return x

    def decode(self, tgt, memory, src):
        x = self.enter(self.tgt_emb, tgt)
        for layer in self.decoder:
            x = self.through_decoder(layer, x, memory, self.decoder_mask(tgt), self.cross_mask(src))
        return self.out_proj(x)

    def real(self, ids):
        return (ids != self.pad_id)[:, None, None, :]

    def encoder_mask(self, src):
        return self.real(src)

    def cross_mask(self, src):
        return self.real(src)

    def causal(self, tgt):
        return torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool, device=tgt.device).tril()

    def decoder_mask(self, tgt):
        itself = torch.eye(tgt.shape[1], dtype=torch.bool, device=tgt.device)
        return (self.causal(tgt) & self.real(tgt)) | itself

    def enter(self, embedding, ids):
        return self.drop_first(self.vectors(embedding, ids) + self.positions(ids, embedding.weight.dtype))

    def vectors(self, embedding, ids):
        return embedding(ids) * math.sqrt(embedding.embedding_dim)

    def positions(self, ids, dtype):
        return self.pe[: ids.shape[1]].to(dtype)

    def drop(self, x):
        return F.dropout(x, self.rate, training=self.training)

    def drop_first(self, x):
        return self.drop(x)

    def add(self, norm, x, sublayer):
        """One sublayer: what it makes of x is added to x, and the sum normalised."""
        return norm(x + self.drop(sublayer(x)))

    def through_encoder(self, layer, x, visible):
        x = self.add(layer.norm1, x, lambda x: self.attend(layer.self_attn, x, x, visible))
        return self.add(layer.norm2, x, layer.ffn)

    def through_decoder(self, layer, x, memory, own, other):
        x = self.add(layer.norm1, x, lambda x: self.attend(layer.self_attn, x, x, own))
        x = self.add(layer.norm2, x, lambda x: self.attend(layer.cross_attn, x, memory, other))
        return self.add(layer.norm3, x, layer.ffn)

    def attend(self, attn, x_q, x_kv, visible):
        q, k, v = self.split(attn.q(x_q)), self.split(attn.k(x_kv)), self.split(attn.v(x_kv))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        return attn.o((self.mask(scores, visible) @ v).transpose(1, 2).flatten(2))

    def mask(self, scores, visible):
        return self.weigh(scores.masked_fill(~visible, float("-inf")))

    def weigh(self, scores):
        return scores.softmax(dim=-1)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, x.shape[-1] // self.num_heads)).transpose(1, 2)


def _sinusoids(max_len, d_model):
    column = torch.arange(d_model)
    steps = 10000 ** ((column - column % 2) / d_model).double()
    angle = torch.arange(max_len, dtype=torch.float64)[:, None] / steps
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())


class forgets_to_scale_the_embeddings(_Transformer):
    """The tokens are small beside the positions: the embeddings are not multiplied by sqrt(d_model)."""

    def vectors(self, embedding, ids):
        return embedding(ids)


class forgets_the_positions(_Transformer):
    """The encoder does not mind the order of the source: the sinusoidal table is never added."""

    def positions(self, ids, dtype):
        return super().positions(ids, dtype) * 0


class normalises_before_each_sublayer(_Transformer):
    """The layers are pre-norm: each sublayer reads a normalised copy, and the stream is never normalised. In
    the model of 2017 the norm is applied to the sum.
    """

    def add(self, norm, x, sublayer):
        return x + self.drop(sublayer(norm(x)))


class forgets_the_residuals(_Transformer):
    """A sublayer's output is normalised alone; what went in is not added to it. A token's own vector is lost
    in the first layer.
    """

    def add(self, norm, x, sublayer):
        return norm(self.drop(sublayer(x)))


@crude
class lets_the_decoder_see_the_future(_Transformer):
    """Target tokens attend to later ones: the decoder's mask hides padding alone. It must be causal too."""

    def causal(self, tgt):
        return super().causal(tgt) | True


class reads_padding_in_the_encoder(_Transformer):
    """Source tokens attend to padding in the encoder: only the cross-attention is masked. The memory of a
    short sentence then depends on how far it was padded.
    """

    def encoder_mask(self, src):
        return self.real(src) | True


class reads_padding_in_the_cross_attention(_Transformer):
    """The decoder attends to the memory of padded source tokens: only the encoder is masked. The
    cross-attention needs the source's padding mask too.
    """

    def cross_mask(self, src):
        return self.real(src) | True


@subtle
class reads_padding_in_the_decoder(_Transformer):
    """The decoder's mask is causal and nothing else. While padding stands at the end, no real token sees it;
    where it stands in front, or in the middle, it is read.
    """

    def decoder_mask(self, tgt):
        return self.causal(tgt)


@subtle
class expects_padding_at_the_end(_Transformer):
    """Padding is counted, and that many tokens at the end of the row are hidden. It may stand anywhere in a
    row: compare each id with pad_id.
    """

    def real(self, ids):
        length = (ids != self.pad_id).sum(dim=1)[:, None, None, None]
        return torch.arange(ids.shape[1], device=ids.device) < length


@subtle
class takes_zero_for_padding(_Transformer):
    """Token 0 is hidden whatever pad_id says: the argument is not looked at. With the default it is right."""

    def real(self, ids):
        return (ids != 0)[:, None, None, :]

    def encoder_mask(self, src):
        return self.real(src) | torch.eye(src.shape[1], dtype=torch.bool, device=src.device)

    def weigh(self, scores):
        return super().weigh(scores).nan_to_num()


class lets_nan_spread(_Transformer):
    """Wherever there is padding the logits are NaN: rows of padded queries may attend to nothing, their
    softmax is NaN, and 0 * NaN is NaN in every token that reads them. Mask keys alone, or fill such rows.
    """

    def encoder_mask(self, src):
        return self.real(src) & self.real(src).transpose(-2, -1)

    def decoder_mask(self, tgt):
        return self.causal(tgt) & self.real(tgt) & self.real(tgt).transpose(-2, -1)


class hides_whole_heads(_Transformer):
    """With a batch of one the masks are right, with more they raise or mask by head: [B, 1, T] meets scores
    [B, H, Tq, Tk], and its batch axis is taken for the heads. Count the axes that it needs.
    """

    def real(self, ids):
        return (ids != self.pad_id)[:, None, :]


class gives_each_layer_its_own_memory(_Transformer):
    """Decoder layer n reads what encoder layer n returned. In this model every decoder layer reads the output
    of the last encoder layer, as decode is given it.
    """

    def forward(self, src, tgt):
        x, memories = self.enter(self.src_emb, src), []
        for layer in self.encoder:
            x = self.through_encoder(layer, x, self.encoder_mask(src))
            memories.append(x)
        x = self.enter(self.tgt_emb, tgt)
        for layer, memory in zip(self.decoder, memories, strict=True):
            x = self.through_decoder(layer, x, memory, self.decoder_mask(tgt), self.cross_mask(src))
        return self.out_proj(x)


@subtle
class encodes_again_in_decode(_Transformer):
    """decode makes a memory of its own from src, and ignores the one that it is given. While a translation is
    written that is the encoder's whole work again at every token.
    """

    def decode(self, tgt, memory, src):  # noqa: ARG002 - the mistake
        return super().decode(tgt, self.encode(src), src)


@crude
class attends_to_itself_twice(_Transformer):
    """The source changes nothing: keys and values of the cross-attention come from the target. They come from
    the memory.
    """

    def through_decoder(self, layer, x, memory, own, other):  # noqa: ARG002 - the mistake
        x = self.add(layer.norm1, x, lambda x: self.attend(layer.self_attn, x, x, own))
        x = self.add(layer.norm2, x, lambda x: self.attend(layer.cross_attn, x, x, own))
        return self.add(layer.norm3, x, layer.ffn)


class repeats_one_layer(_Transformer):
    """All layers of a stack share the weights of one: the list holds one and the same module num_layers
    times. Make a new one for each place.
    """

    def stack(self, num_layers, *sizes):
        return nn.ModuleList([_Layer(*sizes)] * num_layers)


class ties_the_output(_Transformer):
    """out_proj's weight is the target embedding itself. The paper shares them; in this model src_emb, tgt_emb
    and out_proj are three separate matrices.
    """

    def tie(self):
        self.out_proj.weight = self.tgt_emb.weight


@subtle
class drops_no_embedding(_Transformer):
    """In training nothing is dropped from the sum of embedding and position: dropout stands on the sublayers'
    outputs alone. It belongs in front of both stacks too.
    """

    def drop_first(self, x):
        return x


@subtle
class drops_no_sublayer(_Transformer):
    """In training the sublayers' outputs are added whole: dropout stands on the embeddings alone. Each output
    is dropped from before it is added.
    """

    def drop(self, x):
        return x

    def drop_first(self, x):
        return super().drop(x)


@subtle
class drops_nothing_in_the_encoder(_Transformer):
    """Trained with dropout=1 the memory still knows its ids: the encoder's sublayers are added whole, while
    the decoder's are dropped. Encoder layers have the same two places for dropout; is it in both stacks?
    """

    def through_encoder(self, layer, x, visible):
        x = layer.norm1(x + self.attend(layer.self_attn, x, x, visible))
        return layer.norm2(x + layer.ffn(x))


@subtle
class drops_half_by_default(_Transformer):
    """Where the caller names no dropout, too much of the training signal is lost: half of all entries are
    dropped, and the statement's default is one in ten. Compare the constructor's defaults with it.
    """

    def __init__(self, *sizes, dropout=0.5, **options):
        super().__init__(*sizes, dropout=dropout, **options)


@subtle
class drops_from_the_sum(_Transformer):
    """Dropout is applied to x plus the sublayer's output, so that the stream itself is dropped. It belongs on
    the sublayer's output, before the sum.
    """

    def add(self, norm, x, sublayer):
        return norm(self.drop(x + sublayer(x)))


class drops_out_in_evaluation_too(_Transformer):
    """After model.eval() entries are still dropped: the functional dropout does not know the mode. Use the
    module, or pass on self.training.
    """

    def drop(self, x):
        return F.dropout(x, self.rate)


class drops_attention_weights(_Transformer):
    """Attention weights are dropped, even after model.eval(): dropout_p of a library's attention does not
    know the mode, and the statement asks for no dropout there at all.
    """

    def weigh(self, scores):
        return F.dropout(super().weigh(scores), self.rate)


@subtle
class accepts_any_number_of_heads(_Transformer):
    """A num_heads that does not divide d_model goes through the constructor, and fails later in a reshape, if
    at all. Check it where the model is made.
    """

    def require_heads(self, d_model, num_heads):
        pass


@subtle
class detaches_the_memory(_Transformer):
    """The logits are right, and the encoder never learns: the memory is detached, or made inside no_grad, so
    that no gradient reaches the source's side.
    """

    def decode(self, tgt, memory, src):
        return super().decode(tgt, memory.detach(), src)


@subtle
class makes_the_mask_on_the_cpu(_Transformer):
    """On a GPU the call raises: the causal mask is made without a device, and so on the CPU. Take the device
    from the ids.
    """

    def causal(self, tgt):
        return torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).tril()


@subtle
class masks_with_the_source_read_last(_Transformer):
    """decode hides the padding of another source, the last one given to encode, and fails if encode was not
    called: encode stores the mask. Make it in decode, from the source that decode is given.
    """

    def encode(self, src):
        self.visible = self.real(src)
        return super().encode(src)

    def cross_mask(self, src):  # noqa: ARG002 - the mistake
        return self.visible


@subtle
class keeps_masks_by_shape(_Transformer):
    """The first batch is right; a later one of the same shape is masked as the first one was. Masks depend on
    the ids, not on their shape: look for what is kept between calls.
    """

    def encoder_mask(self, src):
        return vars(self).setdefault("kept", {}).setdefault(tuple(src.shape), super().encoder_mask(src))


@subtle
class keeps_the_memory_of_old_weights(_Transformer):
    """After an update or a load_state_dict the model still answers with an old memory: encode keeps what it
    made of a source. The same ids mean another memory once the weights have changed.
    """

    def encode(self, src):
        kept = vars(self).setdefault("kept", {})
        key = str(src.tolist())
        if torch.is_grad_enabled() and self.training:
            return super().encode(src)
        return kept.setdefault(key, super().encode(src))


@subtle
class hides_the_future_after_training_only(_Transformer):
    """In training mode target tokens attend to later ones, after model.eval() they do not. The mask is causal
    in both modes, in training above all: look for what depends on self.training.
    """

    def causal(self, tgt):
        return super().causal(tgt) | self.training


@subtle
class keeps_the_largest_mask(_Transformer):
    """A target is right until a longer one has been shown; after that shorter ones are masked with the end of
    the large mask and see their future. Cut the kept mask to the rows and columns 0 to T - 1.
    """

    def causal(self, tgt):
        kept = vars(self).get("kept")
        if kept is None or len(kept) < tgt.shape[1]:
            kept = vars(self)["kept"] = super().causal(tgt)
        return kept[-tgt.shape[1] :, : tgt.shape[1]]


@subtle
class begins_the_positions_again(_Transformer):
    """A target is right until a shorter one has been shown; after that its later tokens get the first
    positions once more: the table that is kept is lengthened by a count from 0. Count on from its end.
    """

    def positions(self, ids, dtype):
        tokens = ids.shape[1]
        kept = vars(self).get("kept", torch.arange(0, device=ids.device)).to(ids.device)
        more = torch.arange(max(0, tokens - len(kept)), device=ids.device)
        kept = vars(self)["kept"] = torch.cat([kept, more])
        return super().positions(ids, dtype)[kept[:tokens]]


@subtle
class keeps_positions_by_their_length(_Transformer):
    """Right until the model changes its dtype; then a length that was met before raises, since its positions
    are kept from the first call with the dtype and the device of that time. Cut the table in every call.
    """

    def positions(self, ids, dtype):
        kept = vars(self).setdefault("kept", {})
        return kept.setdefault(ids.shape[1], super().positions(ids, dtype))


@subtle
class keeps_the_table_of_an_earlier_model(_Transformer):
    """Right for one model; a second one of the same width raises where its texts are longer than max_len of
    the first: the table of positions is kept by its width. Its length depends on max_len.
    """

    tables = {}  # noqa: RUF012 - the mistake

    def __init__(self, *sizes, **more):
        super().__init__(*sizes, **more)
        self.pe = self.tables.setdefault(self.pe.shape[1], self.pe)


@subtle
class stops_the_positions_at_even_widths(_Transformer):
    """With an odd d_model the last column of the positions is zero: the table is filled in pairs of sine and
    cosine. An odd width ends on a sine without its cosine.
    """

    def positions(self, ids, dtype):
        table = super().positions(ids, dtype).clone()
        table[:, table.shape[1] // 2 * 2 :] = 0
        return table


@subtle
class clips_the_scores(_Transformer):
    """Small scores come out right, and large ones all weigh the same: they are clipped, so that exp does not
    overflow. A softmax that subtracts each row's maximum needs no bounds.
    """

    def mask(self, scores, visible):
        return super().mask(scores.clamp(-80, 80), visible)


@subtle
class masks_with_minus_ten_thousand(_Transformer):
    """Small scores come out right, and where scores are large and negative, hidden keys win: the mask is a
    number that is not far enough below them. -inf is below everything.
    """

    def mask(self, scores, visible):
        return self.weigh(scores.masked_fill(~visible, -1e4))


@subtle
class subtracts_one_maximum_for_all(_Transformer):
    """Small scores come out right, and where scores are far apart the logits are NaN: one maximum is
    subtracted from all rows, and exp of some of them is 0. Each row of each head needs a maximum of its own.
    """

    def mask(self, scores, visible):
        scores = scores.masked_fill(~visible, float("-inf"))
        powers = (scores - scores.max()).exp()
        return powers / powers.sum(dim=-1, keepdim=True)


@subtle
class renormalises_after_the_softmax(_Transformer):
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
class subtracts_squares_for_the_variance(_Transformer):
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
class keeps_the_mask_of_the_source(_Transformer):
    """decode hides the padding of another source, the last one given to encode: encode stores its mask, and
    decode makes a mask only if none is stored. Make the mask in decode, from the source that decode is given.
    """

    def encode(self, src):
        self.visible = self.real(src)
        return super().encode(src)

    def cross_mask(self, src):
        return vars(self).get("visible", super().cross_mask(src))


@subtle
class decodes_only_after_encode(_Transformer):
    """decode raises on a model whose encode has not run: what it needs is made there. A memory may come from
    elsewhere; make what is needed from decode's own arguments, or in the constructor.
    """

    def encode(self, src):
        self.width = src.shape[1]
        return super().encode(src)

    def cross_mask(self, src):
        return super().cross_mask(src)[..., : max(self.width, src.shape[1])]


@subtle
class drops_the_same_entries_in_each_call(_Transformer):
    """In training the same entries are dropped in every step: the random generator is seeded at each dropout,
    or its mask is kept. Dropout draws anew each time; seeding is for the caller.
    """

    def drop(self, x):
        if not self.training:
            return x
        kept = torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) >= self.rate
        return x * kept.to(x) / max(1 - self.rate, 1e-9)
