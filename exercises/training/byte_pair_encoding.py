"""Byte-pair encoding: tokens from bytes.

A model reads numbers, and a text has to become some. Its UTF-8 bytes would do: 256 ids
serve every language. But there are many of them, and most say little alone. Byte-pair
encoding makes longer tokens of those that often stand side by side. Ids 0 to 255 are
the bytes; merge number i, counted from 0, joins a pair of ids to the new id 256 + i.

Training begins with the bytes of the text, and does this num_merges times:

    count    all pairs of neighbours in the sequence, overlapping ones too: a a a has
             the pair (a, a) twice
    choose   the most frequent pair; of equally frequent ones the pair that occurs first
    replace  its occurrences by the new id, from left to right: a a a becomes X a

The sequence is counted anew after each merge, new ids like any others. It ends early
where fewer than two tokens are left: an empty text has no merges. What is learnt is the
list of pairs, in order.

    encode  the bytes of a text; then each merge in the order in which it was learnt,
            wherever its pair occurs, from left to right
    decode  each id stands for bytes: a merged one for those of its first part and then
            those of its second. All bytes are joined and read as UTF-8. Bytes that are
            no UTF-8 become the replacement character U+FFFD, as Python writes it for
            bytes.decode("utf-8", errors="replace")

A token may end in the middle of a character, so bytes are joined first and read
afterwards.

Example: "aaabdaaabac", 3 merges; a is 97, b 98, c 99, d 100.

    97 97 97 98 100 97 97 97 98 97 99  (97, 97) four times          -> 256
    256 97 98 100 256 97 98 97 99      (256, 97) and (97, 98) twice -> 257, the first
    257 98 100 257 98 97 99            (257, 98) twice              -> 258
    258 100 258 97 99

    train_bpe("aaabdaaabac", 3)   = [(97, 97), (256, 97), (257, 98)]
    encode("aaabdaaabac", merges) = [258, 100, 258, 97, 99]
    encode("aab", merges)         = [256, 98]
    decode([258, 195], merges)    = "aaab\\ufffd"        195 alone is no character

Elsewhere: of equally frequent pairs minbpe takes the first, as here; subword-nmt takes
the greatest pair, Hugging Face's tokenizers the smallest ids. GPT-2 splits the text
into words first, and keeps tokens for special purposes: neither is done here. Merging
one pair at a time, the one learnt first, gives the same ids.

What goes wrong: characters are taken for bytes, until an é comes along; a run of equal
bytes is merged into tokens that overlap; encode looks for the longest token, or merges
what is frequent in the new text.

Edge cases with their own checks: characters of several bytes, long runs, bytes that are
no UTF-8, texts of one byte or none, merges as lists.

Source: Sennrich, Haddow and Birch 2016, "Neural Machine Translation of Rare Words with
Subword Units", section 3.2 and algorithm 1; on bytes: Radford et al. 2019, "Language
Models are Unsupervised Multitask Learners", section 2.2.
"""


def train_bpe(text: str, num_merges: int) -> list[tuple[int, int]]:
    """Learn merges from a text.

    text:       any text, the empty one too.
    num_merges: how many merges to learn, 0 or more; never so many that all pairs left
                occur only once.
    returns:    a list of pairs of ids, tuples or lists, in the order in which they were
                learnt; empty for a text of fewer than two bytes, whatever num_merges
                is.
    """
    raise NotImplementedError


def encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    """Return the ids of a text.

    text:   any text, the empty one too; not only the one that the merges were learnt
            from.
    merges: pairs of ids, tuples or lists; no pair occurs twice. The list itself is not
            changed.
    """
    raise NotImplementedError


def decode(ids: list[int], merges: list[tuple[int, int]]) -> str:
    """Return the text of some ids.

    ids:    any ids from 0 to 255 + len(merges), in any order; maybe none.
    merges: as in encode.
    """
    raise NotImplementedError
