"""ZeRO: the optimizer's state lies on all machines, a piece on each.

In data parallelism N machines (ranks) hold the same model, and each computes gradients
on its own part of the batch. AdamW keeps two more numbers, m and v, for each parameter.
Every rank would keep the same ones, N times in all. ZeRO gives each rank a piece of
them: it updates its piece of the parameters alone, and the ranks exchange the pieces.

The P parameters are one flat array. Rank r holds S = P/N entries of m and of v, rounded
up: those of the parameters r*S, ..., r*S + S - 1. Where that goes beyond P, the entries
are padding. All shards have S entries. What m and v hold at padding is 0 in the
arguments, and is not graded in the results.

    mean gradient     reduce_scatter of the gradients, over N     [S]
    its piece         entries r*S ... of the parameters           [S]
    AdamW on it       with its own m and v                        [S] each
    new parameters    all_gather of the pieces, without padding   [P]

`zero_step` is the code of one rank, and every rank runs it. Two functions connect them:

    reduce_scatter(a)   adds up what the ranks give, arrays of one shape, cuts the sum
                        along its first axis into N equal pieces, and returns piece r
    all_gather(a)       returns the list of what all ranks give, in their order

All ranks must call them in the same order, since each waits for the others there. The
gradient of the whole batch is the average of the ranks' gradients. AdamW is this:

    m = beta1 * m + (1 - beta1) * g,   m_hat = m / (1 - beta1^step)
    v = beta2 * v + (1 - beta2) * g^2, v_hat = v / (1 - beta2^step)
    p = p - lr * (m_hat / (sqrt(v_hat) + eps) + weight_decay * p)

What comes back as m and v is not corrected.

Traffic is counted as on a ring of N ranks, where one rank sends (N - 1) / N * n numbers
for the reduce_scatter of an array of n, and (N - 1) * n for an all_gather. In one step
it may send at most 2 * (N - 1) * S numbers of the arguments' dtype: as many as the sum
of all gradients takes in plain data parallelism.

Example: P = 3 and N = 2, so S = 2. Step 1 from m = v = 0, with lr = 0.1, betas
(0.9, 0.999), eps = 1e-8 and weight_decay = 0.01; all parameters are [1, 2, -1].

                      rank 0              rank 1
    gradient          [1, 0, 2]           [0, 4, -1]
    mean gradient     [0.5, 2]            [0.5, .]        . is padding
    new piece         [0.899, 1.898]      [-1.099, .]
    new m             [0.05, 0.2]         [0.05, .]
    new v             [0.00025, 0.004]    [0.00025, .]
    new parameters    [0.899, 1.898, -1.099] on both

To run several ranks yourself (the function is called once for each rank, and again when
all have reached a collective):

    from grader.ranks import Ranks
    ranks = Ranks(2)
    ranks.run(zero_step, [arguments_of_rank_0, arguments_of_rank_1],
              "reduce_scatter", "all_gather")

The arguments are dicts, by name, without the two functions. `ranks.bytes_sent` has the
traffic of a rank.

Where public code differs: DeepSpeed and PyTorch's FSDP pad as here. PyTorch's
ZeroRedundancyOptimizer gives whole tensors to the ranks, and does not cut them.

What goes wrong: steps N times too large inside m (a sum in place of an average); each
rank steps by its own gradients, so that the copies drift apart; padding comes back with
the parameters; three trips in place of two (all gradients go to all ranks); a rank that
holds padding alone returns early, so that the others wait for ever.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64.

Source: Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward Training Trillion
Parameter Models", section 5 (partitions of states and gradients) and section 7
(traffic); AdamW: Loshchilov and Hutter 2019, algorithm 2.
"""

from collections.abc import Callable

import numpy as np


def zero_step(
    parameter: np.ndarray,
    gradient: np.ndarray,
    m: np.ndarray,
    v: np.ndarray,
    step: int,
    rank: int,
    size: int,
    lr: float,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    reduce_scatter: Callable[[np.ndarray], np.ndarray],
    all_gather: Callable[[np.ndarray], list[np.ndarray]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Take one rank's part in one AdamW step.

    parameter:      [P], the same on all ranks.
    gradient:       [P], from this rank's part of the batch.
    m, v:           [S], this rank's piece of the running means; v is not negative.
    step:           the number of this update, from 1.
    rank, size:     r, from 0, and N, from 1.
    lr, betas, eps, weight_decay: as in AdamW; eps is above 0.
    reduce_scatter: returns this rank's piece of the sum over all ranks.
    all_gather:     returns the list of what the ranks gave.
    returns:        the new (parameter [P], m [S], v [S]), in the dtype of the
                    arguments. The parameters are those of all pieces.

    No argument is changed. The function may be called several times for one result.
    """
    raise NotImplementedError
