"""Ring attention: a sequence that lies on several machines.

A long context does not fit on one GPU. Ring attention cuts the tokens into N blocks of
T, one for each machine (rank). Rank r has the queries, keys and values of the tokens
r*T, ..., r*T + T - 1. Its queries never leave it. The keys and values travel: at each
hop every rank gives its current block to the next rank and gets that of the rank
before, so that after N - 1 hops each rank has seen all blocks, and has held only a few
at any time.

What a rank knows after some blocks is a pair: the attention over the keys seen so far,
and the logarithm of its softmax's denominator,

    output   = sum over keys of exp(score) * value / exp(log_sum)      [T, d_v]
    log_sum  = log of the sum over keys of exp(score)                  [T, 1]
    score    = q k^T / sqrt(d_k)

`merge` makes one pair of two, which have seen different keys:

    log_sum' = log(exp(log_sum_1) + exp(log_sum_2))
    output'  = exp(log_sum_1 - log_sum') * output_1
               + exp(log_sum_2 - log_sum') * output_2

The order in which blocks are merged does not matter. Scores reach up to 6,000 in size,
so exp(log_sum) itself may overflow. A row that has seen no key has the log_sum -inf and
the output 0, and changes nothing: two such rows make another one.

`ring_attention` is the code of one rank, and every rank runs it. `shift(a)` gives an
array to the next rank, and returns what the rank before gave; the first rank gets that
of the last. All ranks must call it equally often, since each waits for the others
there. With `causal` a query sees the keys up to its own position in the whole sequence:
those of earlier ranks, and of its own block up to itself. Blocks travel on also where
the rank itself does not need them.

A rank may give at most (N - 1) * T * (d_k + d_v) numbers to shift. When it calls shift,
it may hold at most two blocks beside its arguments: the one that it is working with,
and a part or all of the next one. So it keeps no block that it has passed on. The check
measures the bytes in use and leaves room for outputs and scores: with 12 ranks, 4
blocks.

Example of merge: a row with the scores 1 and 2 and the values 10 and 20, and the same
row with the score 4 and the value 30.

    first    output 17.311   log_sum 2.313
    second   output 30       log_sum 4
    merged   output 28.018   log_sum 4.170

Example of the ring: two ranks with one token each, d_k = d_v = 1.

                  rank 0    rank 1
    q             [[1]]     [[1]]
    k             [[0]]     [[1.0986]]      the logarithm of 3
    v             [[10]]    [[20]]
    output        [[17.5]]  [[17.5]]        weights 1/4 and 3/4
    with causal   [[10]]    [[17.5]]

To run several ranks yourself (the function is called once for each rank, and again when
all have reached a shift):

    from grader.ranks import Ranks
    ranks = Ranks(2)
    ranks.run(ring_attention, [arguments_of_rank_0, arguments_of_rank_1], "shift")

The arguments are dicts, by name, without shift.

Where public code differs: the paper carries numerator, denominator and maximum, and
divides at the end; libraries that build on flash attention carry the output and the
log-sum, as here. With blocks in this order causal leaves early ranks idle; striped
attention deals the tokens out in turn.

What goes wrong: outputs are averaged without their weights; a causal mask of one block
on blocks of other ranks; the block of rank r + 1 is taken for that of rank r - 1; a
rank that needs no more blocks stops passing them on, so that the others wait for ever;
blocks pile up in a list.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, rows that have seen no key. The answer is in NumPy, since its memory is
measured.

Source: Liu, Zaharia and Abbeel 2023, "Ring Attention with Blockwise Transformers for
Near-Infinite Context"; Milakov and Gimelshein 2018, "Online normalizer calculation for
softmax" (the sums of two blocks become one).
"""

from collections.abc import Callable

import numpy as np


def merge(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Make one pair of two that have seen different keys.

    first, second: (output [T, d_v], log_sum [T, 1]); log_sum is finite, or -inf where
                   the row has seen no key and its output is 0.
    returns:       the pair (output, log_sum) over the keys of both, in the same shapes
                   and dtype.

    No argument is changed.
    """
    raise NotImplementedError


def ring_attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    rank: int,
    size: int,
    causal: bool,
    shift: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Compute the attention of one rank's queries over the keys of all ranks.

    q, k:    [T, d_k], this rank's queries and keys; T is the same on all ranks.
    v:       [T, d_v], its values.
    rank:    r, from 0.
    size:    N, the number of ranks, from 1.
    causal:  whether a query sees no later key.
    shift:   gives an array to rank r + 1 and returns that of rank r - 1.
    returns: [T, d_v], in the dtype of the arguments.

    No argument is changed. The function may be called several times for one result.
    """
    raise NotImplementedError
