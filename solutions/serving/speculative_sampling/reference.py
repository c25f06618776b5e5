"""Leviathan, Kalman and Matias 2023, algorithm 1; Chen et al. 2023, algorithm 2."""

import torch


def draw(probs, uniform):
    """The first token whose cumulative probability exceeds the uniform."""
    return (probs.cumsum(dim=-1) <= uniform).sum(dim=-1, keepdim=True)  # [1]


def speculative_step(target_probs, draft_probs, draft_ids, uniforms):
    for i, token in enumerate(draft_ids):
        if uniforms[i] >= target_probs[i, token] / draft_probs[i, token]:
            rest = (target_probs[i] - draft_probs[i]).clamp(min=0)  # [V]
            return torch.cat([draft_ids[:i], draw(rest / rest.sum(), uniforms[-1])])  # [i + 1]
    return torch.cat([draft_ids, draw(target_probs[-1], uniforms[-1])])  # [K + 1]


def speculative_generate(target, draft, prompt, max_new_tokens, num_draft, uniforms):
    ids, rounds = prompt, iter(uniforms)
    while len(ids) < len(prompt) + max_new_tokens:
        row = next(rounds)  # [2 * num_draft + 1]
        drafted, draft_probs = ids, []
        for uniform in row[:num_draft]:
            draft_probs.append(draft(drafted)[-1])  # [V]
            drafted = torch.cat([drafted, draw(draft_probs[-1], uniform)])  # [T + 1], [T + 2] ...
        target_probs = target(drafted)[len(ids) - 1 :]  # [num_draft + 1, V]
        draft_ids = drafted[len(ids) :]  # [num_draft]
        new = speculative_step(target_probs, torch.stack(draft_probs), draft_ids, row[num_draft:])
        ids = torch.cat([ids, new])  # [T + accepted + 1]
    return ids[: len(prompt) + max_new_tokens]
