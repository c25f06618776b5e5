"""Right answers in other styles."""

import itertools

import numpy as np


def loops_while_not_finished(next_logits, start_id, end_id, max_steps=10):
    """The decoder's while loop with a flag, NumPy ints in the list."""
    ids, finished = [start_id], False
    while not finished and len(ids) <= max_steps:
        token = np.argmax(next_logits(ids))
        ids += [token]
        finished = token == end_id
    return ids


def calls_itself(next_logits, start_id, end_id, max_steps=10):
    """Another way: let the function call itself with one id more and one step less.

    Recursion over the steps that are left; a new list at each step.
    """

    def grow(ids, left):
        if left == 0:
            return ids
        logits = next_logits(ids)
        ids = [*ids, max(range(len(logits)), key=lambda token: logits[token])]
        return ids if ids[-1] == end_id else grow(ids, left - 1)

    return grow([start_id], max_steps)


def draws_from_a_generator(next_logits, start_id, end_id, max_steps=10):
    """A generator that ends itself, cut by islice; softmax first, in float64."""

    def tokens(ids):
        while True:
            logits = next_logits(ids)
            probabilities = np.exp(np.float64(logits) - np.float64(logits.max()))
            probabilities /= probabilities.sum()
            [token, *_] = np.flatnonzero(logits == logits[np.argmax(probabilities)])
            ids.append(int(token))
            yield ids[-1]
            if ids[-1] == end_id:
                return

    return [start_id, *itertools.islice(tokens([start_id]), max_steps)]


def fills_an_array(next_logits, start_id, end_id, max_steps=10):
    """An array of the longest possible length, cut to what was generated and made a list."""
    ids = np.zeros(max_steps + 1, dtype=np.int64)
    ids[0], length = start_id, 1
    while length <= max_steps:
        ids[length] = np.argsort(next_logits(ids[:length].tolist()))[-1]
        length += 1
        if ids[length - 1] == end_id:
            break
    return ids[:length].tolist()
