"""Text in pieces, before byte-pair encoding.

Merges learnt on whole texts make tokens such as `dog.`, `dog!` and `dog,`, and spend
the vocabulary on them. GPT-2 therefore cuts a text into pieces first: words, numbers,
signs, white space. Merges stay within a piece. And some strings, such as the end of a
document, get ids of their own: special tokens, which are never cut.

`pretokenize` returns the pieces in order. Joined, they are the text: nothing is lost,
added or changed. It works in two steps.

1. Special tokens. Search the text from the left. Where one begins, it is a piece. Where
several begin at one place, take the longest. Go on behind it. They are found within
words too, and every character of theirs stands for itself. What lies between them are
parts; each part is cut by itself, as if it were the whole text.

2. Each part, from the left. At each place the first rule that fits gives the piece:

    contraction   ' and then s, t, re, ve, m, ll or d; lower case alone
    letters       one space or none, then letters, as many as there are
    numbers       one space or none, then digits, as many as there are
    signs         one space or none, then signs, as many as there are
    white space   a run of white space: all of it at the end of the part; elsewhere all
                  but its last character; if it is one character, that one

"One space" is the character " " (U+0020) alone. Letters are the characters for which
str.isalpha() is true, digits those with str.isdecimal(), white space those with
str.isspace(), and signs all others: _ and ' too, and accents that are characters of
their own. You may use the library's re, or write a scanner.

Ids 0 to 255 are the bytes, and 256 + i is merge i, counted from 0. Behind them comes
special token j of the list, counted from 0: 256 + len(merges) + j.

    encode   a special token gives its id. Any other piece gives its UTF-8 bytes; then
             each merge in the order of the list, wherever its pair occurs in the piece,
             from left to right
    decode   the bytes of all ids, a special token's text as UTF-8, joined and read as
             UTF-8. Bytes that are no UTF-8 become U+FFFD, as Python writes it for
             bytes.decode("utf-8", errors="replace")

Example: special_tokens = ["<|end|>"].

    "I'll pay 20  now<|end|>"    "I" "'ll" " pay" " 20" " " " now" "<|end|>"
    "a_b  <|end|>"               "a" "_" "b" "  " "<|end|>"

In the first text one of two spaces goes to the word behind them. In the second, the
part ends with the spaces, so both are one piece. With the merges (97, 98), (256, 32)
and (32, 256), where 97 is a, 98 is b and 32 is a space:

    "ab ab<|end|>"    256    258    259
    piece by piece    "ab"   " ab"  "<|end|>"     (256, 32) would join two pieces

Elsewhere: GPT-2's pattern has the classes \\p{L} for letters, the same as here, and
\\p{N} for numbers, which holds more than digits: ² and ½ too. The library's re has
neither; its \\w holds digits and _ as well. The released code of GPT-2 lists its one
special token within the pattern, where a sign or a space in front of it swallows it;
tiktoken cuts at special tokens first, as here. GPT-4's pattern takes contractions in
capitals too, and at most three digits.

What goes wrong: a special token whose | is read as a part of a pattern; a short special
token that hides a longer one; text that no rule takes and that is lost, such as _;
special tokens numbered in another order than that of the list.

Edge cases with their own checks: white space other than single spaces, characters
beyond ASCII, special tokens that overlap, an empty list of them or an empty text, bytes
that are no UTF-8.

Not graded: characters with str.isnumeric() that are neither letters nor digits, such as
² and ½; U+001C to U+001F; lone surrogates. None of them occurs.

Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners",
section 2.2, and the file encoder.py released with it.
"""


def pretokenize(text: str, special_tokens: list[str]) -> list[str]:
    """Cut a text into pieces.

    text:           any text, the empty one too, which has no piece.
    special_tokens: texts of one character or more, in any order, none of them twice;
                    maybe none.
    returns:        the pieces in order, none of them empty.
    """
    raise NotImplementedError


def encode(
    text: str,
    merges: list[tuple[int, int]],
    special_tokens: list[str],
) -> list[int]:
    """Return the ids of a text.

    text:           any text, the empty one too.
    merges:         pairs of ids, as byte_pair_encoding learns them; no pair occurs
                    twice. Maybe none.
    special_tokens: as in pretokenize.
    """
    raise NotImplementedError


def decode(
    ids: list[int],
    merges: list[tuple[int, int]],
    special_tokens: list[str],
) -> str:
    """Return the text of some ids.

    ids:            any ids from 0 to 255 + len(merges) + len(special_tokens), in any
                    order; maybe none.
    merges:         as in encode.
    special_tokens: as in pretokenize.
    """
    raise NotImplementedError
