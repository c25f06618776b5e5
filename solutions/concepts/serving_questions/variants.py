"""Right answers, written in other ways."""

import numpy as np
import reference


def _written(question, how):
    """Return the question's reference, whose answer is written in another way."""
    return lambda **numbers: how(getattr(reference, question)(**numbers))


def _as_list(answer):
    return list(answer) if isinstance(answer, tuple) else answer


def _as_numpy(answer):
    return answer if isinstance(answer, str) else np.asarray(answer)[()]


def _as_typed(answer):
    """As a student types it: three digits of a fraction, a small letter."""
    if isinstance(answer, str):
        return f" {answer.lower()}"
    return float(f"{answer:.3g}") if isinstance(answer, float) else answer


class answers_with_lists:
    """Lists in place of tuples."""

    CACHE = _written("CACHE", _as_list)
    ROLLING_CACHE = _written("ROLLING_CACHE", _as_list)
    PAGES = _written("PAGES", _as_list)
    UNUSED_SLOTS = _written("UNUSED_SLOTS", _as_list)
    KEY_HEAD = _written("KEY_HEAD", _as_list)
    INT8 = _written("INT8", _as_list)
    ACCEPTED = _written("ACCEPTED", _as_list)
    LORA = _written("LORA", _as_list)


class answers_with_numpy:
    """Arrays and NumPy's numbers."""

    CACHE = _written("CACHE", _as_numpy)
    ROLLING_CACHE = _written("ROLLING_CACHE", _as_numpy)
    PAGES = _written("PAGES", _as_numpy)
    UNUSED_SLOTS = _written("UNUSED_SLOTS", _as_numpy)
    KEY_HEAD = _written("KEY_HEAD", _as_numpy)
    INT8 = _written("INT8", _as_numpy)
    ACCEPTED = _written("ACCEPTED", _as_numpy)
    LORA = _written("LORA", _as_numpy)


class types_few_digits:
    """Three digits of a fraction, and small letters."""

    CACHE = _written("CACHE", _as_typed)
    ROLLING_CACHE = _written("ROLLING_CACHE", _as_typed)
    PAGES = _written("PAGES", _as_typed)
    UNUSED_SLOTS = _written("UNUSED_SLOTS", _as_typed)
    KEY_HEAD = _written("KEY_HEAD", _as_typed)
    INT8 = _written("INT8", _as_typed)
    ACCEPTED = _written("ACCEPTED", _as_typed)
    LORA = _written("LORA", _as_typed)
