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

    SHAPE_OF_Q = _written("SHAPE_OF_Q", _as_list)
    SHAPE_OF_SCORES = _written("SHAPE_OF_SCORES", _as_list)
    SCALE = _written("SCALE", _as_list)
    ROWS_THAT_SUM_TO_ONE = _written("ROWS_THAT_SUM_TO_ONE", _as_list)
    VISIBLE_KEYS = _written("VISIBLE_KEYS", _as_list)
    WINDOW_KEYS = _written("WINDOW_KEYS", _as_list)
    UNPADDED_KEYS = _written("UNPADDED_KEYS", _as_list)
    POSITION_ID = _written("POSITION_ID", _as_list)


class answers_with_numpy:
    """Arrays and NumPy's numbers."""

    SHAPE_OF_Q = _written("SHAPE_OF_Q", _as_numpy)
    SHAPE_OF_SCORES = _written("SHAPE_OF_SCORES", _as_numpy)
    SCALE = _written("SCALE", _as_numpy)
    ROWS_THAT_SUM_TO_ONE = _written("ROWS_THAT_SUM_TO_ONE", _as_numpy)
    VISIBLE_KEYS = _written("VISIBLE_KEYS", _as_numpy)
    WINDOW_KEYS = _written("WINDOW_KEYS", _as_numpy)
    UNPADDED_KEYS = _written("UNPADDED_KEYS", _as_numpy)
    POSITION_ID = _written("POSITION_ID", _as_numpy)


class types_few_digits:
    """Three digits of a fraction, and small letters."""

    SHAPE_OF_Q = _written("SHAPE_OF_Q", _as_typed)
    SHAPE_OF_SCORES = _written("SHAPE_OF_SCORES", _as_typed)
    SCALE = _written("SCALE", _as_typed)
    ROWS_THAT_SUM_TO_ONE = _written("ROWS_THAT_SUM_TO_ONE", _as_typed)
    VISIBLE_KEYS = _written("VISIBLE_KEYS", _as_typed)
    WINDOW_KEYS = _written("WINDOW_KEYS", _as_typed)
    UNPADDED_KEYS = _written("UNPADDED_KEYS", _as_typed)
    POSITION_ID = _written("POSITION_ID", _as_typed)
