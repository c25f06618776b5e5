"""Willard and Louf 2023, section 3, with a look ahead to the end of the text."""

import math

import torch


def constrain_logits(logits, automaton, state, steps_left, eos_id):
    """Keep the tokens after which the nearest end is near enough."""
    needed = _steps_needed(automaton)
    moves = automaton["transitions"][state]
    kept = [token for token, after in moves.items() if needed[after] < steps_left]
    if state in automaton["accepting"] and steps_left > 0:
        kept.append(eos_id)
    if not kept:
        raise ValueError(f"No accepted text can be finished from state {state} in {steps_left} steps.")
    result = torch.full_like(logits, -math.inf)  # [V]
    result[kept] = logits[kept]  # [V]
    return result


def constrain_generate(next_logits, prompt, automaton, max_new_tokens, eos_id):
    """Take the most likely token of those that are kept, until it is the eos."""
    ids, state, steps_left = list(prompt), automaton["start"], max_new_tokens
    while True:
        logits = constrain_logits(next_logits(ids), automaton, state, steps_left, eos_id)  # [V]
        ids.append(int(logits.argmax()))
        if ids[-1] == eos_id:
            return ids
        state, steps_left = automaton["transitions"][state][ids[-1]], steps_left - 1


def _steps_needed(automaton):
    """Return for each state the fewest tokens that end a text from there, the eos among them."""
    needed = {state: 1 if state in automaton["accepting"] else math.inf for state in automaton["transitions"]}
    for _ in needed:  # the shortest way passes through no state twice
        for state, moves in automaton["transitions"].items():
            needed[state] = min([needed[state], *(1 + needed[after] for after in moves.values())])
    return needed
