"""Krell et al. 2021; Dubey et al. 2024, section 3.2: a document sees, counts and predicts itself alone."""

import numpy as np


def packed_mask(document_ids):
    """Both ends in one document, neither of them padding, and the key not after the query."""
    queries, keys = document_ids[:, :, None], document_ids[:, None, :]  # [B, T, 1], [B, 1, T]
    causal = np.tri(document_ids.shape[1], dtype=bool)  # [T, T]
    mask = (queries == keys) & (queries >= 0) & causal  # [B, T, T]
    return mask[:, None]  # [B, 1, T, T]


def packed_positions(document_ids):
    """How far each token stands behind the last place where a document began."""
    places = np.arange(document_ids.shape[1])  # [T]
    begins = document_ids[:, 1:] != document_ids[:, :-1]  # [B, T-1]
    first_places = np.zeros(document_ids.shape, dtype=np.int64)  # [B, T]
    first_places[:, 1:] = np.maximum.accumulate(begins * places[1:], axis=1)
    return places - first_places  # [B, T]


def packed_targets(ids, document_ids, ignore_index=-100):
    """The next id where it belongs to the same document."""
    goes_on = (document_ids[:, 1:] == document_ids[:, :-1]) & (document_ids[:, 1:] >= 0)  # [B, T-1]
    targets = np.full(ids.shape, ignore_index, dtype=np.int64)  # [B, T]
    targets[:, :-1][goes_on] = ids[:, 1:][goes_on]
    return targets  # [B, T]
