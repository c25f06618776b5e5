"""Splitting into heads, and merging them again.

Multi-head attention runs several small attentions side by side. The vector of each
token, d_model wide, is cut into num_heads pieces of d_head = d_model / num_heads
neighbouring columns: head 0 gets the first d_head columns, head 1 the next, and so on.
Each head then attends by itself, over all tokens of one sequence, so the axis of the
heads has to stand before that of the tokens:

    split_heads  [B, T, d_model]   -> [B, H, T, d_head]   B sequences, T tokens, H heads
    merge_heads  [B, H, T, d_head] -> [B, T, H * d_head]  undoes it

Example: one sequence of three tokens, d_model = 4, two heads.

    x = [[[0,  1,  2,  3],   split_heads(x, 2) = [[[[0, 1], [4, 5], [ 8,  9]],   head 0
          [4,  5,  6,  7],                         [[2, 3], [6, 7], [10, 11]]]]  head 1
          [8,  9, 10, 11]]]

Nothing is computed: every number only finds its place, so integers come out as
integers.

What goes wrong: a reshape straight to [B, H, T, d_head] has the right shape and gives
head 0 the first tokens rather than the first columns. Split and merge may be wrong in
the same way and still undo each other; the model then trains, and attends to nonsense.

Edge cases with their own checks: arrays that are not contiguous, heads of one column,
axes of length one, integers.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.2.
"""

import numpy as np


def split_heads(x: np.ndarray, num_heads: int) -> np.ndarray:
    """Give each head its block of columns.

    x:         [B, T, d_model], of any dtype, which is kept.
    num_heads: the number of heads, H, at least 1.
    returns:   [B, H, T, d_head] with d_head = d_model / num_heads; a view of `x` will
               do.

    Raises ValueError where d_model is not divisible by num_heads.
    """
    raise NotImplementedError


def merge_heads(x: np.ndarray) -> np.ndarray:
    """Put the blocks of all heads side by side again.

    x:       [B, H, T, d_head], of any dtype, which is kept.
    returns: [B, T, d_model] with d_model = H * d_head.
    """
    raise NotImplementedError
