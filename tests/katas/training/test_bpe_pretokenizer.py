"""bpe_pretokenizer: its cases and its laws. What a law expects is computed here, by a scanner that goes by
the rules of the statement, and never by another part of the submission."""

import itertools

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "bpe_pretokenizer",
    track="training",
    entry_points=("pretokenize", "encode", "decode"),
    title="Words before bytes",
    source="Radford et al. 2019, section 2.2, and encoder.py",
    libraries=("numpy",),
    hints=(
        'Cut "it\'s  2_b<|end|>" by hand, with a pencil and the five rules. Which rule takes the _, and '
        "which of the two spaces stands alone?",
        "Two functions, one after the other: the first cuts the text at special tokens, the second cuts a "
        "part into words. A pattern of re is five alternatives, in the order of the rules; "
        "re.split keeps what it splits at if the pattern is in a group. What is taken of a run of white "
        "space:\n\n"
        '    "a  b"      "a" " " " b"       all but the last, which goes to b\n'
        '    "a\\n\\nb"    "a" "\\n" "\\n" "b"  all but the last, which is no " "\n'
        '    "a  "       "a" "  "           the end of the part\n\n'
        "A pattern can look ahead: (?!…) fits where … does not follow. And which characters of a special "
        "token mean something else in a pattern?",
        "Special tokens: sort a copy of the list by length, longest first, and escape each one for the "
        "pattern; the list itself keeps its order, by which the ids are numbered. With an empty list there "
        "is nothing to split. Classes for re, one character each:\n\n"
        "    letters       a word character that is no digit and no _\n"
        "    digits        \\d\n"
        "    white space   \\s\n"
        "    signs         neither a word character nor white space, or _\n\n"
        "A space and a question mark in front of a run make the space optional. White space is two "
        "patterns: a run that no other character follows, then any run. The first one gives a character "
        "back where a word follows. Encoding: for each piece its special id, or its bytes with every merge "
        "made in order, and nothing across pieces. Decoding: one table of bytes for all ids; join first, "
        "decode once.",
    ),
    hint_for={
        "gives_special_tokens_no_escape": 2,
        "takes_runs_of_white_space_whole": 2,
        "loses_the_underscore": 3,
        "numbers_special_tokens_as_sorted": 3,
        "decodes_id_by_id": 3,
    },
    bank_size=60,
)

CONTRACTIONS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")
WORDS = ("the", "ab", "it's", "we'll", "I'D", "'twas", "they've", "x_1", "__", "3rd", "1024", "a.b", "(no)")
SPACES = ("  ", "\n", "   ", "\n\n", "\t", " \n", "\n ", "\r\n", "\u00a0 ", " \u3000")
WIDE = ("é", "naïve", "日本", "三つ", "٣٤", "e\u0301", "😀", "\u2019s", "ß", "ÉT", "_é")
SPECIAL = (
    ["<|end|>"],
    ["<|end|>", "<|pad|>"],
    ["[b]", "a.b"],
    ["STOP", "<s>", "</s>"],
    ["it", " "],
)
OVERLAPPING = (
    ["<|end|>", "<|end|><|end|>"],
    ["<s", "<s>", "<s><s>"],
    ["ab", "bcd", "b"],
    ["é", "aé"],
)


def special_at(text, at, special_tokens):
    """The longest special token that begins at a place, or an empty text."""
    return max((token for token in special_tokens if text.startswith(token, at)), key=len, default="")


def parts_of(text, special_tokens):
    """The parts of a text and the special tokens between them; parts stand at even places."""
    parts, at = [""], 0
    while at < len(text):
        token = special_at(text, at, special_tokens)
        if token:
            parts += [token, ""]
        else:
            parts[-1] += text[at]
        at += len(token) or 1
    return parts


def run(part, at, belongs):
    """Where a run of characters of a class ends."""
    while at < len(part) and belongs(part[at]):
        at += 1
    return at


def is_sign(character):
    return not (character.isalpha() or character.isdecimal() or character.isspace())


def end_of_word(part, at):
    """Where the first piece of a part from a place on ends."""
    for ending in CONTRACTIONS:
        if part.startswith(ending, at):
            return at + len(ending)
    after = at + (part[at] == " ")
    for belongs in (str.isalpha, str.isdecimal, is_sign):
        if run(part, after, belongs) > after:
            return run(part, after, belongs)
    stop = run(part, at, str.isspace)
    return stop if stop == len(part) else max(stop - 1, at + 1)


def words_of(part):
    words, at = [], 0
    while at < len(part):
        words.append(part[at : end_of_word(part, at)])
        at += len(words[-1])
    return words


def pieces_of(text, special_tokens):
    """The pieces of a text."""
    pieces = [
        [part] if place % 2 else words_of(part) for place, part in enumerate(parts_of(text, special_tokens))
    ]
    return list(itertools.chain.from_iterable(pieces))


def replaced(ids, pair, new_id):
    """The ids with a pair replaced from left to right."""
    left, rest = [], list(ids)
    while rest:
        found = rest[:2] == list(pair)
        left.append(new_id if found else rest[0])
        del rest[: 2 if found else 1]
    return left


def ids_of(text, merges, special_tokens):
    """The ids of a text, those of each piece in a list of their own."""
    rows = []
    for piece in pieces_of(text, special_tokens):
        if piece in special_tokens:
            rows.append([256 + len(merges) + special_tokens.index(piece)])
            continue
        ids = list(piece.encode())
        for i, pair in enumerate(merges):
            ids = replaced(ids, pair, 256 + i)
        rows.append(ids)
    return rows


def flat(rows):
    return list(itertools.chain.from_iterable(rows))


def bytes_of(token, merges, special_tokens):
    """The bytes that an id stands for."""
    if token < 256:
        return bytes([token])
    if token < 256 + len(merges):
        return b"".join(bytes_of(part, merges, special_tokens) for part in merges[token - 256])
    return special_tokens[token - 256 - len(merges)].encode()


def draw_special(draw, kind):
    """Special tokens in an order of their own."""
    if kind == "none":
        return []
    return list(draw(st.permutations(draw(st.sampled_from(OVERLAPPING if kind == "overlap" else SPECIAL)))))


def draw_text(draw, kind, special_tokens):
    """Words with single spaces and special tokens between them, and what belongs to the kind."""
    if kind == "empty":
        return ""
    pool = list(WORDS)
    if kind == "spaces":
        pool += SPACES * 2
    if kind == "wide":
        pool += WIDE * 2
    if kind == "overlap":
        pool = ["<|end|>", "<s>", "<s", "abcd", "abc", "aé", "é", "b", *pool[:3]]
    pieces = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=5))
    text = pieces[0]
    for piece in pieces[1:]:
        text += draw(st.sampled_from([" ", " ", "", *(special_tokens * 2)])) + piece
    return text + draw(st.sampled_from(["", *special_tokens]))


def draw_merges(draw, text):
    """Merges of pairs that stand side by side in a text, wherever its pieces end."""
    ids, merges = list(text.encode()), []
    for i in range(draw(st.integers(0, 5))):
        pairs = [pair for pair in itertools.pairwise(ids) if pair not in merges]
        if not pairs:
            break
        merges.append(draw(st.sampled_from(pairs)))
        ids = replaced(ids, merges[-1], 256 + i)
    return merges


KINDS = (*["plain"] * 5, "spaces", "spaces", "wide", "wide", "overlap", "overlap", "none", "empty", "broken")


@KATA.cases
def cases(draw):
    """The arguments of one of the three functions."""
    kind = draw(st.sampled_from(KINDS))
    asked = draw(st.sampled_from(["pretokenize", "pretokenize", "encode", "encode", "decode"]))
    asked = "decode" if kind == "broken" else asked
    special_tokens = draw_special(draw, kind)
    text = draw_text(draw, kind, special_tokens)
    if asked == "pretokenize":
        return {"asked": asked, "text": text, "special_tokens": special_tokens}
    merges = draw_merges(draw, text or "ab ab")
    if asked == "encode":
        return {"asked": asked, "text": text, "merges": merges, "special_tokens": special_tokens}
    ids = flat(ids_of(text, merges, special_tokens))
    if kind == "broken":
        where = draw(st.integers(0, len(ids)))
        broken = draw(st.sampled_from([[195], [255, 254], [230, 151], [128], [240, 159, 152]]))
        ids = [*ids[:where], *broken, *ids[where:]]
    return {"asked": asked, "ids": ids, "merges": merges, "special_tokens": special_tokens}


@KATA.corner(points=0.5)
def nothing_given(text, special_tokens):
    """The text may be empty, and so may the list of special tokens."""
    return not text or not special_tokens


@KATA.corner(points=0.5)
def white_space(text):
    """Runs of white space, and white space other than U+0020, are cut as the rules say."""
    return any(a.isspace() and (a != " " or b.isspace()) for a, b in zip(text, text[1:] + "x", strict=False))


@KATA.corner(points=0.5)
def characters_beyond_ascii(text):
    """Letters, digits and signs of all scripts belong to their classes, and have several bytes."""
    return not text.isascii()


@KATA.corner(points=0.5)
def special_tokens_that_overlap(text, special_tokens):
    """Of special tokens that overlap the first counts, and of those that begin together the longest."""
    begins = [(at, one) for at in range(len(text)) for one in special_tokens if text.startswith(one, at)]
    return any(a <= b < a + len(one) for (a, one), (b, _) in itertools.permutations(begins, 2))


@KATA.corner(points=0.5)
def bytes_beyond_ascii(ids, merges, special_tokens):
    """Ids may cut a character in two, and bytes that are no UTF-8 become U+FFFD."""
    return not b"".join(bytes_of(token, merges, special_tokens) for token in ids).isascii()


END = ["<|end|>"]
MERGES = [(97, 98), (256, 32), (32, 256)]  # of the statement


def to_cut(text, special_tokens=END):
    return {"asked": "pretokenize", "text": text, "special_tokens": list(special_tokens)}


def to_encode(text, merges=MERGES, special_tokens=END):
    return {"asked": "encode", "text": text, "merges": list(merges), "special_tokens": list(special_tokens)}


def to_decode(ids, merges=MERGES, special_tokens=END):
    return {"asked": "decode", "ids": ids, "merges": list(merges), "special_tokens": list(special_tokens)}


@KATA.example
def printed_pieces():
    return to_cut("I'll pay 20  now<|end|>")


@KATA.example
def printed_pieces_with_a_sign():
    return to_cut("a_b  <|end|>")


@KATA.example
def printed_ids():
    return to_encode("ab ab<|end|>")


@KATA.example
def ids_of_the_statement_as_text():
    return to_decode([256, 258, 259])


@KATA.example
def one_sign():
    return to_cut("_")


@KATA.example
def a_letter_and_a_digit():
    return to_cut("a1")


@KATA.example
def spaces_before_signs_and_numbers():
    return to_cut("a !b 12345 '5 's")


@KATA.example
def two_spaces_before_signs_numbers_and_letters():
    return to_cut("a  !b  12  c")


@KATA.example
def capital_contractions():
    return to_cut("I'LL I'll'x 're'd've")


@KATA.example
def a_sign_before_a_special_token():
    return to_cut("no!<|end|> !<|end|>")


@KATA.example
def special_tokens_within_words():
    return to_cut("aSTOPab STOP", ["STOP"])


@KATA.example
def characters_that_mean_something_in_a_pattern():
    return to_cut("a.b acb [b] b", ["a.b", "[b]"])


@KATA.example
def the_longest_special_token_stands_last():
    return to_cut("a<s><s> <s>b<s", ["<s", "<s>", "<s><s>"])


@KATA.example
def ids_where_the_longest_special_token_stands_last():
    return to_encode("ab<s>", special_tokens=["<s", "<s>"])


@KATA.example
def apostrophe_of_a_special_token():
    """What follows a special token begins anew."""
    return to_cut("a<|end|>'s<|end|> ")


@KATA.example
def space_before_a_line():
    return to_cut("a \nb\n\n c  \t\n")


@KATA.example
def a_space_at_both_ends():
    return to_cut(" a ")


@KATA.example
def other_spaces():
    return to_cut("a\u00a0\u3000b\u00a0!\u3000 c\t1")


@KATA.example
def scripts():
    return to_cut("naïve 日本語三 ٣٤5 😀\u2019s e\u0301")


@KATA.example
def a_typographic_apostrophe():
    """It begins no contraction."""
    return to_cut("it\u2019s we\u2019ll don\u2019t")


@KATA.example
def shorter_token_first():
    return to_cut("<|end|><|end|>a<|end|>", ["<|end|>", "<|end|><|end|>"])


@KATA.example
def longer_token_first():
    return to_cut("<|end|><|end|>a<|end|>", ["<|end|><|end|>", "<|end|>"])


@KATA.example
def tokens_that_cross():
    """The first one in the text counts, though another one is longer."""
    return to_cut("abcd bcd", ["ab", "bcd"])


@KATA.example
def crossing_special_tokens_of_one_length():
    """The one that begins later stands first in the list."""
    return to_cut("abc bc", ["bc", "ab"])


@KATA.example
def nothing_special():
    return to_cut("a <|end|>", [])


@KATA.example
def nothing_to_cut():
    return to_cut("")


@KATA.example
def nothing_to_encode():
    return to_encode("")


@KATA.example
def two_special_ids():
    """The list is in no order of length."""
    return to_encode("<s>a<|end|><s>", [(97, 98)], ["<s>", "<|end|>", "b"])


@KATA.example
def special_token_that_could_be_merged():
    return to_encode("aab ab", [(97, 98), (97, 256)], ["aab"])


@KATA.example
def run_of_three():
    return to_encode("aaa aaaa", [(97, 97), (256, 256)])


@KATA.example
def order_of_the_merges():
    """The merge that comes first takes the b that a longer token needs."""
    return to_encode("abc", [(98, 99), (97, 98), (257, 99)])


@KATA.example
def order_of_the_merges_from_the_left():
    """Two merges want the b. The earlier merge gets it, and its pair also stands further left in the text."""
    return to_encode("abc", [(97, 98), (98, 99)])


@KATA.example
def accents_to_encode():
    return to_encode("éa é", [(195, 169), (256, 97), (32, 195)], [])


@KATA.example
def spaces_to_encode():
    return to_encode("ab  ab", MERGES, [])


@KATA.example
def half_a_character():
    return to_decode([195, 169, 97, 195, 259, 169])


@KATA.example
def no_ids():
    return to_decode([])


@KATA.observe
def observe(student, asked, special_tokens, text="", merges=(), ids=()):
    """The answer of one of the three."""
    if asked == "pretokenize":
        return {"result": student.pretokenize(text, special_tokens)}
    if asked == "encode":
        return {"result": student.encode(text, merges, special_tokens)}
    return {"result": student.decode(ids, merges, special_tokens)}


def pieces_by(student, text, special_tokens):
    """What pretokenize returns, once it is a list of texts."""
    pieces = student.pretokenize(text, special_tokens)
    fits = isinstance(pieces, list | tuple) and all(isinstance(piece, str) for piece in pieces)
    expect.true(fits, "pretokenize must return a list of texts.")
    return list(pieces)


def ids_by(student, text, merges, special_tokens):
    """What encode returns, once it is a list of ids that exist."""
    ids = student.encode(text, merges, special_tokens)
    most = 256 + len(merges) + len(special_tokens)
    fits = isinstance(ids, list | tuple) and all(
        isinstance(token, int | np.integer) and 0 <= token < most for token in ids
    )
    expect.true(fits, f"encode must return a list of ids below {most}.")
    return list(ids)


def texts(draw):
    """Draw a text, which may hold special tokens, many spaces or characters of several bytes."""
    kind = draw(st.sampled_from(["plain", "plain", "plain", "spaces", "wide"]))
    special_tokens = draw_special(draw, kind)
    return {"text": draw_text(draw, kind, special_tokens), "special_tokens": special_tokens}


def texts_and_merges(draw):
    given = texts(draw)
    return {**given, "merges": draw_merges(draw, given["text"])}


@KATA.law(points=0.5, cases=texts)
def test_pieces_joined_are_the_text(student, text, special_tokens):
    """The pieces, joined, are the text, and none of them is empty."""
    pieces = pieces_by(student, text, special_tokens)
    expect.equal("".join(pieces), text, f"the text of all pieces of {text!r} together")
    expect.true("" not in pieces, f"No piece may be empty; those of {text!r} are {pieces}.")


@KATA.law(points=0.5, cases=texts)
def test_special_tokens_are_whole_pieces(student, text, special_tokens):
    """Each special token of a text is one piece, and no other piece holds one."""
    due = parts_of(text, special_tokens)[1::2]
    pieces = pieces_by(student, text, special_tokens)
    whole = [piece for piece in pieces if any(token in piece for token in special_tokens)]
    expect.equal(whole, due, f"the list of the pieces of {text!r} that hold a special token")


def texts_in_two(draw):
    """Two texts, and special tokens none of which is made by one of them and another text."""
    given = texts(draw)
    given["special_tokens"] = draw(st.sampled_from(SPECIAL[:4]))
    return {**given, "after": draw(st.sampled_from([" x9 ", "  x9", "'s", "\n", "_ "]))}


@KATA.law(points=0.5, cases=texts_in_two)
def test_parts_are_cut_as_by_themselves(student, text, special_tokens, after):
    """A text with a special token between two parts has the pieces of each part by itself."""
    token = special_tokens[0]
    due = [*pieces_of(text, special_tokens), token, *words_of(after)]
    what = f"the list of the pieces of {text + token + after!r}"
    expect.equal(pieces_by(student, text + token + after, special_tokens), due, what)


@KATA.law(points=0.5, cases=texts_and_merges)
def test_ids_hold_the_bytes_of_the_text(student, text, merges, special_tokens):
    """The bytes of the ids are those of the text, whatever the merges."""
    ids = ids_by(student, text, merges, special_tokens)
    held = b"".join(bytes_of(token, merges, special_tokens) for token in ids)
    expect.equal(list(held), list(text.encode()), f"the list of the bytes of encode({text!r})")


@KATA.law(points=0.5, cases=texts_and_merges)
def test_no_id_crosses_a_piece(student, text, merges, special_tokens):
    """No id holds bytes of two pieces, and within a piece no merge is left to be made."""
    ids = ids_by(student, text, merges, special_tokens)
    due = ids_of(text, merges, special_tokens)
    ends = set(itertools.accumulate(len(piece.encode()) for piece in pieces_of(text, special_tokens)))
    got = set(itertools.accumulate(len(bytes_of(token, merges, special_tokens)) for token in ids))
    missing = sorted(ends - got)
    if missing:
        data = text.encode()
        at = missing[0]
        told = f"encode({text!r}) has an id that holds bytes on both sides of the border behind {data[:at]}."
        expect.true(False, told)
    expect.equal(len(ids), len(flat(due)), f"the number of ids of {text!r}")


@KATA.law(points=0.5, cases=texts_and_merges)
def test_decode_undoes_encode(student, text, merges, special_tokens):
    """decode gives the text back from its ids, special tokens included."""
    ids = flat(ids_of(text, merges, special_tokens))
    expect.equal(student.decode(ids, merges, special_tokens), text, f"decode of the ids of {text!r}")
