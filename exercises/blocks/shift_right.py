"""Shifting right: what the decoder reads, and what it has to say.

A decoder predicts the token at position t from the tokens before it. In training all
positions are worked out at once, and the right tokens, not the model's own guesses, are
what it reads ("teacher forcing"). So the sequence is needed twice, once as input and
once as target, one step apart.

In translation the decoder starts from a start token and reads the target sentence up to
the token before:

    ids                      = [[7, 8, 9],      these are the targets             [B, T]
                                [4, 5, 6]]
    shift_right(ids, 1)      = [[1, 7, 8],      these are the inputs              [B, T]
                                [1, 4, 5]]      start_id = 1; the last id drops out

A language model has no start token: it reads a stretch of text and predicts the same
stretch one further.

    next_token_pairs(ids)  = ([[7, 8],  ,  [[8, 9],   inputs, targets   [B, T - 1] each
                               [4, 5]]      [5, 6]])  of 7 comes 8, of 7 8 comes 9

A single token has no next one, so next_token_pairs refuses T = 1.

What goes wrong: inputs equal to the targets, and the loss falls to zero in minutes,
because the model only copies; a roll that brings the last token to the front, so that
the model reads its own answer; a shift of the flattened batch, so that a sequence
begins with the end of the one before it.

Edge cases with their own checks: arrays that are not contiguous, ids of -100, a
start_id of 0, a text of two tokens.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.1 ("offset by one
position"); Williams and Zipser 1989, for teacher forcing.
"""

import numpy as np


def shift_right(ids: np.ndarray, start_id: int) -> np.ndarray:
    """Put `start_id` in front of every sequence and drop its last token.

    ids:      [B, T] of any integer dtype, which is kept; T >= 1.
    start_id: any id of that dtype, 0 too.
    returns:  [B, T]. `ids` itself is not changed.
    """
    raise NotImplementedError


def next_token_pairs(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut a text into what is read and what is to be predicted.

    ids:     [B, T] of any integer dtype, which is kept.
    returns: the tuple (inputs, targets), [B, T - 1] each; views of `ids` will do.

    Raises ValueError where T < 2 (0 included).
    """
    raise NotImplementedError
