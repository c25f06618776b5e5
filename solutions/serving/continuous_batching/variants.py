"""Right answers to continuous_batching in other styles."""

from collections import deque
from dataclasses import dataclass, field


def in_one_loop(model, requests, token_budget, eos_id=None):
    """Another way: one loop in order of arrival, since those who decode came before those who still read."""
    if token_budget < 1:
        raise ValueError("token_budget must be at least 1")
    tokens = [list(prompt) for _, prompt, _ in requests]
    computed = dict.fromkeys(range(len(requests)), 0)
    ends, step = {}, 0
    queue = sorted(computed, key=lambda r: (requests[r][0], r))
    while queue:
        batch, left = [], token_budget
        for r in queue:
            new = min(left, len(tokens[r]) - computed[r]) if requests[r][0] <= step else 0
            if new > 0:
                batch.append((r, computed[r], tokens[r][computed[r] : computed[r] + new]))
                left -= new
        for (r, _, part), token in zip(batch, model(batch) if batch else (), strict=True):
            computed[r] += len(part)
            if computed[r] == len(tokens[r]):
                tokens[r].append(token)
                count = len(tokens[r]) - len(requests[r][1])
                if count == requests[r][2] or (eos_id is not None and token == eos_id):
                    ends[r] = step
                    queue.remove(r)
        step += 1
    texts = [tokens[r][len(prompt) :] for r, (_, prompt, _) in enumerate(requests)]
    return texts, [ends[r] for r in range(len(requests))]


@dataclass
class _Request:
    number: int
    arrival: int
    unread: deque
    limit: int
    start: int = 0
    text: list = field(default_factory=list)
    end: int = -1

    def take(self, most):
        tokens = [self.unread.popleft() for _ in range(min(most, len(self.unread)))]
        entry = (self.number, self.start, tokens)
        self.start += len(tokens)
        return entry


def with_queues(model, requests, token_budget, eos_id=None):
    """A queue of those to come, one of those that read, and a list of those that decode."""
    if token_budget <= 0:
        raise ValueError(token_budget)
    every = [_Request(r, arrival, deque(prompt), n) for r, (arrival, prompt, n) in enumerate(requests)]
    coming, reading, decoding = deque(sorted(every, key=lambda x: x.arrival)), deque(), []
    step = 0
    while coming or reading or decoding:
        while coming and coming[0].arrival <= step:
            reading.append(coming.popleft())
        batch, speakers = [], []
        for x in decoding:
            batch.append([x.number, x.start, [x.text[-1]]])
            x.start += 1
            speakers.append((len(batch) - 1, x))
        room = token_budget - len(decoding)
        while reading and room:
            entry = reading[0].take(room)
            room -= len(entry[2])
            batch.append(entry)
            if not reading[0].unread:
                speakers.append((len(batch) - 1, reading.popleft()))
        if batch:
            answers = model(batch)
            for at, x in speakers:
                x.text.append(answers[at])
            for _, x in speakers:
                if len(x.text) == x.limit or x.text[-1] == eos_id:
                    x.end = step
            decoding = [x for _, x in speakers if x.end < 0]
        step += 1
    return [x.text for x in every], [x.end for x in every]


def with_generators(model, requests, token_budget, eos_id=None):
    """Each request is a generator, which is sent the room that it has and, later, the answer."""
    if token_budget < 1:
        raise ValueError("no budget")

    def life(number, prompt, limit, text):
        start, room = 0, (yield None)
        while start < len(prompt):
            chunk = prompt[start : start + room]
            answer = yield (number, start, chunk) if chunk else None
            start += len(chunk)
            if start < len(prompt):
                room = yield None
        text.append(answer)
        while len(text) < limit and text[-1] != eos_id:
            yield None
            text.append((yield (number, len(prompt) + len(text) - 1, text[-1:])))

    texts, ends = [[] for _ in requests], [0] * len(requests)
    alive = {r: life(r, prompt, n, texts[r]) for r, (_, prompt, n) in enumerate(requests)}
    for one in alive.values():
        next(one)
    order, step = sorted(alive, key=lambda r: requests[r][0]), -1
    while alive:
        step += 1
        room, asked = token_budget, {}
        for r in order:
            if r in alive and requests[r][0] <= step:
                asked[r] = alive[r].send(room)
                room -= len(asked[r][2]) if asked[r] else 0
        batch = [entry for entry in asked.values() if entry]
        answers = iter(model(batch) if batch else [])
        for r, entry in asked.items():
            try:
                alive[r].send(next(answers) if entry else None)
            except StopIteration:
                ends[r] = step
                del alive[r]
    return texts, ends


def chunks_before_decodes_in_the_list(model, requests, token_budget, eos_id=None):
    """Room for decodes is set aside first; entries stand in the order of the list; ints of strings."""
    if not token_budget > 0:
        raise ValueError("budget")
    n = len(requests)
    state = [{"read": 0, "text": [], "end": None} for _ in range(n)]
    step = min(arrival for arrival, _, _ in requests)
    while any(s["end"] is None for s in state):
        here = [r for r in range(n) if state[r]["end"] is None and step >= requests[r][0]]
        speaking = {r for r in here if state[r]["read"] == len(requests[r][1])}
        share = {r: 0 for r in here if r not in speaking}
        for _ in range(token_budget - len(speaking)):
            hungry = [r for r in share if state[r]["read"] + share[r] < len(requests[r][1])]
            if hungry:
                share[min(hungry, key=lambda r: (requests[r][0], r))] += 1
        batch = []
        for r in here:
            read, text = state[r]["read"], state[r]["text"]
            if r in speaking:
                batch.append((r, read + len(text) - 1, tuple(text[-1:])))
            elif share[r]:
                batch.append((r, read, tuple(requests[r][1][read : read + share[r]])))
                state[r]["read"] += share[r]
        if batch:
            for entry, token in zip(batch, model(tuple(batch)), strict=True):
                r = entry[0]
                if state[r]["read"] == len(requests[r][1]):
                    state[r]["text"] += [token]
                    if token == eos_id or not len(state[r]["text"]) < requests[r][2]:
                        state[r]["end"] = step
        step += 1
    return tuple(s["text"] for s in state), tuple(s["end"] for s in state)
