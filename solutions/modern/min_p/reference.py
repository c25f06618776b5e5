"""Nguyen et al. 2024, section 3."""

import torch


def min_p_filter(logits, p):
    raise NotImplementedError  # TODO: write the reference, the shape of each value at its line's end
