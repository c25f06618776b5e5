"""Right answers to constrained_decoding in other styles."""

import functools
import math
from collections import deque

import torch


class searches_backwards:
    """Breadth first from the accepting states along reversed transitions; a mask of booleans."""

    @staticmethod
    def _distances(automaton):
        before = {state: set() for state in automaton["transitions"]}
        for state, moves in automaton["transitions"].items():
            for after in moves.values():
                before[after].add(state)
        distance = dict.fromkeys(automaton["accepting"], 0)
        queue = deque(distance)
        while queue:
            state = queue.popleft()
            for earlier in before[state]:
                if earlier not in distance:
                    distance[earlier] = distance[state] + 1
                    queue.append(earlier)
        return distance

    @staticmethod
    def constrain_logits(logits, automaton, state, steps_left, eos_id):
        """A token, the tokens to an accepting state, and the eos must fit."""
        distance = searches_backwards._distances(automaton)
        keep = torch.zeros(logits.shape, dtype=torch.bool, device=logits.device)
        for token, after in automaton["transitions"][state].items():
            keep[token] = after in distance and 1 + distance[after] + 1 <= steps_left
        if distance.get(state) == 0 and steps_left >= 1:
            keep[eos_id] = True
        assert keep.any(), "nothing is left"
        return logits.masked_fill(~keep, float("-inf"))

    @staticmethod
    def constrain_generate(next_logits, prompt, automaton, max_new_tokens, eos_id):
        """Refuse before the model is asked; then a loop over the steps that are left."""
        distance = searches_backwards._distances(automaton)
        state, ids = automaton["start"], [*prompt]
        if state not in distance or distance[state] + 1 > max_new_tokens:
            raise ValueError("impossible")
        for steps_left in range(max_new_tokens, 0, -1):
            scores = searches_backwards.constrain_logits(
                next_logits(list(ids)), automaton, state, steps_left, eos_id
            )
            token = torch.argmax(scores, dim=-1).item()
            ids += [token]
            if token == eos_id:
                break
            state = automaton["transitions"][state][token]
        return ids


def recurses_with_a_memory(logits, automaton, state, steps_left, eos_id):
    """Can a text be finished from a state in so many steps? Asked again and again, remembered in the call."""
    transitions, accepting = automaton["transitions"], set(automaton["accepting"])

    @functools.cache
    def can_finish(at, steps):
        if steps <= 0:
            return False
        return at in accepting or any(can_finish(after, steps - 1) for after in transitions[at].values())

    if not can_finish(state, steps_left):
        raise ValueError("No accepted text is left.")
    values = [
        value
        if (token in transitions[state] and can_finish(transitions[state][token], steps_left - 1))
        or (token == eos_id and state in accepting)
        else -math.inf
        for token, value in enumerate(logits.tolist())
    ]
    return torch.tensor(values, dtype=logits.dtype, device=logits.device)


def layers_of_states(logits, automaton, state, steps_left, eos_id):
    """For each number of steps the set of states from which an end can be reached; penalties are added."""
    good = set()
    for _ in range(steps_left - 1):
        good = set(automaton["accepting"]) | {
            s for s, moves in automaton["transitions"].items() if good & set(moves.values())
        }
    penalty = torch.full_like(logits, -torch.inf)
    for token, after in automaton["transitions"][state].items():
        if after in good:
            penalty[token] = 0
    if state in automaton["accepting"] and steps_left:
        penalty[eos_id] = 0
    if penalty.max() < 0:
        raise ValueError(f"state {state} is hopeless")
    return logits + penalty


def enumerates_all_texts(logits, automaton, state, steps_left, eos_id):
    """The first tokens of all accepted texts, in a dict of booleans."""

    def texts(at, steps):
        if steps == 0:
            return
        if at in automaton["accepting"]:
            yield (eos_id,)
        for token, after in automaton["transitions"][at].items():
            for rest in texts(after, steps - 1):
                yield (token, *rest)

    first = sorted({text[0] for text in texts(state, steps_left)})
    if len(first) == 0:
        raise ValueError("no text")
    index = torch.tensor(first, device=logits.device)
    return torch.full(logits.shape, -math.inf, dtype=logits.dtype).scatter(0, index, logits[index])


def eos_as_a_token_like_others(logits, automaton, state, steps_left, eos_id):
    """As libraries do: a final state with the eos leading to it, distances by a matrix, a copy filled in."""
    states = [*automaton["transitions"], "end"]
    place = {name: i for i, name in enumerate(states)}
    moves = {s: dict(m) for s, m in automaton["transitions"].items()}
    for s in automaton["accepting"]:
        moves[s][eos_id] = "end"
    steps = torch.full((len(states), len(states)), math.inf).fill_diagonal_(0)
    for s, m in moves.items():
        for after in m.values():
            steps[place[s], place[after]] = min(1, float(steps[place[s], place[after]]))
    for k in range(len(states)):
        steps = torch.minimum(steps, steps[:, k, None] + steps[None, k])
    result = logits.clone()
    for token in range(len(logits)):
        after = moves[state].get(token)
        if after is None or steps[place[after], -1] + 1 > steps_left:
            result[token] = -math.inf
    if bool(torch.isinf(result).all()):
        raise ValueError("no token is left")
    return result


def keeps_state_beside_the_ids(next_logits, prompt, automaton, max_new_tokens, eos_id):
    """Masks in the loop itself, the best of the kept tokens by max over Python floats."""
    moves, accepting = automaton["transitions"], automaton["accepting"]
    need = dict.fromkeys(accepting, 1)
    changed = True
    while changed:
        changed = False
        for s, m in moves.items():
            best = min((need[a] + 1 for a in m.values() if a in need), default=None)
            if best is not None and best < need.get(s, 10**9):
                need[s], changed = best, True
    state, new = automaton["start"], []
    if need.get(state, math.inf) > max_new_tokens:
        raise ValueError("no accepted text is so short")
    while not new or new[-1] != eos_id:
        scores = next_logits(prompt + new).tolist()
        left = max_new_tokens - len(new)
        kept = [t for t, a in moves[state].items() if need.get(a, math.inf) <= left - 1]
        kept += [eos_id] if state in accepting else []
        new.append(max(kept, key=lambda token: scores[token]))
        state = moves[state].get(new[-1])
    return prompt + new
