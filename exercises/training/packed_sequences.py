"""Packed sequences: several documents in one row, kept apart.

Documents differ in length, rows do not. Filling each row with padding wastes most of
the work, so training packs several documents into one row, one behind the other.
Without further care a token then reads the documents before its own, counts its
position from the beginning of the row, and the last token of a document has to predict
the first one of the next, about which it knows nothing. Three arrays prevent that, all
made from document_ids, which names the document of each token:

    packed_mask       bool [B, 1, T, T]  True where the query MAY attend to the key:
                                         they belong to one document, and the key does
                                         not stand after the query
    packed_positions  int64 [B, T]       0, 1, 2 ... in each document
    packed_targets    int64 [B, T]       the next token of the same document, or
                                         ignore_index where there is none: at the last
                                         token of a document and in the last column

The tokens of a document are neighbours. Its name is any number from 0. Names come in
any order, and the documents of one row have different names. A negative number is
padding, which may stand before, between and behind documents, never inside one. A
padding query attends to nothing, not even to itself, and no query attends to padding.
The target at padding is ignore_index, and its position is not graded. The axis of
length 1 is that of the heads.

Example: three tokens of document 7, two of document 2, one of padding; ignore_index =
-100.

    document_ids = [[ 7,  7,    7,  2,    2,   -1]]       the mask's rows    1 0 0 0 0 0
    ids          = [[11, 12,   13, 21,   22,    0]]       (1 is True)        1 1 0 0 0 0
    positions    = [[ 0,  1,    2,  0,    1,  any]]                          1 1 1 0 0 0
    targets      = [[12, 13, -100, 22, -100, -100]]                          0 0 0 1 0 0
                                                                             0 0 0 1 1 0
                                                                             0 0 0 0 0 0

Elsewhere: Hugging Face's flattening collator ignores the first token of each document,
since its models shift the labels themselves; here the targets are shifted already, as
in `next_token_pairs`. GPT-3 let the documents of a row see each other.

What goes wrong: padding attends to padding, because -1 equals -1; a mask that compares
names with >=, which is right only if they grow from left to right; the last token of a
document learns to predict a new beginning.

Edge cases with their own checks: arrays that are not contiguous, padding anywhere,
names beyond 32 bits, unsigned integers, another ignore_index, rows of one token.

Source: Krell et al. 2021, "Efficient Sequence Packing without Cross-contamination", for
positions and mask; Dubey et al. 2024, "The Llama 3 Herd of Models", section 3.2, for
document masks.
"""

import numpy as np


def packed_mask(document_ids: np.ndarray) -> np.ndarray:
    """Let each token attend to the earlier ones of its own document, and to itself.

    document_ids: [B, T], of any integer dtype; negative at padding.
    returns:      bool [B, 1, T, T]; rows are queries, columns are keys.
    """
    raise NotImplementedError


def packed_positions(document_ids: np.ndarray) -> np.ndarray:
    """Count the tokens of each document from 0.

    document_ids: [B, T], of any integer dtype; negative at padding.
    returns:      int64 [B, T]; any number at padding.
    """
    raise NotImplementedError


def packed_targets(
    ids: np.ndarray,
    document_ids: np.ndarray,
    ignore_index: int = -100,
) -> np.ndarray:
    """Give each token the next one of its document as its target.

    ids:          [B, T], of any integer dtype; any number at padding.
    document_ids: [B, T], of any integer dtype; negative at padding.
    ignore_index: the target where no token of the same document follows; any integer.
    returns:      int64 [B, T]. `ids` itself is not changed.
    """
    raise NotImplementedError
