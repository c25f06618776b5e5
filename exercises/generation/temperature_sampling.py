"""Temperature sampling: draw the next token, boldly or carefully.

Greedy decoding always writes the most likely token, and so always the same text, which
soon repeats itself. Sampling draws the token from the model's distribution instead. The
temperature T changes that distribution before the draw: all logits are divided by it.

    probabilities  = softmax(logits / T)             [B, V]
    ids            = one draw from each row          [B]

Dividing by T multiplies all differences between logits by 1 / T. Below 1 the likely
tokens gain, and near 0 only the most likely one is left: T = 0 stands for that limit,
greedy decoding, since nothing can be divided by 0. Above 1 the distribution becomes
flatter, and for a very large T all tokens are alike.

Example, logits [2.0, 1.0, 0.0]:

    T = 0      always token 0
    T = 0.5    [0.867, 0.117, 0.016]
    T = 1      [0.665, 0.245, 0.090]
    T = 2      [0.506, 0.307, 0.186]

At T = 0.001 they are divided to [2000, 1000, 0], far beyond what exp can hold; the
probabilities are [1, 0, 0] nevertheless.

Random numbers come from a `torch.Generator`. It has a state, which its seed determines
and every draw moves on: who starts with the same seed gets the same draws again, and
who draws twice gets two different draws. Without a generator PyTorch's own is used.
Each row is drawn for itself, independently of the others.

What goes wrong: NaN from a division by 0, or from exp at a low temperature; the
temperature multiplies; it divides probabilities, which changes nothing once they are
normalised; the generator is seeded anew in each call, so that every draw is the same;
the ids come as [B, 1].

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, temperature 0, extreme scores, a batch of one row, a vocabulary of
50,257 tokens, another device than the CPU.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Ackley, Hinton and Sejnowski 1985, "A Learning Algorithm for Boltzmann
Machines", section 2 (the temperature of a distribution); Holtzman et al. 2020, "The
Curious Case of Neural Text Degeneration", section 3.3 (in text generation).
"""

import torch


def sample(
    logits: torch.Tensor, temperature: float, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Draw one token for each row, from softmax(logits / temperature).

    logits:      [B, V], of any size. Entries may be -inf, and are never drawn; every
                 row has at least one that is not.
    temperature: 0, which always takes the most likely token, or from 1e-3 up.
    generator:   where the random numbers come from; PyTorch's own if it is None.
    returns:     ids, int64 [B].

    ValueError where the temperature is negative. `logits` itself stays as it is. Which
    ids belong to a seed is left open.
    """
    raise NotImplementedError
