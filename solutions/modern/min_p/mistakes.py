"""What goes wrong in min_p: one function a mistake, its docstring what the student is told."""

import torch

_SEEN = {}


def _min_p_filter(logits, p):
    raise NotImplementedError  # TODO: write the right answer once more; each mistake changes one thing


def widens_to_float64(logits, p):
    """float32 comes back as float64, twice the memory: something on the way is float64 and widens the
    rest. The result has the dtype of logits; check casts, and NumPy scalars such as np.sqrt(2)."""
    return _min_p_filter(logits.double(), p)


def computes_in_float32(logits, p):
    """float64 arguments get results with half of their digits: the work was done in float32. The
    result has the dtype of logits, in its digits too; check casts."""
    return _min_p_filter(logits.float(), p).to(logits.dtype)


def trusts_the_memory_layout(logits, p):
    """Where logits is a transposed view the result is wrong, elsewhere right: its numbers are taken
    in the order that they have in memory. Check what becomes of logits when it is cut or flattened."""
    return _min_p_filter(logits.as_strided(logits.shape, torch.empty(logits.shape).stride()), p)


def overwrites_the_argument(logits, p):
    """The caller's logits holds something else after the call: an operation in place writes into the
    caller's memory. Make a new array in the first step."""
    result = _min_p_filter(logits, p)
    logits *= 2
    return result


def answers_as_the_first_time(logits, p):
    """The first call is right, and later ones of the same shape get its answer again: something
    outlives the call. Check what is kept between calls."""
    return _SEEN.setdefault((logits.shape, logits.dtype), _min_p_filter(logits, p))


# TODO: add what goes wrong in this kata: a step left out, done twice, swapped, along the wrong axis
