"""Right answers to min_p in other styles."""

import torch


def _min_p_filter(logits, p):
    raise NotImplementedError  # TODO: write the right answer in another style than the reference's


def in_other_words(logits, p):
    """In other words."""
    return _min_p_filter(logits, p)


def in_float64(logits, p):
    """Widened at the door, cast back at the end."""
    return _min_p_filter(logits.double(), p).to(logits.dtype)


# TODO: add other styles: loops, einsum, library calls, another order of the steps
