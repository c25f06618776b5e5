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

    LOSS_AT_START = _written("LOSS_AT_START", _as_list)
    PERPLEXITY = _written("PERPLEXITY", _as_list)
    TERMS_OF_THE_LOSS = _written("TERMS_OF_THE_LOSS", _as_list)
    LEARNING_RATE = _written("LEARNING_RATE", _as_list)
    CLIPPING_FACTOR = _written("CLIPPING_FACTOR", _as_list)
    FIRST_FAULT = _written("FIRST_FAULT", _as_list)
    SECOND_FAULT = _written("SECOND_FAULT", _as_list)
    THIRD_FAULT = _written("THIRD_FAULT", _as_list)


class answers_with_numpy:
    """Arrays and NumPy's numbers."""

    LOSS_AT_START = _written("LOSS_AT_START", _as_numpy)
    PERPLEXITY = _written("PERPLEXITY", _as_numpy)
    TERMS_OF_THE_LOSS = _written("TERMS_OF_THE_LOSS", _as_numpy)
    LEARNING_RATE = _written("LEARNING_RATE", _as_numpy)
    CLIPPING_FACTOR = _written("CLIPPING_FACTOR", _as_numpy)
    FIRST_FAULT = _written("FIRST_FAULT", _as_numpy)
    SECOND_FAULT = _written("SECOND_FAULT", _as_numpy)
    THIRD_FAULT = _written("THIRD_FAULT", _as_numpy)


class types_few_digits:
    """Three digits of a fraction, and small letters."""

    LOSS_AT_START = _written("LOSS_AT_START", _as_typed)
    PERPLEXITY = _written("PERPLEXITY", _as_typed)
    TERMS_OF_THE_LOSS = _written("TERMS_OF_THE_LOSS", _as_typed)
    LEARNING_RATE = _written("LEARNING_RATE", _as_typed)
    CLIPPING_FACTOR = _written("CLIPPING_FACTOR", _as_typed)
    FIRST_FAULT = _written("FIRST_FAULT", _as_typed)
    SECOND_FAULT = _written("SECOND_FAULT", _as_typed)
    THIRD_FAULT = _written("THIRD_FAULT", _as_typed)
