"""What goes wrong in token_position_embedding: one class a mistake, its docstring what is told."""

import math

import torch
from torch import nn

from grader.mistakes import crude, subtle


class _Embedding(nn.Module):
    """The right module; mistakes override a part of it."""

    def __init__(self, vocab_size, d_model, max_len):
        super().__init__()
        self.max_len = max_len
        self.token_embed = nn.Embedding(vocab_size, d_model)
        self.pos_embed = nn.Embedding(max_len, d_model)

    def forward(self, ids):
        self._check(ids)
        return self._joined(self.token_embed(ids), self.pos_embed(self._positions(ids)))

    def _check(self, ids):
        if ids.shape[1] > self.max_len:
            raise ValueError("too long")

    def _positions(self, ids):
        return torch.arange(ids.shape[1], device=ids.device)

    def _joined(self, tokens, positions):
        return tokens + positions


@crude
class forgets_the_positions(_Embedding):
    """The same id gives the same vector everywhere: the position's row is not added. Attention alone cannot
    tell in which order its tokens stand.
    """

    def _joined(self, tokens, positions):  # noqa: ARG002 - the mistake
        return tokens


@crude
class forgets_the_tokens(_Embedding):
    """The result does not depend on the ids: only the position's row is returned, once for every sequence."""

    def _joined(self, tokens, positions):
        return 0 * tokens + positions


@crude
class multiplies_the_two(_Embedding):
    """Token row and position row are multiplied, where they are to be added."""

    def _joined(self, tokens, positions):
        return tokens * positions


class scales_the_token_row(_Embedding):
    """Token rows come out larger by sqrt(d_model). The Transformer of 2017 scales its embeddings so; GPT, and
    this module, add the row as it is.
    """

    def _joined(self, tokens, positions):
        return tokens * math.sqrt(tokens.shape[-1]) + positions


class averages_the_two(_Embedding):
    """Every vector is half of what it must be: the mean of both rows is returned and not their sum."""

    def _joined(self, tokens, positions):
        return (tokens + positions) / 2


class counts_from_one(_Embedding):
    """Each position reads the row of the next one, and a sequence of full length raises: positions begin at
    0, and max_len - 1 is the last.
    """

    def _positions(self, ids):
        return super()._positions(ids) + 1


@crude
class counts_along_the_batch(_Embedding):
    """All tokens of a sequence get the same position row, that of the sequence's number in the batch: the
    range runs over the wrong axis. ids is [B, T], and positions count along T.
    """

    def _positions(self, ids):
        return torch.arange(ids.shape[0], device=ids.device)[:, None] % self.max_len


class counts_on_from_sequence_to_sequence(_Embedding):
    """Right for a batch of one. In a larger batch positions go on counting where the last sequence ended:
    they are numbered over all of B times T. Every sequence begins at position 0.
    """

    def _positions(self, ids):
        return torch.arange(ids.numel(), device=ids.device).view(ids.shape) % self.max_len


class counts_backwards(_Embedding):
    """The first token gets the last position's row: positions run from T - 1 down to 0. The next token to be
    generated would then move all others.
    """

    def _positions(self, ids):
        return super()._positions(ids).flip(0)


@crude
class gives_all_tokens_the_last_position(_Embedding):
    """Every token gets one and the same position row, that of the last token: the table is asked for one
    position, and broadcasting hands its row to all.
    """

    def _positions(self, ids):
        return super()._positions(ids)[-1:]


@crude
class looks_ids_up_as_positions(_Embedding):
    """The position table is asked for the ids: a token's vector depends on its id alone. Ask it for 0, 1, 2,
    and so on.
    """

    def _positions(self, ids):
        return ids % self.max_len


@subtle
class lets_the_table_complain(_Embedding):
    """A sequence that is too long raises an IndexError from inside the embedding, and on a GPU an assertion
    that takes the process with it. Compare T with max_len first and raise a ValueError.
    """

    def _check(self, ids):
        pass


@subtle
class reads_the_last_row_beyond_the_end(_Embedding):
    """A sequence that is too long passes: positions are cut off at max_len - 1. The statement asks for a
    ValueError.
    """

    def _check(self, ids):
        pass

    def _positions(self, ids):
        return super()._positions(ids).clamp(max=self.max_len - 1)


@subtle
class starts_again_beyond_the_end(_Embedding):
    """A sequence that is too long passes: positions begin again at 0 after max_len. The statement asks for a
    ValueError.
    """

    def _check(self, ids):
        pass

    def _positions(self, ids):
        return super()._positions(ids) % self.max_len


@subtle
class refuses_the_full_length(_Embedding):
    """A sequence of exactly max_len tokens is refused, and there is a row for each of them. Only a longer one
    is too long.
    """

    def _check(self, ids):
        if ids.shape[1] >= self.max_len:
            raise ValueError("too long")


@subtle
class refuses_in_training_only(_Embedding):
    """A sequence that is too long is refused in training mode, and after `eval()` the look-up raises an
    IndexError. It is when a model writes that a text grows too long: compare T with max_len in both modes.
    """

    def _check(self, ids):
        if self.training:
            super()._check(ids)


@subtle
class measures_the_batch(_Embedding):
    """The length that is compared with max_len is that of the batch: `len(ids)` and `ids.shape[0]` count
    sequences. Tokens lie along the second axis.
    """

    def _check(self, ids):
        if len(ids) > self.max_len:
            raise ValueError("too long")


class counts_all_ids_of_the_batch(_Embedding):
    """A batch is refused although each of its sequences fits: the ids of all sequences are counted. T is the
    length of the second axis.
    """

    def _check(self, ids):
        if ids.numel() > self.max_len:
            raise ValueError("too long")


@subtle
class makes_positions_on_the_cpu(_Embedding):
    """Right on the CPU; on a GPU the look-up raises, for the positions are made without a device and stay
    behind. Make them on the device of ids.
    """

    def _positions(self, ids):
        return torch.arange(ids.shape[1])


@subtle
class never_trains_id_zero(_Embedding):
    """Every value is right, and row 0 of the token table gets no gradient: the embedding has a padding_idx.
    No id is special here.
    """

    def __init__(self, vocab_size, d_model, max_len):
        super().__init__(vocab_size, d_model, max_len)
        self.token_embed = nn.Embedding(vocab_size, d_model, padding_idx=0)


@subtle
class freezes_the_positions(_Embedding):
    """Every value is right, and the position table is never trained: its rows are detached, or read by way
    of `.data`. Both tables are learnt.
    """

    def _joined(self, tokens, positions):
        return tokens + positions.detach()


@subtle
class divides_gradients_by_frequency(_Embedding):
    """Every value is right, and a frequent id is trained as slowly as a rare one: the embedding scales its
    gradients by frequency. Every occurrence counts in full.
    """

    def __init__(self, vocab_size, d_model, max_len):
        super().__init__(vocab_size, d_model, max_len)
        self.token_embed = nn.Embedding(vocab_size, d_model, scale_grad_by_freq=True)


class shortens_long_rows(_Embedding):
    """Rows longer than 1 come out shortened, and the table is changed by looking them up: the embedding has
    a max_norm. Rows are taken as they are.
    """

    def __init__(self, vocab_size, d_model, max_len):
        super().__init__(vocab_size, d_model, max_len)
        self.token_embed = nn.Embedding(vocab_size, d_model, max_norm=1.0)


class names_the_tables_otherwise(_Embedding):
    """The module works and weights cannot be loaded by name: the tables must be called `token_embed` and
    `pos_embed`.
    """

    def __init__(self, vocab_size, d_model, max_len):
        super().__init__(vocab_size, d_model, max_len)
        self.wte = self.token_embed
        del self.token_embed

    def forward(self, ids):
        return self.wte(ids) + self.pos_embed(self._positions(ids))


class makes_a_row_for_one_position_more(_Embedding):
    """The position table has max_len + 1 rows, so that weights of the right size do not fit: positions run
    from 0 to max_len - 1.
    """

    def __init__(self, vocab_size, d_model, max_len):
        super().__init__(vocab_size, d_model, max_len)
        self.pos_embed = nn.Embedding(max_len + 1, d_model)


@subtle
class adds_positions_in_training_only(_Embedding):
    """After `eval()` the same id gives the same vector everywhere: the position's row is added in training
    mode only. The model that writes needs its positions as the model that learns does.
    """

    def _joined(self, tokens, positions):
        return tokens + positions if self.training else tokens + 0


@subtle
class keeps_the_positions_of_the_first_call(_Embedding):
    """Right until a sequence comes that is longer than the first: the range of positions is made in the first
    call and kept. Make it anew for each length, or once for max_len.
    """

    def _positions(self, ids):
        self.positions = getattr(self, "positions", super()._positions(ids))
        return self.positions[: ids.shape[1]]


@subtle
class keeps_the_rows_of_old_tables(_Embedding):
    """After new weights were loaded, or after a step of training, sequences of a length that was seen before
    get the old position rows: they are kept by length. Read the table in every call.
    """

    def forward(self, ids):
        self._check(ids)
        rows = vars(self).setdefault("rows", {})
        kept = rows.setdefault((ids.shape[1], ids.device), self.pos_embed(self._positions(ids)))
        return self._joined(self.token_embed(ids), kept)


@subtle
class counts_on_from_a_shorter_call(_Embedding):
    """Right until a sequence follows a shorter one: it is taken for the rest of that text, and its positions
    begin where the last call ended. That belongs to a cache; without one each call begins at 0.
    """

    def _positions(self, ids):
        last, tokens = vars(self).get("last", ids.shape[1]), ids.shape[1]
        self.last = tokens
        return (super()._positions(ids) + last * (last < tokens)) % self.max_len
