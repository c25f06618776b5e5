"""Cai et al. 2024: the tree mask, and greedy verification, in PyTorch."""

import torch


def tree_mask(parents: torch.Tensor, prefix_len: int) -> torch.Tensor:
    nodes = torch.arange(len(parents), device=parents.device)  # [N]
    if ((parents < -1) | (parents >= nodes)).any():
        raise ValueError("a parent is -1 or has a smaller number than its node")
    ancestors = nodes[:, None] == nodes  # [N, N]
    for node, parent in enumerate(parents.tolist()):
        if parent >= 0:
            ancestors[node] |= ancestors[parent]  # [N]
    return torch.nn.functional.pad(ancestors, (prefix_len, 0), value=True)  # [N, P + N]


def tree_positions(parents: torch.Tensor, prefix_len: int) -> torch.Tensor:
    return tree_mask(parents, prefix_len).sum(dim=1) - 1  # [N]


def verify_tree(
    tokens: torch.Tensor,
    parents: torch.Tensor,
    logits: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    choices = logits.argmax(dim=-1)  # [N + 1]
    matches = (tokens == choices[parents + 1]).tolist()
    paths, longest = {-1: []}, []
    for node, parent in enumerate(parents.tolist()):
        if parent in paths and matches[node]:
            paths[node] = [*paths[parent], node]
            longest = max(longest, paths[node], key=len)
    path = torch.tensor(longest, dtype=torch.int64, device=tokens.device)  # [A]
    last = longest[-1] + 1 if longest else 0
    return path, torch.cat([tokens[path], choices[last : last + 1]])  # [A], [A + 1]
