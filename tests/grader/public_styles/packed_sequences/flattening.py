"""As packing collators do: the lengths of runs, positions by cumulated sums, one row at a time."""

import numpy as np


def packed_mask(document_ids):
    same = document_ids[:, None, :, None] == document_ids[:, None, None, :]
    length = document_ids.shape[-1]
    causal = np.tril(np.ones((length, length), dtype=bool))
    real = document_ids >= 0
    return same & causal & real[:, None, :, None] & real[:, None, None, :]


def packed_positions(document_ids):
    positions = np.zeros(document_ids.shape, dtype=np.int64)
    for row, ids in enumerate(document_ids):
        starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
        lengths = np.diff(np.append(starts, len(ids)))
        positions[row] = np.concatenate([np.arange(length) for length in lengths])
    return positions


def packed_targets(ids, document_ids, ignore_index=-100):
    labels = np.full(ids.shape, ignore_index, dtype=np.int64)
    follows = (document_ids[:, 1:] == document_ids[:, :-1]) & (document_ids[:, 1:] >= 0)
    labels[:, :-1][follows] = ids[:, 1:][follows]
    return labels
