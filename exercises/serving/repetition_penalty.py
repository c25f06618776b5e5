"""The repetition penalty: what was said once becomes less likely.

A model that writes greedily, or nearly so, falls into loops: a phrase that has occurred
makes itself more likely, and the text repeats it for ever. The penalty breaks the loop
without training. Before the next token is chosen, every token that has already occurred
loses some of its logit.

A logit has a sign. Dividing 2 by a penalty above 1 makes it smaller; dividing -2 by it
gives -1, which is larger, and the token becomes more likely. So the rule goes by the
sign:

    seen     = the tokens that occur in the row's ids                  [B, V]
    result   = logit / penalty    where seen and the logit is above 0
               logit * penalty    where seen and the logit is below 0
               logit              elsewhere                            [B, V]

A logit of 0 stays 0, and -inf stays -inf. A token is penalised once, however often it
occurs. `ids` holds the whole text so far, prompt and generated tokens, and every token
counts; there is no padding among them. A penalty below 1 works the other way: what has
occurred becomes more likely.

Example: logits = [2, -1, 0.5], and tokens 0 and 1 occur in ids = [0, 1, 0].

    penalty = 2      ->  [1, -2,   0.5]
    penalty = 0.5    ->  [4, -0.5, 0.5]
    penalty = 1      ->  [2, -1,   0.5]

Public code differs: the paper divides whatever the sign, Hugging Face and vLLM go by
the sign, as here. The presence and frequency penalties of some services are subtracted,
which is another rule.

What goes wrong: a token with a negative logit is said more often, not less; a frequent
word is penalised once for each occurrence and vanishes; the tokens of one row are
penalised in all rows; -inf becomes NaN.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, logits of -inf, a penalty below 1, a text of hundreds of tokens,
another device than the CPU.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Keskar et al. 2019, "CTRL: A Conditional Transformer Language Model for
Controllable Generation", section 4.1, for the penalty; the rule of signs is that of its
implementations.
"""

import torch


def repetition_penalty(
    logits: torch.Tensor,
    ids: torch.Tensor,
    penalty: float,
) -> torch.Tensor:
    """Penalise, in each row, the tokens that have occurred.

    logits:  [B, V]; entries may be 0 or -inf, and stay so.
    ids:     int64 [B, T], each in [0, V): the text of each row so far.
    penalty: above 0. Above 1 it makes what has occurred less likely, below 1 more
             likely.
    returns: [B, V], in the dtype and on the device of `logits`. A token that has not
             occurred keeps its logit to the bit.

    ValueError where penalty <= 0. `logits` and `ids` themselves stay as they are.
    """
    raise NotImplementedError
