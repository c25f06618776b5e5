"""Tensor parallelism: one layer whose weights lie on several machines.

A large model does not fit on one GPU. Tensor parallelism gives each of N machines
(ranks) a part of every matrix. Here it is the feed-forward layer

    before = x w1 + b1              [T, d_ff]
    hidden = max(0, before)         [T, d_ff]
    output = hidden w2 + b2         [T, d_model]

The first matrix is cut into N blocks of columns, so that each rank computes some of the
hidden numbers completely, and the ReLU needs no other rank. The second is cut into the
same blocks of rows. So the product of a rank's hidden numbers with its rows is a part
of a sum, and adding up these parts over all ranks gives hidden w2:

    w1 [d_model, d_ff/N]   b1 [d_ff/N]   w2 [d_ff/N, d_model]     of each rank alone
    x [T, d_model]         b2 [d_model]  grad [T, d_model]        the same on all ranks

`mlp_rank` is the code of one rank, and every rank runs it. `all_reduce(a)` adds up what
the ranks give, arrays of one shape, and returns the sum to each of them. All ranks must
call it equally often, since each waits for the others there.

`grad` is the gradient of the loss by the output. The function computes the layer and
goes back:

    d_hidden = grad w2^T                       [T, d_ff/N]
    d_before = d_hidden where before > 0,      [T, d_ff/N]
               else 0
    d_x      = d_before w1^T, summed over      [T, d_model]
               the ranks
    d_w1 = x^T d_before,  d_b1 = the sum of d_before over the tokens
    d_w2 = hidden^T grad, d_b2 = the sum of grad over the tokens

The gradients of w1, b1 and w2 are those of the rank's own piece. The gradient of x is a
sum over all d_ff hidden numbers, so over all ranks. b2 is added once, and every rank
has its whole gradient.

A rank may call all_reduce at most twice, and may give it at most 2 * T * d_model
numbers in all: one sum of [T, d_model] forward, one backward.

Example: two ranks, x = [[2, 1]], b1 = 0, b2 = [0.5, -1], grad = [[1, 2]].

                    rank 0              rank 1
    w1              [[1], [1]]          [[1], [0]]
    w2              [[1, 2]]            [[4, 1]]
    hidden          [[3]]               [[2]]
    hidden w2       [[3, 6]]            [[8, 2]]       sum [[11, 8]]
    output          [[11.5, 7]]         [[11.5, 7]]
    d_before        [[5]]               [[6]]
    d_before w1^T   [[5, 5]]            [[6, 0]]       sum: d_x = [[11, 5]]
    d_w1            [[10], [5]]         [[12], [6]]
    d_b1, d_w2      [5], [[3, 6]]       [6], [[2, 4]]
    d_b2            [1, 2]              [1, 2]

To run several ranks yourself (the function is called once for each rank, and again when
all have reached a sum):

    from grader.ranks import Ranks
    ranks = Ranks(2)
    ranks.run(mlp_rank, [arguments_of_rank_0, arguments_of_rank_1], "all_reduce")

The arguments are dicts, by name, without all_reduce. For a single rank,
all_reduce=lambda a: a is enough.

Where public code differs: Megatron's linear layers store weights as [d_out, d_in] and
use GELU; its functions f and g hold the two sums, each the other one's backward.

What goes wrong: b2 counts N times (it was added before the sum); d_x is that of one
rank; grad is summed, though all ranks have the whole of it; sums before the ReLU; a
rank that calls all_reduce only sometimes, so that the others wait for ever; numbers
kept from the call of another rank.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64. Not graded: entries of `before` that are exactly 0, which do not occur.

Source: Shoeybi et al. 2019, "Megatron-LM: Training Multi-Billion Parameter Language
Models Using Model Parallelism", section 3.
"""

from collections.abc import Callable

import numpy as np


def mlp_rank(
    x: np.ndarray,
    w1: np.ndarray,
    b1: np.ndarray,
    w2: np.ndarray,
    b2: np.ndarray,
    grad: np.ndarray,
    all_reduce: Callable[[np.ndarray], np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Compute one rank's part of a feed-forward layer, forward and backward.

    x:          [T, d_model].
    w1, b1:     [d_model, d_ff/N] and [d_ff/N], this rank's columns.
    w2:         [d_ff/N, d_model], this rank's rows.
    b2:         [d_model].
    grad:       [T, d_model], the gradient of the loss by the output.
    all_reduce: takes an array and returns the sum of what all ranks gave, in its shape
                and dtype.
    returns:    (output, d_x, d_w1, d_b1, d_w2, d_b2), each in the dtype of the
                arguments: output and d_x [T, d_model], the others in the shape of w1,
                b1, w2 and b2.

    No argument is changed. The function may be called several times for one result.
    """
    raise NotImplementedError
