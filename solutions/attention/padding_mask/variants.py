"""Right answers in other styles."""

import numpy as np


class multiplies_masks:
    """einsum of zeros and ones, made boolean at the end; the mask of padding negated."""

    @staticmethod
    def padding_mask(ids: np.ndarray, pad_id: int) -> np.ndarray:
        return np.logical_not(np.equal(ids, pad_id))

    @staticmethod
    def decoder_self_mask(ids: np.ndarray, pad_id: int) -> np.ndarray:
        real = np.where(ids == pad_id, 0, 1)
        pairs = np.einsum("bi,bj->bij", real, real)
        return np.tril(pairs)[:, np.newaxis].astype(bool)

    @staticmethod
    def cross_mask(tgt_ids: np.ndarray, src_ids: np.ndarray, pad_id: int) -> np.ndarray:
        tgt, src = (np.where(ids == pad_id, 0.0, 1.0) for ids in (tgt_ids, src_ids))
        return (tgt[:, None, :, None] @ src[:, None, None, :]) > 0


class marks_what_is_hidden:
    """Another way: collect what must be hidden with `or`, and negate all of it at the end.

    Hidden pairs are collected by `or`, positions compared, everything negated at the end.
    """

    @staticmethod
    def padding_mask(ids: np.ndarray, pad_id: int) -> np.ndarray:
        return ~(ids == pad_id)

    @staticmethod
    def decoder_self_mask(ids: np.ndarray, pad_id: int) -> np.ndarray:
        padded, positions = ids == pad_id, np.arange(ids.shape[1])
        future = positions[None, :] > positions[:, None]
        return ~(padded[:, :, None] | padded[:, None, :] | future)[:, None]

    @staticmethod
    def cross_mask(tgt_ids: np.ndarray, src_ids: np.ndarray, pad_id: int) -> np.ndarray:
        return (
            ~np.logical_or.outer(tgt_ids == pad_id, src_ids == pad_id)
            .diagonal(0, 0, 2)
            .transpose(2, 0, 1)[:, None]
        )


class loops_over_positions:
    """Position by position, into arrays of False; NumPy's own integers compared."""

    @staticmethod
    def padding_mask(ids: np.ndarray, pad_id: int) -> np.ndarray:
        return np.array([[bool(one != pad_id) for one in row] for row in ids])

    @staticmethod
    def decoder_self_mask(ids: np.ndarray, pad_id: int) -> np.ndarray:
        batch, tokens = ids.shape
        mask = np.zeros((batch, 1, tokens, tokens), dtype=bool)
        for b, i in np.ndindex(batch, tokens):
            if ids[b, i] != pad_id:
                mask[b, 0, i, : i + 1] = ids[b, : i + 1] != pad_id
        return mask

    @staticmethod
    def cross_mask(tgt_ids: np.ndarray, src_ids: np.ndarray, pad_id: int) -> np.ndarray:
        mask = np.zeros((len(tgt_ids), 1, tgt_ids.shape[1], src_ids.shape[1]), dtype=bool)
        for b, i, j in np.ndindex(len(tgt_ids), tgt_ids.shape[1], src_ids.shape[1]):
            mask[b, 0, i, j] = tgt_ids[b, i] != pad_id and src_ids[b, j] != pad_id
        return mask


class stacks_sequences:
    """np.outer for each sequence, stacked."""

    @staticmethod
    def decoder_self_mask(ids: np.ndarray, pad_id: int) -> np.ndarray:
        tokens = ids.shape[-1]
        causal = ~np.triu(np.ones((tokens, tokens), dtype=bool), k=1)
        return np.stack([np.outer(row, row) & causal for row in ids != pad_id])[:, None]

    @staticmethod
    def cross_mask(tgt_ids: np.ndarray, src_ids: np.ndarray, pad_id: int) -> np.ndarray:
        pairs = zip(tgt_ids != pad_id, src_ids != pad_id, strict=True)
        return np.expand_dims(np.stack([np.logical_and.outer(tgt, src) for tgt, src in pairs]), axis=1)
