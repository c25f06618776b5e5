"""byte_pair_encoding: its cases and its laws."""

import itertools
import re
from collections import Counter

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

PIECES = ("ab", "abc", "aab", "cab ", "the ", "hat", "ba", "b", "a", "c", "a b")
WIDE = ("é", "ñ", "日本", "😀", "á", "ab", "本")

KATA = Kata(
    "byte_pair_encoding",
    track="training",
    entry_points=("train_bpe", "encode", "decode"),
    title="Tokens from bytes",
    source="Sennrich, Haddow and Birch 2016, section 3.2; Radford et al. 2019, section 2.2",
    libraries=("numpy",),
    hints=(
        "Do the example by hand with a pencil, down to the last line. One step is used by training and by "
        "encoding alike: which one, and what does it do with a a a?",
        "Write one function that replaces a pair in a list of ids, for training and encoding alike. It "
        "goes from left to right, and steps over both ids when it has found the pair. With X for (a, a):\n\n"
        "    a a a     at 0: found, write X, go on at 2\n"
        "              at 2: only one id is left, write a         X a\n\n"
        "For the choice count the neighbours in a dict. max over its keys, by their counts, returns the "
        "first key of the largest count, and a dict keeps the order in which its keys came. Is this the "
        "order that the statement asks for?",
        "Training: the bytes of the text as a list of ids. While merges are missing and two ids are left: "
        "count the neighbours (ids beside ids[1:]), take the most frequent pair, replace it by 256 + the "
        "number of merges so far, and note the pair. Encoding: the bytes, then the same replacement for "
        "every merge in order; make a tuple of each pair first, as it may come as a list. Decoding, by a "
        "table of bytes:\n\n"
        "    0 ... 255     one byte each\n"
        "    256 + i       the bytes of merge i's first part, then of its second\n\n"
        "    merges [(97, 97), (256, 98)]      256 is b'aa', 257 is b'aa' + b'b'\n\n"
        "Join the bytes of all ids first, and decode once, with errors='replace': one token may hold half "
        "a character.",
    ),
    bank_size=48,
)


#: Characters that have another form, which reads alike and has other bytes.
FORMS = ["e\u0301", "\u00e9", "\u212b", "A\u030a", "\ufb01", "\u1112\u1161\u11ab", "\u00b2"]


def learn(text, most):
    """The merges of a text, `most` or as many as there are pairs that occur twice."""
    ids, merges = list(text.encode()), []
    while len(merges) < most and len(ids) > 1:
        pair, count = Counter(itertools.pairwise(ids)).most_common(1)[0]
        if count < 2:
            break
        ids = replaced(ids, pair, 256 + len(merges))
        merges.append(pair)
    return merges


def replaced(ids, pair, new_id):
    """The ids with a pair replaced from left to right."""
    left, rest = [], list(ids)
    while rest:
        found = tuple(rest[:2]) == tuple(pair)
        left.append(new_id if found else rest[0])
        del rest[: 2 if found else 1]
    return left


def ids_of(text, merges):
    """The ids of a text."""
    ids = list(text.encode())
    for i, pair in enumerate(merges):
        ids = replaced(ids, pair, 256 + i)
    return ids


def bytes_of(token, merges):
    """The bytes that an id stands for."""
    if token < 256:
        return bytes([token])
    return b"".join(bytes_of(part, merges) for part in merges[token - 256])


def draw_text(draw, kind):
    """A text with pieces that come back."""
    if kind == "short":
        return draw(st.sampled_from(["", "a", "b"]))
    if kind == "runs":
        lengths = draw(st.lists(st.sampled_from([4, 5, 7, 8, 2]), min_size=2, max_size=4))
        return "".join("ab"[i % 2] * length for i, length in enumerate(lengths)) + "aaaa"
    pieces = draw(
        st.sampled_from([WIDE, WIDE[:3], FORMS] if kind == "wide" else [PIECES, PIECES[:4], PIECES[-4:]])
    )
    return "".join(draw(st.lists(st.sampled_from(pieces), min_size=2, max_size=9)))


KINDS = (*["plain"] * 6, "wide", "wide", "runs", "runs", "short", "broken", "lists")


@KATA.cases
def cases(draw):
    """The arguments of one of the three functions; merges come from another text than that to be encoded."""
    kind = draw(st.sampled_from(KINDS))
    asked = (
        "decode"
        if kind == "broken"
        else draw(st.sampled_from(["train", "encode", "decode", "train", "encode"]))
    )
    if asked == "train":
        text = draw_text(draw, kind)
        most = len(learn(text, 9)) if len(text.encode()) > 1 else 9
        return {"asked": asked, "text": text, "num_merges": draw(st.integers(0, most))}
    source = draw_text(draw, "plain" if kind in ("short", "lists", "broken") else kind)
    merges = learn(source + draw_text(draw, "plain") * 2, draw(st.integers(1, 8)))
    merges = [list(pair) for pair in merges] if kind == "lists" else merges
    text = draw_text(draw, kind)
    if asked == "encode":
        return {"asked": asked, "text": text, "merges": merges}
    return {"asked": asked, "ids": draw_ids(draw, kind, text, merges), "merges": merges}


def draw_ids(draw, kind, text, merges):
    """The ids of a text, not always the shortest ones, or any ids."""
    ids = list(text.encode())
    for i, pair in enumerate(merges):
        ids = replaced(ids, pair, 256 + i) if draw(st.integers(0, 3)) else ids
    if kind != "broken":
        return ids
    where = draw(st.integers(0, len(ids)))
    return [
        *ids[:where],
        *draw(st.sampled_from([[195], [255, 254], [230, 151], [128], [240, 159, 152]])),
        *ids[where:],
    ]


@KATA.corner(points=0.5)
def merges_as_lists(merges):
    """Merges may be lists of two ids as well as tuples."""
    return any(isinstance(pair, list) for pair in merges)


@KATA.corner(points=0.5)
def texts_of_one_byte_or_none(text):
    """A text may have one byte or none."""
    return len(text.encode()) < 2


@KATA.corner(points=0.5)
def characters_of_several_bytes(text):
    """A character may have several bytes, each of which is an id."""
    return not text.isascii()


@KATA.corner(points=0.5)
def bytes_beyond_ascii(ids, merges):
    """Tokens may end within a character, and bytes that are no UTF-8 become U+FFFD."""
    return not b"".join(bytes_of(token, merges) for token in ids).isascii()


@KATA.corner(points=0.5)
def long_runs(text):
    """A run of one byte is counted with overlaps, and merged from left to right."""
    return bool(re.search(r"(.)\1\1\1", text))


MERGES = [(97, 97), (256, 97), (257, 98)]  # of the statement
ACCENTS = [(195, 169), (256, 97), (97, 256)]  # é, éa and aé


@KATA.example
def printed_merges():
    return {"asked": "train", "text": "aaabdaaabac", "num_merges": 3}


@KATA.example
def printed_ids():
    return {"asked": "encode", "text": "aaabdaaabac", "merges": MERGES}


@KATA.example
def printed_ids_of_a_shorter_text():
    return {"asked": "encode", "text": "aab", "merges": MERGES}


@KATA.example
def printed_text():
    return {"asked": "decode", "ids": [258, 195], "merges": MERGES}


@KATA.example
def first_of_two_pairs_in_another_order_of_bytes():
    """Both pairs occur twice; the first one is neither the smaller nor the later one."""
    return {"asked": "train", "text": "ca ab ca ab", "num_merges": 1}


@KATA.example
def rank_before_length():
    """The merge that was learnt first takes the b that a longer token needs."""
    return {"asked": "encode", "text": "abcabcab", "merges": [(98, 99), (97, 98), (257, 99)]}


@KATA.example
def long_token_from_an_early_pair():
    """The long token is made of the pair on the right, which was learnt first."""
    return {"asked": "encode", "text": "abcab", "merges": [(98, 99), (97, 98), (97, 256)]}


@KATA.example
def late_merge_that_occurs_first():
    return {"asked": "encode", "text": "cabab", "merges": [(97, 98), (99, 97), (256, 256)]}


@KATA.example
def a_merge_that_does_not_occur():
    return {"asked": "encode", "text": "bcbc", "merges": [(97, 98), (98, 99), (257, 257)]}


@KATA.example
def no_merges_to_learn():
    return {"asked": "train", "text": "abab", "num_merges": 0}


@KATA.example
def most_frequent_with_a_space():
    return {"asked": "train", "text": "a a a a bcbc", "num_merges": 3}


@KATA.example
def lines_to_train():
    """The end of a line is a byte like any other."""
    return {"asked": "train", "text": "ab\nab\nab\ncd\n", "num_merges": 2}


@KATA.example
def lines_to_encode():
    """Spaces and ends of lines, also at both ends of the text and in pairs."""
    return {"asked": "encode", "text": " \na\r\naab\r\n", "merges": [(13, 10), (97, 97)]}


@KATA.example
def a_mark_in_front():
    """EF BB BF is a character like any other, also in front."""
    return {"asked": "decode", "ids": [0xEF, 0xBB, 0xBF, 97], "merges": [(97, 97)]}


@KATA.example
def run_of_seven():
    return {"asked": "train", "text": "aaaaaaabbbb", "num_merges": 2}


@KATA.example
def run_to_encode():
    return {"asked": "encode", "text": "baaaaa", "merges": [(97, 97), (256, 97)]}


@KATA.example
def empty_text():
    return {"asked": "train", "text": "", "num_merges": 2}


@KATA.example
def one_byte():
    return {"asked": "train", "text": "a", "num_merges": 2}


@KATA.example
def empty_text_to_encode():
    return {"asked": "encode", "text": "", "merges": MERGES}


@KATA.example
def one_byte_to_encode():
    return {"asked": "encode", "text": "a", "merges": MERGES}


@KATA.example
def accents():
    return {"asked": "train", "text": "éaéaé日", "num_merges": 2}


@KATA.example
def accents_to_encode():
    return {"asked": "encode", "text": "aéaéñ", "merges": ACCENTS}


@KATA.example
def tokens_that_cut_a_character():
    """The second é comes in two halves."""
    return {"asked": "decode", "ids": [256, 97, 195, 169], "merges": ACCENTS}


@KATA.example
def bytes_between_characters():
    return {"asked": "decode", "ids": [255, 256, 230, 151, 97], "merges": ACCENTS}


@KATA.example
def lists_to_encode():
    return {"asked": "encode", "text": "aaab", "merges": [list(pair) for pair in MERGES]}


@KATA.example
def lists_to_encode_a_longer_text():
    return {"asked": "encode", "text": "aaabdaaabac", "merges": [list(pair) for pair in MERGES]}


@KATA.observe
def observe(student, asked, merges=(), text="", num_merges=0, ids=()):
    """The answer of one of the three."""
    if asked == "train":
        return {"result": student.train_bpe(text, num_merges)}
    return {"result": student.encode(text, merges) if asked == "encode" else student.decode(ids, merges)}


def learnt(student, text, num_merges):
    """What train_bpe returns, once it is a list of pairs of ids that exist by then."""
    merges = student.train_bpe(text, num_merges)
    expect.true(isinstance(merges, list | tuple), "train_bpe must return a list of pairs.")
    for i, pair in enumerate(merges):
        is_pair = isinstance(pair, list | tuple) and len(pair) == 2
        fits = is_pair and all(isinstance(token, int | np.integer) and 0 <= token < 256 + i for token in pair)
        expect.true(fits, f"Merge {i} must be a pair of ids below {256 + i}; it is {pair!r}.")
    return [tuple(pair) for pair in merges]


def encoded(student, text, merges):
    """What encode returns, once it is a list of ids that exist."""
    ids = student.encode(text, merges)
    most = 256 + len(merges)
    fits = isinstance(ids, list | tuple) and all(
        isinstance(token, int | np.integer) and 0 <= token < most for token in ids
    )
    expect.true(fits, f"encode must return a list of ids below {most}.")
    return list(ids)


def trainings(draw):
    """A text with some merges to learn."""
    text = draw_text(draw, draw(st.sampled_from(["plain", "plain", "wide", "runs"])))
    text += text[: len(text) // 2]
    return {"text": text, "num_merges": len(learn(text, draw(st.integers(1, 6))))}


def encodings(draw):
    """A text and the merges of another one."""
    kind = draw(st.sampled_from(["plain", "plain", "wide", "runs"]))
    return {
        "text": draw_text(draw, kind),
        "merges": learn(draw_text(draw, kind) * 2, draw(st.integers(1, 6))),
    }


@KATA.law(points=0.5, cases=encodings)
def test_decode_undoes_encode(student, text, merges):
    """decode gives the text back from its ids, whatever text the merges were learnt from."""
    ids = ids_of(text, merges)
    expect.equal(student.decode(ids, merges), text, f"decode of the ids of {text!r}")


@KATA.law(points=0.5, cases=trainings)
def test_encode_follows_training(student, text, num_merges):
    """encode gives the training text the ids that training left."""
    merges = learn(text, num_merges)
    what = f"encode({text!r}) with the merges learnt from it"
    expect.equal(encoded(student, text, merges), ids_of(text, merges), what)


@KATA.law(points=0.5, cases=trainings)
def test_fewer_merges_come_first(student, text, num_merges):
    """Fewer merges are the first ones of more."""
    all_merges = learnt(student, text, num_merges)
    expect.true(
        len(all_merges) == num_merges, f"The number of merges is {len(all_merges)}; expected {num_merges}."
    )
    for fewer in range(num_merges):
        what = f"train_bpe({text!r}, {fewer}), against the first of {num_merges} merges,"
        expect.equal(learnt(student, text, fewer), all_merges[:fewer], what)


@KATA.law(points=0.5, cases=encodings)
def test_tokens_hold_the_bytes_of_the_text(student, text, merges):
    """The bytes of the tokens are those of the text, and no merge is left to be made."""
    ids = encoded(student, text, merges)
    held = b"".join(bytes_of(token, merges) for token in ids)
    expect.equal(list(held), list(text.encode()), f"the list of the bytes of encode({text!r})")
    for pair in itertools.pairwise(ids):
        expect.true(pair not in merges, f"encode({text!r}) leaves {pair} side by side, which is a merge.")


@KATA.law(points=0.5, cases=trainings)
def test_merges_are_most_frequent(student, text, num_merges):
    """No pair is more frequent than the one that is merged."""
    ids = list(text.encode())
    for i, pair in enumerate(learnt(student, text, num_merges)):
        counts = Counter(itertools.pairwise(ids))
        best, most = counts.most_common(1)[0] if counts else (pair, 0)
        expect.true(
            counts[pair] == most,
            f"Merge {i} of {text!r} is {pair}, which occurs {counts[pair]} times; {best} occurs {most}.",
        )
        ids = replaced(ids, pair, 256 + i)


@KATA.law(points=0.5, cases=trainings)
def test_each_merge_shortens_the_text(student, text, num_merges):
    """Each merge shortens the training text by the number of tokens that it makes."""
    merges = learn(text, num_merges)
    for i in range(len(merges)):
        before, after = (encoded(student, text, merges[:most]) for most in (i, i + 1))
        made, saved = after.count(256 + i), len(before) - len(after)
        expect.true(
            made == saved > 0,
            f"With merge {i} encode({text!r}) has {made} tokens {256 + i} and is shorter by {saved}.",
        )
