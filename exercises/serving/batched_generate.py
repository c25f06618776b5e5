"""Batched generation: prompts of all lengths in one batch.

A model reads one more row nearly for free, so a server generates for many prompts at
once. Rows of a batch have one length, and prompts have many. The short ones are filled
up with `pad_id`, on the left: the model gives the logits of the token after the last
column, which must be a real one in every row. Two more tensors tell the model what is
real and where it stands:

    ids             [N, T]  pad_id, ..., pad_id, the row's tokens in the last columns
    attention_mask  [N, T]  True at the row's tokens, False at padding
    position_ids    [N, T]  0, 1, 2, ... at the row's tokens, in whatever column the
                            first one stands; at padding any number from 0 to T - 1

The mask comes from the lengths of the prompts, never from comparing ids with `pad_id`:
that may be any token, one that stands in prompts and `eos_id` itself included.

Each step calls the model once for all rows that have not ended, takes the most likely
token of each row, and appends it. A row ends with a generated `eos_id`, which it keeps,
or after `max_new_tokens`; an eos in the prompt ends nothing. Rows that have ended may
be shown to the model or not, and what it says about them is not used. So the number of
calls is the largest number of tokens that a row gets.

Every row is what its prompt would give alone. The result is a list of lists, without
padding.

Example: prompts [[5, 6, 7], [8]], pad_id 0. The first call shows, and the second, after
the tokens 2 and 3,

    ids             [[5, 6, 7],         [[5, 6, 7, 2],
                     [0, 0, 8]]          [0, 0, 8, 3]]
    attention_mask  [[1, 1, 1],         [[1, 1, 1, 1],
                     [0, 0, 1]]          [0, 0, 1, 1]]
    position_ids    [[0, 1, 2],         [[0, 1, 2, 3],
                     [., ., 0]]          [., ., 0, 1]]

With max_new_tokens 2 and eos_id 3, and 4 as the next token of row 0, the result is
[[5, 6, 7, 2, 4], [8, 3]].

(A report shows a model as a `table`: for each of a row's real tokens
table[position, id] is added up, and the sum is the row's logits, but for a small number
that prevents ties.)

Public code differs: Hugging Face computes positions as cumsum(mask) - 1, with 1 at
padding, which is as good. Its result keeps the padding and fills ended rows with
pad_id; here lists come back.

What goes wrong: short prompts give another text in a batch than alone (padding is
attended to, or positions count it); a prompt that holds pad_id loses it; one row's end
cuts off the others; ended rows write on.

Edge cases with their own checks: a max_new_tokens or an eos_id of 0, an eos_id in a
prompt, a pad_id that stands in a prompt or equals eos_id.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.1 (auto-regressive
generation); Wolf et al. 2020, "Transformers: State-of-the-Art Natural Language
Processing", and its documentation on generation (left padding).
"""

from collections.abc import Callable

import torch


def batched_generate(
    model: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor],
    prompts: list[list[int]],
    max_new_tokens: int,
    pad_id: int,
    eos_id: int | None = None,
) -> list[list[int]]:
    """Generate greedily for all prompts at once.

    model:          called as model(ids, attention_mask, position_ids), int64, bool and
                    int64, all [N, T] on the CPU, with any number N of rows in any
                    order; returns [N, V], the logits of the token after the last
                    column.
    prompts:        B lists of ids, each with at least one id.
    max_new_tokens: the most tokens that a row gets; 0 or more, and with 0 the model is
                    not called.
    pad_id:         what fills the columns before a row's tokens, any id in [0, V).
    eos_id:         the token that ends a row once it is generated; where it is None, no
                    row ends early.
    returns:        B lists of ints, each its prompt and the new ids behind it, the eos
                    included.

    No two logits of a row tie. `prompts` and its lists stay as they are.
    """
    raise NotImplementedError
