"""Beam search: the best of all candidates, step by step."""

import torch


def beam_search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """Grow every beam by every token, keep the best; an ended beam is a candidate as it is."""
    beams = [(list(prompt), 0.0)]
    for _ in range(max_new_tokens):
        ended = [beam for beam in beams if len(beam[0]) > len(prompt) and beam[0][-1] == eos_id]
        live = [beam for beam in beams if beam not in ended]
        if not live:
            break
        ids = torch.tensor([ids for ids, _ in live])  # [N, T]
        log_probs = next_log_probs(ids).tolist()  # [N, V]
        candidates = ended + [  # N * V of them, and those that have ended
            ([*ids, token], total + part)
            for (ids, total), row in zip(live, log_probs, strict=True)
            for token, part in enumerate(row)
        ]
        beams = sorted(candidates, key=lambda beam: beam[1], reverse=True)[:beam_size]
    return beams[0]
