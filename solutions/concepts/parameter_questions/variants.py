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

    EMBEDDINGS = _written("EMBEDDINGS", _as_list)
    ATTENTION = _written("ATTENTION", _as_list)
    FEED_FORWARD = _written("FEED_FORWARD", _as_list)
    LAYER_NORM = _written("LAYER_NORM", _as_list)
    BLOCK = _written("BLOCK", _as_list)
    MODEL = _written("MODEL", _as_list)
    GROUPED_ATTENTION = _written("GROUPED_ATTENTION", _as_list)
    TRAINING_BYTES = _written("TRAINING_BYTES", _as_list)


class answers_with_numpy:
    """Arrays and NumPy's numbers."""

    EMBEDDINGS = _written("EMBEDDINGS", _as_numpy)
    ATTENTION = _written("ATTENTION", _as_numpy)
    FEED_FORWARD = _written("FEED_FORWARD", _as_numpy)
    LAYER_NORM = _written("LAYER_NORM", _as_numpy)
    BLOCK = _written("BLOCK", _as_numpy)
    MODEL = _written("MODEL", _as_numpy)
    GROUPED_ATTENTION = _written("GROUPED_ATTENTION", _as_numpy)
    TRAINING_BYTES = _written("TRAINING_BYTES", _as_numpy)


class types_few_digits:
    """Three digits of a fraction, and small letters."""

    EMBEDDINGS = _written("EMBEDDINGS", _as_typed)
    ATTENTION = _written("ATTENTION", _as_typed)
    FEED_FORWARD = _written("FEED_FORWARD", _as_typed)
    LAYER_NORM = _written("LAYER_NORM", _as_typed)
    BLOCK = _written("BLOCK", _as_typed)
    MODEL = _written("MODEL", _as_typed)
    GROUPED_ATTENTION = _written("GROUPED_ATTENTION", _as_typed)
    TRAINING_BYTES = _written("TRAINING_BYTES", _as_typed)
