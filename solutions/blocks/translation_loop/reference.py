"""Sutskever, Vinyals and Le 2014, section 2, with a beam of one: greedy decoding."""


def translate(next_logits, start_id, end_id, max_steps=10):
    """The start token and what the model says after it."""
    ids = [start_id]
    for _ in range(max_steps):
        logits = next_logits(list(ids))  # [V]
        ids.append(int(logits.argmax()))
        if ids[-1] == end_id:
            break
    return ids
