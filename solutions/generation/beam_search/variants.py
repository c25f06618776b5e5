"""Right answers to beam_search in other styles."""

import heapq
import math

import torch


def flat_topk(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """All beams in one tensor, filled up with eos; topk over the flattened [N * V] totals."""
    ids, totals, ended = torch.tensor([prompt]), torch.zeros(1), torch.zeros(1, dtype=torch.bool)
    for _ in range(max_new_tokens):
        log_probs = next_log_probs(ids)
        vocab = log_probs.shape[1]
        if eos_id is not None:
            only_eos = torch.full((vocab,), -torch.inf, dtype=log_probs.dtype)
            only_eos[eos_id] = 0.0
            log_probs = torch.where(ended[:, None], only_eos, log_probs)
        totals, flat = (totals[:, None] + log_probs).flatten().topk(min(beam_size, log_probs.numel()))
        parent, token = flat // vocab, flat % vocab
        ids = torch.cat([ids[parent], token[:, None]], dim=1)
        ended = ended[parent] | (token == (-1 if eos_id is None else eos_id))
    best = ids[0].tolist()
    new = best[len(prompt) :]
    length = new.index(eos_id) + 1 if eos_id in new else len(new)
    return best[: len(prompt) + length], totals[0].item()


def beam_by_beam(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """One call of the model a beam, the candidates in a heap."""
    beams = [(0.0, tuple(prompt), True)]
    for _ in range(max_new_tokens):
        candidates = []
        for total, ids, growing in beams:
            if not growing:
                candidates.append((total, ids, False))
                continue
            row = next_log_probs(torch.tensor(ids, dtype=torch.long).unsqueeze(0))[0]
            for token in range(len(row)):
                candidates.append((total + float(row[token]), (*ids, token), token != eos_id))
        beams = heapq.nlargest(beam_size, candidates)
    total, ids, _ = max(beams)
    return list(ids), total


def children_of_each_beam_first(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """Each beam offers its best beam_size children, as no more of them can survive."""
    beams, done = torch.tensor([list(prompt)]), []
    totals = torch.zeros(1, dtype=torch.float64)
    for _ in range(max_new_tokens):
        if not len(beams):
            break
        log_probs = next_log_probs(beams)
        best, tokens = log_probs.double().topk(min(beam_size, log_probs.size(-1)), dim=-1)
        grown = (totals.unsqueeze(1) + best).reshape(-1)
        ids = torch.cat([beams.repeat_interleave(tokens.size(1), 0), tokens.reshape(-1, 1)], dim=1)
        pool = [(score, ids[i].tolist()) for i, score in enumerate(grown.tolist())] + done
        pool = sorted(pool, key=lambda pair: -pair[0])[:beam_size]
        done = [pair for pair in pool if pair[1][-1] == eos_id]
        going = [pair for pair in pool if pair[1][-1] != eos_id]
        beams = torch.tensor([ids for _, ids in going], dtype=torch.long)
        totals = torch.tensor([score for score, _ in going], dtype=torch.float64)
    score, ids = max(done + list(zip(totals.tolist(), beams.tolist(), strict=True)))
    return ids, score


def stops_when_nothing_can_be_better(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """Ends as soon as the best beam has ended: no log-probability is above 0."""
    start = len(prompt)
    beams = [(list(prompt), [])]
    for _ in range(max_new_tokens):
        if len(beams[0][0]) > start and beams[0][0][-1] == eos_id:
            break
        candidates = []
        for ids, parts in beams:
            if ids[start:] and ids[-1] == eos_id:
                candidates.append((ids, parts))
            else:
                row = next_log_probs(torch.as_tensor([ids], dtype=torch.int64)).squeeze(0).tolist()
                candidates += [([*ids, token], [*parts, part]) for token, part in enumerate(row)]
        candidates.sort(key=lambda beam: math.fsum(beam[1]), reverse=True)
        del candidates[beam_size:]
        beams = candidates
    ids, parts = beams[0]
    return ids, math.fsum(parts)


def places_filled_from_the_start(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """Always beam_size rows: all but the first begin with a hopeless total."""
    ids = torch.tensor(prompt).repeat(beam_size, 1)
    totals = torch.tensor([0.0] + [-1e9] * (beam_size - 1), dtype=torch.float64)
    lengths = torch.full((beam_size,), len(prompt) + max_new_tokens)
    for step in range(max_new_tokens):
        log_probs = next_log_probs(ids).to(torch.float64)
        over = lengths <= len(prompt) + step
        log_probs[over] = -torch.inf
        log_probs[over, 0] = 0.0
        totals, flat = torch.topk((totals[:, None] + log_probs).view(-1), beam_size)
        parent = torch.div(flat, log_probs.shape[1], rounding_mode="floor")
        token = flat - parent * log_probs.shape[1]
        ids, lengths, over = torch.cat((ids[parent], token[:, None]), 1), lengths[parent], over[parent]
        if eos_id is not None:
            lengths = torch.where(~over & (token == eos_id), len(prompt) + step + 1, lengths)
    return ids[0, : lengths[0]].tolist(), float(totals[0])
