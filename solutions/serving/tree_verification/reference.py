"""Cai et al. 2024: the tree mask, and greedy verification."""

import numpy as np


def tree_mask(parents, prefix_len):
    """A node sees what its parent sees, and itself."""
    nodes = len(parents)
    mask = np.zeros((nodes, prefix_len + nodes), dtype=bool)  # [N, P + N]
    for node, parent in enumerate(parents):
        if not -1 <= parent < node:
            raise ValueError(f"node {node} has the parent {parent}, which is not from -1 to {node - 1}")
        mask[node, :prefix_len] = True
        if parent >= 0:
            mask[node] |= mask[parent]  # [P + N]
        mask[node, prefix_len + node] = True
    return mask


def tree_positions(parents, prefix_len):
    """A child of the root stands behind the prefix, any other one behind its parent."""
    positions = np.zeros(len(parents), dtype=np.int64)  # [N]
    for node, parent in enumerate(parents):
        positions[node] = positions[parent] + 1 if parent >= 0 else prefix_len
    return positions


def verify_tree(tokens, parents, logits):
    """The longest path of greedy choices, and one token more."""
    choices = logits.argmax(axis=-1)  # [N + 1]
    longest, paths = [], {-1: []}  # the right nodes so far, each with its path
    for node, parent in enumerate(parents.tolist()):
        if parent in paths and tokens[node] == choices[parent + 1]:
            paths[node] = [*paths[parent], node]
            longest = max(longest, paths[node], key=len)
    path = np.array(longest, dtype=np.int64)  # [A]
    bonus = choices[path[-1] + 1] if longest else choices[0]
    return path, np.append(tokens[path], bonus)  # [A], [A + 1]
