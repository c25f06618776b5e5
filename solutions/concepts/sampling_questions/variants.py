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

    GREEDY = _written("GREEDY", _as_list)
    PROBABILITY = _written("PROBABILITY", _as_list)
    AT_TEMPERATURE = _written("AT_TEMPERATURE", _as_list)
    AFTER_TOP_K = _written("AFTER_TOP_K", _as_list)
    NUCLEUS = _written("NUCLEUS", _as_list)
    AFTER_MIN_P = _written("AFTER_MIN_P", _as_list)
    PENALISED = _written("PENALISED", _as_list)
    LIMIT = _written("LIMIT", _as_list)


class answers_with_numpy:
    """Arrays and NumPy's numbers."""

    GREEDY = _written("GREEDY", _as_numpy)
    PROBABILITY = _written("PROBABILITY", _as_numpy)
    AT_TEMPERATURE = _written("AT_TEMPERATURE", _as_numpy)
    AFTER_TOP_K = _written("AFTER_TOP_K", _as_numpy)
    NUCLEUS = _written("NUCLEUS", _as_numpy)
    AFTER_MIN_P = _written("AFTER_MIN_P", _as_numpy)
    PENALISED = _written("PENALISED", _as_numpy)
    LIMIT = _written("LIMIT", _as_numpy)


class types_few_digits:
    """Three digits of a fraction, and small letters."""

    GREEDY = _written("GREEDY", _as_typed)
    PROBABILITY = _written("PROBABILITY", _as_typed)
    AT_TEMPERATURE = _written("AT_TEMPERATURE", _as_typed)
    AFTER_TOP_K = _written("AFTER_TOP_K", _as_typed)
    NUCLEUS = _written("NUCLEUS", _as_typed)
    AFTER_MIN_P = _written("AFTER_MIN_P", _as_typed)
    PENALISED = _written("PENALISED", _as_typed)
    LIMIT = _written("LIMIT", _as_typed)
