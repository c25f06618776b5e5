"""Right answers to every kata of inputs, given in another form: with arrays, or with tuples."""

import numpy as np
import reference


def _written(how):
    """Return a class decorator that adds every input of the reference, with its lists changed by `how`."""

    def fill(spelling):
        for name, given in vars(reference).items():
            if name.isupper() and callable(given):
                setattr(spelling, name, _changed(given, how))
        return spelling

    return fill


def _changed(given, how):
    return lambda **numbers: {
        name: how(value) if isinstance(value, list) else value for name, value in given(**numbers).items()
    }


def _as_tuple(value):
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def _as_numbers(value):
    return list(map(_as_numbers, value)) if isinstance(value, list) else np.asarray(value)[()]


@_written(np.array)
class answers_with_arrays:
    """Inputs with NumPy arrays in place of lists."""


@_written(_as_tuple)
class answers_with_tuples:
    """Inputs with tuples in place of lists."""


@_written(_as_numbers)
class answers_with_numpy_numbers:
    """Inputs with lists of NumPy's numbers in place of Python's."""
