"""The next token: from the last hidden state to a word.

After the last layer the decoder holds one vector for each position. Each has read its
own position and the ones before it, so the one that knows the whole text so far is the
last; it alone decides what comes next. The output matrix compares it with every token
of the vocabulary:

    logits         = last hidden state times output_weight  [V]  a real number a token
    probabilities  = softmax(logits)                        [V]  none negative, sum is 1
    token_id       = the place of the largest of them       int  greedy: the most likely

The hidden states come as they are: the decoder's final layer norm has already been
applied.

Example: V = 6, the vocabulary is hub, today, late, refund, carrier, warehouse. One
position, d_model = 4.

    hidden         = [[0.7, -0.2, 0.5, 0.1]]
    output_weight  = [[1.0, 0.5, 0.0, 0.0, 0.1, 0.0],
                      [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
                      [1.0, 0.0, 0.8, 0.0, 0.1, 0.0],
                      [0.0, 0.0, 0.0, 0.5, 0.0, 0.0]]
    logits         = [1.20,  0.35,  0.40,  0.05,  0.12,  -0.20]
    probabilities  = [0.360, 0.154, 0.162, 0.114, 0.122, 0.089]
    token_id       = 0, "hub"

What goes wrong: a model that repeats itself, because the first position or an average
of all was asked; an id beyond the vocabulary, because argmax ran over the logits of all
positions at once; NaN, because exp overflows where a logit is above 88 in float32 or
709 in float64.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, logits in the hundreds, a text of one token.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.4.
"""

import numpy as np


def next_token(
    hidden: np.ndarray,
    output_weight: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Score the vocabulary by the last position and choose the most likely token.

    hidden:        [T, d_model], the decoder's output, already normed.
    output_weight: [d_model, V], one column for each token.
    returns:       the tuple (logits [V], probabilities [V], token_id); both arrays in
                   the dtype of `hidden`, token_id a Python or NumPy int. Logits may be
                   large.

    No argument is changed.
    """
    raise NotImplementedError
