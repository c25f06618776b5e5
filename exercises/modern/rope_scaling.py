"""RoPE scaling: a longer context for positions that turn.

A model that was trained on 4096 tokens has never seen the angles that come after them.
Fast pairs have: they turned round hundreds of times. The slowest have not finished one
turn, and at token 10,000 they reach angles that no training showed. YaRN looks at each
pair by itself. Pairs that turned often keep their frequency, pairs that never turned
round are slowed down by the factor that the context grows by, and between the two there
is a straight line:

    frequency_i = base^(-2i / d_head)                          i = 0 ... d_head/2 - 1
    turns_i     = original_length * frequency_i / (2 pi)       in the original length
    kept_i      = (turns_i - beta_slow) / (beta_fast - beta_slow), cut to [0, 1]
    result_i    = kept_i * frequency_i + (1 - kept_i) * frequency_i / factor

So a pair with more than beta_fast turns is untouched, and one with fewer than beta_slow
turns is divided by the factor. Besides, more tokens share the attention, which makes it
too even. YaRN sharpens it: queries and keys are multiplied by

    temperature = 0.1 * ln(factor) + 1

each, and their scores by its square. `rope_scaling` is rotary embedding with the new
frequencies, times the temperature. Pairs are neighbouring columns, 0 and 1, 2 and 3, as
in `rotary_embedding`:

    angle          = position * result_i
    out[2i]        = temperature * (x[2i] * cos(angle) - x[2i + 1] * sin(angle))
    out[2i + 1]    = temperature * (x[2i] * sin(angle) + x[2i + 1] * cos(angle))

Example: d_head = 8, base 10000, original_length = 4096, factor = 4, borders 32 and 1.

    pair           0        1        2           3
    frequency      1        0.1      0.01        0.001
    turns          651.9    65.19    6.519       0.6519
    kept           1        1        0.1780      0
    result         1        0.1      0.0038352   0.00025

    temperature    0.1 * 1.3863 + 1 = 1.13863
    the pair (1, 0) in columns 6 and 7, at position 100: the angle is 0.025, and it
    becomes (1.1383, 0.0285)

Elsewhere: the code of the authors and of Hugging Face draws the line over the number of
the pair, between two rounded pairs, and not over the turns; its middle frequencies are
others. Llama 3.1 has this formula with the borders 4 and 1 and without a temperature.
Position interpolation divides all frequencies by the factor.

What goes wrong: all pairs are slowed down, which blurs neighbouring tokens; the borders
are exchanged; turns are counted without 2 pi; the temperature is missing, or stands in
the wrong place: squared, or as a divisor.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, another base, other borders.

Where a ValueError is expected, a failing `assert` is accepted too.

The answer is in NumPy; there is none in PyTorch.

Source: Peng et al. 2023, "YaRN: Efficient Context Window Extension of Large Language
Models" (NTK-by-parts, and the scale of the attention).
"""

import numpy as np


def yarn_frequencies(
    d_head: int,
    factor: float,
    original_length: int,
    base: float = 10000.0,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
) -> np.ndarray:
    """Return the frequency of each pair for a context that is `factor` times as long.

    d_head:          even.
    factor:          1 or more; 1 gives the frequencies of RoPE.
    original_length: the tokens of a training sequence.
    base:            above 1.
    beta_fast:       with so many turns or more, a pair is untouched.
    beta_slow:       with so many turns or fewer, a pair is divided by factor; above 0
                     and below beta_fast.
    returns:         float64 [d_head / 2].

    ValueError where d_head is odd or factor is below 1.
    """
    raise NotImplementedError


def rope_scaling(
    x: np.ndarray,
    positions: np.ndarray,
    factor: float,
    original_length: int,
    base: float = 10000.0,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
) -> np.ndarray:
    """Turn each token's pairs by its position, and lengthen them by the temperature.

    x:         [..., T, d_head], queries or keys, any axes in front or none.
    positions: [T], integers from 0 to 250, in any order.
    returns:   [..., T, d_head], in the dtype of `x`. With a float32 `x` the angles may
               be float32 too.

    The other parameters are those of `yarn_frequencies`, and so are the errors. No
    argument is changed.
    """
    raise NotImplementedError
