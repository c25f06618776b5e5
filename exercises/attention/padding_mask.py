"""Padding masks: the filling of a batch must not be read.

Sequences of a batch differ in length, an array does not: short ones are filled up with
an id that stands for no token, pad_id. Padding usually fills the end, but it may stand
anywhere in a row. It is hidden by masks which are True where the query MAY attend to
the key; here queries and keys must BOTH be real tokens.

    padding_mask(ids, pad_id)             [B, T]                True at real tokens
    decoder_self_mask(ids, pad_id)        [B, 1, T, T]          both ends real, and the
                                                                key not after the query
    cross_mask(tgt_ids, src_ids, pad_id)  [B, 1, T_tgt, T_src]  both ends real: query in
                                                                the target, key in the
                                                                source

The axis of length 1 is that of the heads: by broadcasting, the mask serves all of them.
Rows are queries, columns are keys, as in the scores. The row of a padded query is all
False; attention gives it weights 0. An encoder's self-attention needs no function of
its own: it is cross_mask(src, src, pad_id).

Example: pad_id = 0, one target of three positions and one source of four.

    tgt = [[5, 7, 0]]            padding_mask(tgt, 0)    = [[True, True, False]]
    src = [[3, 0, 8, 9]]         padding_mask(src, 0)    = [[True, False, True, True]]

    decoder_self_mask(tgt, 0)    = [[[[True,  False, False],
                                      [True,  True,  False],
                                      [False, False, False]]]]
    cross_mask(tgt, src, 0)      = [[[[True,  False, True,  True ],
                                      [True,  False, True,  True ],
                                      [False, False, False, False]]]]

What goes wrong: translations that change with the length of their neighbours in the
batch (padding is read); a pad_id other than 0 that goes unnoticed, since `ids > 0` was
so short; a mask that serves one sequence and not two, because its batch axis stands
where the axis of the heads belongs.

Edge cases with their own checks: arrays that are not contiguous, padding anywhere, a
negative pad_id, sequences of padding alone.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.3, for the causal
half; padding as in its reference code and in Rush 2018, "The Annotated Transformer",
section "Batches and Masking".
"""

import numpy as np


def padding_mask(ids: np.ndarray, pad_id: int) -> np.ndarray:
    """Say which positions hold real tokens.

    ids:     [B, T], of any integer dtype.
    pad_id:  the id that stands for padding: any int, 0 or negative or one that does not
             occur, even one that the dtype of the ids cannot hold.
    returns: bool [B, T], True at real tokens.
    """
    raise NotImplementedError


def decoder_self_mask(ids: np.ndarray, pad_id: int) -> np.ndarray:
    """Say which target token may attend to which: bool [B, 1, T, T] for `ids [B, T]`.

    True where the query and the key are real tokens, and the key does not stand after
    the query.
    """
    raise NotImplementedError


def cross_mask(tgt_ids: np.ndarray, src_ids: np.ndarray, pad_id: int) -> np.ndarray:
    """Say which target token may read which source token: bool [B, 1, T_tgt, T_src].

    tgt_ids: [B, T_tgt], the queries.
    src_ids: [B, T_src], the keys. True where both are real tokens.
    """
    raise NotImplementedError
