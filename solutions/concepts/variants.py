"""The right answers to any page of questions, written in other ways."""

import numpy as np
import reference


def _written(how):
    """Return a class decorator that adds every answer of the reference, changed by `how`."""

    def fill(spelling):
        for name, answer in vars(reference).items():
            if name.isupper() and callable(answer):
                setattr(spelling, name, _changed(answer, how))
        return spelling

    return fill


def _changed(answer, how):
    return lambda **numbers: how(answer(**numbers))


def _as_list(answer):
    return list(answer) if isinstance(answer, tuple) else answer


def _as_numpy(answer):
    return answer if isinstance(answer, str) else np.asarray(answer)[()]


def _as_typed(answer):
    """Return an answer as a student types it: three digits of a fraction, a small letter."""
    if isinstance(answer, str):
        return f" {answer.lower()}"
    return float(f"{answer:.3g}") if isinstance(answer, float) else answer


@_written(_as_list)
class answers_with_lists:
    """Lists in place of tuples."""


@_written(_as_numpy)
class answers_with_numpy:
    """Arrays and NumPy's numbers."""


@_written(_as_typed)
class types_few_digits:
    """Three digits of a fraction, and small letters."""
