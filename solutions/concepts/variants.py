"""Right answers to every question kata, given in another form: as lists, as NumPy values, or as typed."""

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
    """Answers with lists in place of tuples."""


@_written(_as_numpy)
class answers_with_numpy:
    """Answers with NumPy arrays and NumPy numbers in place of Python's."""


@_written(_as_typed)
class types_few_digits:
    """Answers as a student types them: numbers rounded to three digits, letters in lower case."""
