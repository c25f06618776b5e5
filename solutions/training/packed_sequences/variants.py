"""Right answers in other styles."""

import numpy as np


class counts_with_numbered_documents:
    """As in public packing code: documents are renumbered by a cumulative sum, a block for each of them."""

    @staticmethod
    def packed_mask(document_ids):
        batch, tokens = document_ids.shape
        mask = np.zeros((batch, 1, tokens, tokens), dtype=bool)
        for row in range(batch):
            for name in set(document_ids[row].tolist()):
                if name >= 0:
                    places = np.flatnonzero(document_ids[row] == name)
                    mask[row, 0, places[0] : places[-1] + 1, places[0] : places[-1] + 1] = np.tri(len(places))
        return mask

    @staticmethod
    def packed_positions(document_ids):
        batch, tokens = document_ids.shape
        positions = np.empty((batch, tokens), dtype=np.int64)
        for row, names in enumerate(document_ids):
            starts = np.flatnonzero(np.concatenate(([True], names[1:] != names[:-1])))
            lengths = np.diff(np.append(starts, tokens))
            positions[row] = np.concatenate([np.arange(length) for length in lengths])
        return positions

    @staticmethod
    def packed_targets(ids, document_ids, ignore_index=-100):
        labels = np.pad(ids[:, 1:].astype(np.int64), ((0, 0), (0, 1)), constant_values=ignore_index)
        names = document_ids.astype(np.int64)
        following = np.pad(names[:, 1:], ((0, 0), (0, 1)), constant_values=-1)
        labels[(names != following) | (names < 0)] = ignore_index
        return labels


class loops_over_tokens:
    """Token by token, in plain lists; padding has the position -1."""

    @staticmethod
    def packed_mask(document_ids):
        rows = document_ids.tolist()
        tokens = range(len(rows[0]))
        return np.array(
            [[[[k <= q and row[q] == row[k] >= 0 for k in tokens] for q in tokens]] for row in rows]
        )

    @staticmethod
    def packed_positions(document_ids):
        result = []
        for names in document_ids.tolist():
            positions = []
            for place, name in enumerate(names):
                goes_on = place > 0 and names[place - 1] == name
                positions.append(-1 if name < 0 else positions[-1] + 1 if goes_on else 0)
            result.append(positions)
        return np.array(result, dtype=np.int64)

    @staticmethod
    def packed_targets(ids, document_ids, ignore_index=-100):
        result = np.full(ids.shape, ignore_index, dtype="int64")
        batch, tokens = ids.shape
        for row in range(batch):
            for place in range(tokens - 1):
                name = document_ids[row, place]
                if name >= 0 and name == document_ids[row, place + 1]:
                    result[row, place] = ids[row, place + 1]
        return result


class sums_the_mask:
    """Positions as the number of keys that a query attends to, less one; targets found by the mask."""

    @staticmethod
    def packed_mask(document_ids):
        real = document_ids >= 0
        pairs = np.equal(document_ids[..., None], document_ids[..., None, :])
        return np.tril(pairs & (real[..., None] & real[..., None, :]))[:, np.newaxis, :, :]

    @staticmethod
    def packed_positions(document_ids):
        return sums_the_mask.packed_mask(document_ids).sum(axis=-1)[:, 0] - 1

    @staticmethod
    def packed_targets(ids, document_ids, ignore_index=-100):
        below = np.diagonal(sums_the_mask.packed_mask(document_ids)[:, 0], offset=-1, axis1=1, axis2=2)
        last = np.full((len(ids), 1), ignore_index, dtype=np.int64)
        return np.hstack([np.where(below, ids[:, 1:].astype(np.int64), ignore_index), last])


class compares_with_a_shifted_copy:
    """Names beside a shifted copy of themselves; a running maximum of places, padding counted."""

    @staticmethod
    def packed_mask(document_ids):
        names = document_ids.astype(np.int64)
        places = np.arange(names.shape[1])
        earlier = places[None, :, None] >= places[None, None, :]
        keys = np.where(names < 0, -2, names)[:, None, :]
        queries = np.where(names < 0, -1, names)[:, :, None]
        return np.expand_dims((queries == keys) * earlier, 1)

    @staticmethod
    def packed_positions(document_ids):
        before = np.roll(document_ids, 1, axis=1)
        places = np.indices(document_ids.shape)[1]
        begins = (document_ids != before) | (places == 0)
        return places - np.maximum.accumulate(np.where(begins, places, 0), axis=1)

    @staticmethod
    def packed_targets(ids, document_ids, ignore_index=-100):
        targets = np.roll(ids.astype(np.int64), -1, axis=1)
        ends = np.roll(document_ids, -1, axis=1) != document_ids
        ends[:, -1] = True
        targets[ends | (document_ids < 0)] = ignore_index
        return targets


class goes_row_by_row:
    """Each row by itself with np.unique, which gives the first place of every name."""

    @staticmethod
    def packed_mask(document_ids):
        def of_row(names):
            _, inverse = np.unique(names, return_inverse=True)
            one_hot = np.eye(len(names))[inverse] * (names >= 0)[:, None]
            return np.tril(one_hot @ one_hot.T) > 0.5

        return np.stack([of_row(names) for names in document_ids])[:, None]

    @staticmethod
    def packed_positions(document_ids):
        rows = []
        for names in document_ids:
            _, first, inverse = np.unique(names, return_index=True, return_inverse=True)
            rows.append(np.arange(len(names)) - first[inverse])
        return np.stack(rows)

    @staticmethod
    def packed_targets(ids, document_ids, ignore_index=-100):
        rows = []
        for row, names in zip(ids, document_ids, strict=True):
            goes_on = np.append((np.diff(names.astype(np.int64)) == 0) & (names[1:] >= 0), False)
            rows.append([int(row[t + 1]) if goes_on[t] else ignore_index for t in range(len(row))])
        return np.array(rows, dtype=np.int64)
