"""Right answers to multi_token_prediction in other styles."""

import numpy as np


class head_by_head:
    """A loop over the heads; only what counts is touched."""

    @staticmethod
    def multi_token_targets(targets, num_heads, ignore_index=-100):
        batch, tokens = targets.shape
        rows = []
        for head in range(num_heads):
            kept = targets.astype(np.int64)[:, head:]
            ends = np.full((batch, tokens - kept.shape[1]), ignore_index, dtype=np.int64)
            rows.append(np.concatenate([kept, ends], axis=1))
        return np.stack(rows)

    @staticmethod
    def multi_token_loss(logits, targets, weight=0.3, ignore_index=-100):
        losses = []
        for head, own in enumerate(logits):
            due = targets[:, head:]
            counted = due != ignore_index
            rows = own[:, : due.shape[1]][counted]
            if len(rows) == 0:
                losses.append(0.0)
                continue
            log_sum = np.logaddexp.reduce(rows, axis=-1)
            losses.append((log_sum - rows[np.arange(len(rows)), due[counted]]).mean())
        further = losses[1:]
        return losses[0] + (weight * sum(further) / len(further) if further else 0.0)


class number_by_number:
    """Every position by itself, in float64."""

    @staticmethod
    def multi_token_targets(targets, num_heads, ignore_index=-100):
        batch, tokens = targets.shape
        found = [
            [
                [int(targets[b, t + h]) if t + h < tokens else ignore_index for t in range(tokens)]
                for b in range(batch)
            ]
            for h in range(num_heads)
        ]
        return np.array(found, dtype=np.int64)

    @staticmethod
    def multi_token_loss(logits, targets, weight=0.3, ignore_index=-100):
        heads, batch, tokens, _ = logits.shape
        losses = np.zeros(heads)
        for head in range(heads):
            costs = []
            for b in range(batch):
                for t in range(tokens - head):
                    target = int(targets[b, t + head])
                    if target != ignore_index:
                        row = logits[head, b, t].astype(np.float64)
                        costs.append(np.log(np.exp(row - row.max()).sum()) + row.max() - row[target])
            losses[head] = np.mean(costs) if costs else 0.0
        return logits.dtype.type(losses[0] + weight * (losses[1:].mean() if heads > 1 else 0.0))


class with_weights_for_all_positions:
    """Another way: give every position its weight in the total, and take one sum over all heads."""

    @staticmethod
    def multi_token_targets(targets, num_heads, ignore_index=-100):
        padded = np.pad(targets.astype(np.int64), ((0, 0), (0, num_heads)), constant_values=ignore_index)
        return np.stack([padded[:, h : h + targets.shape[1]] for h in range(num_heads)])

    @staticmethod
    def multi_token_loss(logits, targets, weight=0.3, ignore_index=-100):
        due = with_weights_for_all_positions.multi_token_targets(targets, logits.shape[0], ignore_index)
        counted = due != ignore_index
        share = np.full((len(logits), 1, 1), weight / max(len(logits) - 1, 1))
        share[0] = 1
        shares = (share * counted / np.maximum(counted.sum((1, 2), keepdims=True), 1)).astype(logits.dtype)
        one_hot = np.arange(logits.shape[-1]) == due[..., None]
        highest = logits.max(-1, keepdims=True)
        log_sum = np.log(np.sum(np.exp(logits - highest), -1)) + highest[..., 0]
        return (shares * (log_sum - np.where(one_hot, logits, 0).sum(-1))).sum()
