"""Clipping by the norm of all gradients together.

Now and then a batch has gradients many times as large as usual, and one step with them
can undo hours of training. So all gradients of the model are taken as one long vector:
where that vector is longer than `max_norm`, it is shortened to this length. All entries
shrink by one factor, so the direction of the step stays. The length before clipping is
returned too; it is the number that everybody plots.

    norm     = sqrt(sum of the squares of all entries of all arrays)
    clipped  = each array * max_norm / norm          where norm > max_norm
    clipped  = each array as it came, to the bit     elsewhere

A parameter that took no part in the loss has None for a gradient; it adds nothing to
the norm, and its place in the list stays None. Where there is no array at all the norm
is 0.

Example: gradients = [[3.0], None, [4.0]], each array of one entry.

    max_norm 1     clipped [[0.6], None, [0.8]]     norm 5.0
    max_norm 10    clipped [[3.0], None, [4.0]]     norm 5.0

A norm that is not finite (an entry is NaN or infinite) has no factor that would help,
so the call raises ValueError and nothing spoilt goes on. It raises one for max_norm <=
0 too.

Where public code differs: `torch.nn.utils.clip_grad_norm_` works in place, and a norm
that is not finite spoils all gradients unless it is asked to raise. It adds 1e-6 to the
norm that it divides by; this is as good here, because results are compared to five
digits, norms above max_norm are at least 1, and max_norm is at least 0.1 or not
above 0. Whether a norm within a thousandth of max_norm is clipped is not graded.

What goes wrong: each array is clipped by its own norm, and the direction changes;
entries are cut at max_norm one by one; small gradients are scaled up to max_norm; the
norm that is returned is the one after clipping.

Edge cases with their own checks: arrays that are not contiguous, nothing but None,
arrays without an axis, float64, NaN and infinities, a max_norm of 0.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Pascanu, Mikolov and Bengio 2013, "On the difficulty of training recurrent
neural networks", section 3.2 and algorithm 1.
"""

import numpy as np


def clip_gradients(
    gradients: list[np.ndarray | None], max_norm: float
) -> tuple[list[np.ndarray | None], float]:
    """Scale all gradients down together where their common norm exceeds `max_norm`.

    gradients: arrays of any shapes, without entries too, and None; maybe none at all.
               All float32 or all float64; finite entries are below 1e15 in size.
    max_norm:  the largest norm allowed, a finite number.
    returns:   the tuple (clipped, norm): a list in the order of `gradients`, of the
               same shapes and dtype, with None where None was; and the norm before
               clipping, a Python or NumPy float.

    Neither the list nor an array in it is changed; arrays that are not clipped may be
    the same ones.

    Raises ValueError where the norm is not finite, and where max_norm <= 0.
    """
    raise NotImplementedError
