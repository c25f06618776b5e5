"""What people write instead, and what to tell them.

A function replaces the entry point with its parameters; a class replaces those that it has.
"""

import unicodedata
from collections import Counter
from itertools import pairwise

from grader.mistakes import crude, subtle


def _merge(ids, pair, new_id):
    merged, i = [], 0
    while i < len(ids):
        found = tuple(ids[i : i + 2]) == tuple(pair)
        merged.append(new_id if found else ids[i])
        i += 2 if found else 1
    return merged


def _first(counts, ids):  # noqa: ARG001 - what chooses a pair gets both
    return max(counts, key=counts.get)


def _count(ids):
    return Counter(pairwise(ids))


def _train(ids, num_merges, choose=_first, merge=_merge, count=_count):
    merges = []
    while len(merges) < num_merges and len(ids) > 1:
        pair = choose(count(ids), ids)
        ids = merge(ids, pair, 256 + len(merges))
        merges.append(pair)
    return merges


def _encode(ids, merges, merge=_merge):
    for i, pair in enumerate(merges):
        ids = merge(ids, pair, 256 + i)
    return ids


def _vocabulary(merges):
    vocabulary = [bytes([byte]) for byte in range(256)]
    for first, second in merges:
        vocabulary.append(vocabulary[first] + vocabulary[second])
    return vocabulary


def _bytes(ids, merges):
    vocabulary = _vocabulary(merges)
    return b"".join(vocabulary[token] for token in ids)


@crude
class learns_nothing:
    """There are no merges, and every text stays a list of its bytes: merged ids are neither made nor read.
    Check that the loop over the merges runs, and that its result is returned."""

    @staticmethod
    def train_bpe(text, num_merges):  # noqa: ARG004 - the mistake
        return []

    @staticmethod
    def encode(text, merges):  # noqa: ARG004 - the mistake
        return list(text.encode())

    @staticmethod
    def decode(ids, merges):  # noqa: ARG004 - the mistake
        return bytes(token for token in ids if token < 256).decode(errors="replace")


@crude
class hands_out_text:
    """The results hold pieces of text in place of ids, and decode a list in place of one text. Ids are
    integers, in the merges and in what encode returns, and decode returns one str."""

    @staticmethod
    def train_bpe(text, num_merges):
        merges = _train(list(text.encode()), num_merges)
        return [tuple(_bytes([token], merges).decode(errors="replace") for token in pair) for pair in merges]

    @staticmethod
    def encode(text, merges):
        ids = _encode(list(text.encode()), merges)
        return [_bytes([token], merges).decode(errors="replace") for token in ids]

    @staticmethod
    def decode(ids, merges):
        return [_bytes([token], merges).decode(errors="replace") for token in ids]


@crude
class numbers_merges_from_0:
    """Merged tokens have ids that are those of bytes as well: merge i was given the id i. The bytes have the
    ids 0 to 255, so it is 256 + i, in training, in encode and in decode."""

    @staticmethod
    def train_bpe(text, num_merges):
        return _train(list(text.encode()), num_merges, merge=lambda ids, p, n: _merge(ids, p, n - 256))

    @staticmethod
    def encode(text, merges):
        return _encode(list(text.encode()), merges, merge=lambda ids, p, n: _merge(ids, p, n - 256))

    @staticmethod
    def decode(ids, merges):
        return _bytes([token + 256 if token < len(merges) else token for token in ids], merges).decode(
            errors="replace"
        )


@crude
class begins_with_characters_from_0:
    """Ids begin at 0 for the first character met: a vocabulary was made of the text's own characters. Here
    the ids 0 to 255 are the bytes, in every text."""

    @staticmethod
    def train_bpe(text, num_merges):
        known = {char: i for i, char in enumerate(dict.fromkeys(text))}
        return _train([known[char] for char in text], num_merges)

    @staticmethod
    def encode(text, merges):
        known = {char: i for i, char in enumerate(dict.fromkeys(text))}
        return _encode([known[char] for char in text], merges)

    @staticmethod
    def decode(ids, merges):
        return _bytes([token - 1 if 0 < token < 256 else token for token in ids], merges).decode(
            errors="replace"
        )


class splits_the_text_and_rejoins_it:
    """Spaces are lost: the text was split into words, and what stood between them does not come back. A space
    is a byte like any other, and may stand within a token."""

    @staticmethod
    def train_bpe(text, num_merges):
        return _train(list("".join(text.split()).encode()), num_merges)

    @staticmethod
    def encode(text, merges):
        return _encode(list("".join(text.split()).encode()), merges)

    @staticmethod
    def decode(ids, merges):
        return "".join(_bytes(ids, merges).decode(errors="replace").split())


def never_counts_again(text, num_merges):
    """The first merge is right, the later ones are pairs of bytes: all were taken from one count. Each merge
    changes the sequence, so the pairs must be counted anew."""
    return [pair for pair, _ in Counter(pairwise(text.encode())).most_common(num_merges)]


def forgets_to_merge(text, num_merges):
    """Every merge is the same pair: the sequence is counted again and again, and nothing in it was replaced.
    Check what the next count is given."""
    return _train(list(text.encode()), num_merges, merge=lambda ids, *_: ids)


def takes_the_greatest_pair(text, num_merges):
    """Right where one pair is more frequent than all others; of equals the one with the greatest ids is
    taken, as subword-nmt does. Here it is the one that occurs first in the sequence."""
    return _train(
        list(text.encode()), num_merges, lambda counts, _: max(counts, key=lambda p: (counts[p], p))
    )


def takes_the_smallest_pair(text, num_merges):
    """Right where one pair is more frequent than all others; of equals the one with the smallest ids is
    taken, as Hugging Face's tokenizers do. Here it is the one that occurs first in the sequence."""
    return _train(
        list(text.encode()), num_merges, lambda counts, _: min(counts, key=lambda p: (-counts[p], p))
    )


def takes_the_last_of_equals(text, num_merges):
    """Right where one pair is more frequent than all others; of equals the one met last is taken. A
    comparison with >= lets every equal push the one before it out."""
    return _train(
        list(text.encode()), num_merges, lambda counts, _: max(reversed(list(counts)), key=counts.get)
    )


def keeps_the_order_of_the_beginning(text, num_merges):
    """Right for the first merges; later ties go to the pair that was met first in an earlier sequence,
    because the counts are kept and corrected. The first one in the sequence as it is now is expected."""
    order = {}

    def choose(counts, ids):
        for pair in pairwise(ids):
            order.setdefault(pair, len(order))
        return min(counts, key=lambda p: (-counts[p], order[p]))

    return _train(list(text.encode()), num_merges, choose)


def takes_the_rarest_pair(text, num_merges):
    """The least frequent pair is merged. Byte-pair encoding joins what often stands side by side; check the
    direction of the comparison."""
    return _train(list(text.encode()), num_merges, lambda counts, _: min(counts, key=counts.get))


@subtle
def counts_without_overlaps(text, num_merges):
    """Right but for runs of one id: a a a was counted as one pair (a, a). Overlapping pairs count, so it has
    two; merging is what steps over both ids."""

    def count(ids):
        counts, ends = Counter(), {}
        for place, pair in enumerate(pairwise(ids)):
            if ends.get(pair, -1) < place:
                counts[pair] += 1
                ends[pair] = place + 1
        return counts

    return _train(list(text.encode()), num_merges, count=count)


@subtle
class merges_from_the_right:
    """Right but for runs of one id: the pairs were replaced from right to left, so a a a became a X. The
    first pair from the left is replaced first, in training and in encode."""

    @staticmethod
    def train_bpe(text, num_merges):
        return _train(list(text.encode()), num_merges, merge=_merge_from_the_right)

    @staticmethod
    def encode(text, merges):
        return _encode(list(text.encode()), merges, merge=_merge_from_the_right)


def _merge_from_the_right(ids, pair, new_id):
    return _merge(ids[::-1], tuple(pair)[::-1], new_id)[::-1]


class merges_overlapping_pairs:
    """A run of one id gets longer tokens than it has bytes: in a a a both pairs were replaced, and the middle
    a belongs to two tokens. After a replacement go on behind both ids."""

    @staticmethod
    def train_bpe(text, num_merges):
        return _train(list(text.encode()), num_merges, merge=_merge_overlapping)

    @staticmethod
    def encode(text, merges):
        return _encode(list(text.encode()), merges, merge=_merge_overlapping)


def _merge_overlapping(ids, pair, new_id):
    merged, taken = [], False
    for i, token in enumerate(ids):
        found = tuple(ids[i : i + 2]) == tuple(pair)
        if found:
            merged.append(new_id)
        elif not taken:
            merged.append(token)
        taken = found
    return merged


class merges_the_first_occurrence:
    """Only the first occurrence of each pair is replaced, and the others stay. Replace all of them before the
    next merge, in training and in encode."""

    @staticmethod
    def train_bpe(text, num_merges):
        return _train(list(text.encode()), num_merges, merge=_merge_once)

    @staticmethod
    def encode(text, merges):
        return _encode(list(text.encode()), merges, merge=_merge_once)


def _merge_once(ids, pair, new_id):
    places = [i for i, found in enumerate(pairwise(ids)) if found == tuple(pair)]
    return [*ids[: places[0]], new_id, *ids[places[0] + 2 :]] if places else ids


def learns_one_merge_too_many(text, num_merges):
    """There is one merge more than was asked for. Check the first and the last round of the loop."""
    return _train(list(text.encode()), num_merges + 1)


def leaves_spaces_alone(text, num_merges):
    """No token holds a space beside something else: the text was split into words before pairs were counted.
    That is done by many tokenizers, and not here: a space is a byte like any other."""

    def count(ids):
        counts = Counter(pairwise(ids))
        return Counter({pair: n for pair, n in counts.items() if 32 not in pair}) or counts

    return _train(list(text.encode()), num_merges, count=count)


def returns_the_new_ids_too(text, num_merges):
    """Each entry has three numbers: the pair and the id that it is merged to. The id follows from the place
    in the list; the list holds the pairs alone."""
    return [(*pair, 256 + i) for i, pair in enumerate(_train(list(text.encode()), num_merges))]


@subtle
def takes_characters_for_bytes_in_training(text, num_merges):
    """Right for ASCII; a character like é or 日 is one number, and not the two or three bytes that it has in
    UTF-8. Ids below 256 are bytes: encode the text first."""
    return _train([ord(char) for char in text], num_merges)


@subtle
def fails_at_a_text_without_pairs(text, num_merges):
    """A text of one byte or none raises an error: there is no most frequent pair. Training ends where fewer
    than two tokens are left, and the list is empty then."""
    if num_merges and len(text.encode()) < 2:
        raise ValueError("max() arg is an empty sequence")
    return _train(list(text.encode()), num_merges)


_LEARNT = []


def goes_on_with_old_merges(text, num_merges):
    """The first call is right; a later one begins with merges of another text: the list outlives the call, as
    a default argument or a global does. Make it anew in each call."""
    _LEARNT.extend(_train(list(text.encode()), num_merges))
    return list(_LEARNT)


def takes_the_longest_token(text, merges):
    """Some texts get fewer or other tokens: at each place the longest token that fits was taken. Byte-pair
    encoding makes the merges in the order in which they were learnt, and may miss a longer token."""
    data, vocabulary, ids = text.encode(), _vocabulary(merges), []
    while data:
        fitting = [i for i, token in enumerate(vocabulary) if data.startswith(token)]
        ids.append(max(fitting, key=lambda i: len(vocabulary[i])))
        data = data[len(vocabulary[ids[-1]]) :]
    return ids


def merges_the_leftmost_pair(text, merges):
    """Some texts get other tokens: the leftmost pair that is a merge was replaced, whichever merge it is. The
    merge that was learnt first is made first, wherever it occurs."""
    ids, ranks = list(text.encode()), {tuple(pair): i for i, pair in enumerate(merges)}
    while places := [i for i, pair in enumerate(pairwise(ids)) if pair in ranks]:
        place = places[0]
        ids[place : place + 2] = [256 + ranks[ids[place], ids[place + 1]]]
    return ids


def merges_the_last_learnt_first(text, merges):
    """Hardly any long token is found: the merges were made in the reverse order, when the ids that they are
    made of do not exist yet. They are made in the order in which they were learnt."""
    ids = list(text.encode())
    for i, pair in reversed(list(enumerate(merges))):
        ids = _merge(ids, pair, 256 + i)
    return ids


def merges_what_is_frequent_in_the_text(text, merges):
    """Right for the training text and for some others: of the pairs that are merges, the one that is most
    frequent in the new text comes first. Frequencies matter in training alone; encode goes by the order."""
    ids, ranks = list(text.encode()), {tuple(pair): i for i, pair in enumerate(merges)}
    while counts := {pair: n for pair, n in Counter(pairwise(ids)).items() if pair in ranks}:
        pair = max(counts, key=counts.get)
        ids = _merge(ids, pair, 256 + ranks[pair])
    return ids


def stops_at_a_merge_that_does_not_occur(text, merges):
    """Right for the training text; in others the merges behind the first one that does not occur are not
    made. A merge without an occurrence is passed over."""
    ids = list(text.encode())
    for i, pair in enumerate(merges):
        if tuple(pair) not in set(pairwise(ids)):
            break
        ids = _merge(ids, pair, 256 + i)
    return ids


def numbers_the_merges_from_257(text, merges):
    """Every merged id is one too large, and pairs of them are not found: the first merge has the id 256, the
    one after the largest byte."""
    return _encode(list(text.encode()), merges, merge=lambda ids, pair, new_id: _merge(ids, pair, new_id + 1))


@subtle
def takes_characters_for_bytes(text, merges):
    """Right for ASCII; a character like é or 日 gets its own number, which is a byte's, a merge's or no id at
    all. Ids below 256 are bytes: encode the text first."""
    return _encode([ord(char) for char in text], merges)


@subtle
def fails_at_an_empty_encoding(text, merges):
    """A text of one byte or none raises an error: the smallest of no pairs is looked for. Without a pair
    there is nothing to merge, and the bytes are the ids."""
    if len(text.encode()) < 2:
        raise ValueError("min() arg is an empty sequence")
    return _encode(list(text.encode()), merges)


@subtle
def looks_merges_up_as_tuples(text, merges):
    """Right where the merges are tuples; lists of two ids are never found, because a tuple and a list are not
    equal. Merges that were stored as JSON come back as lists."""
    return _encode(list(text.encode()), [pair if isinstance(pair, tuple) else () for pair in merges])


@subtle
def takes_merges_off_the_list(text, merges):
    """The first text is right, and the caller's merges are fewer after the call: each was taken off the list
    when it was made. Read the list and leave it as it is."""
    ids = _encode(list(text.encode()), merges)
    merges.clear()
    return ids


_RANKS = {}


def keeps_the_merges_of_an_earlier_call(text, merges):
    """The first call is right; later ones use merges that belong to an earlier list as well: a dict of them
    outlives the call. Build it anew from the merges that are given."""
    for i, pair in enumerate(merges):
        _RANKS.setdefault(tuple(pair), 256 + i)
    ids = list(text.encode())
    for pair, new_id in sorted(_RANKS.items(), key=lambda item: item[1]):
        ids = _merge(ids, pair, new_id)
    return ids


def puts_spaces_between_tokens(ids, merges):
    """The text has spaces that it never had: the tokens were joined with them. A space is a byte of its own,
    and nothing stands between tokens."""
    return " ".join(token.decode(errors="replace") for token in (_bytes([i], merges) for i in ids))


def expands_one_level(ids, merges):
    """Tokens made of merged tokens are read wrongly or raise an error: a merge was taken apart once, and its
    parts are merges themselves. Go on until only bytes are left."""
    parts = [part for token in ids for part in (merges[token - 256] if token > 255 else [token])]
    return bytes(part for part in parts if part < 256).decode(errors="replace")


def joins_the_parts_backwards(ids, merges):
    """The letters of merged tokens stand in the wrong order: the bytes of the second part came before those
    of the first."""
    return _bytes(ids, [(second, first) for first, second in merges]).decode(errors="replace")


@subtle
def decodes_each_token_by_itself(ids, merges):
    """Right for ASCII; a character whose bytes lie in two tokens becomes two or more U+FFFD. Join the bytes
    of all tokens first, and read them once."""
    return "".join(_bytes([token], merges).decode(errors="replace") for token in ids)


@subtle
def raises_at_broken_bytes(ids, merges):
    """Right for ids that make a text; others raise a UnicodeDecodeError, and a model may well generate them.
    What is no UTF-8 becomes U+FFFD."""
    return _bytes(ids, merges).decode()


@subtle
def drops_what_is_no_text(ids, merges):
    """Right for ids that make a text; bytes that are no UTF-8 vanish. They become U+FFFD, so that it shows
    that something was there."""
    return _bytes(ids, merges).decode(errors="ignore")


@subtle
def gives_up_at_one_broken_byte(ids, merges):
    """Right for ids that make a text; a single byte that is no UTF-8 turns all of it into one U+FFFD. Only
    the bytes that cannot be read are replaced."""
    try:
        return _bytes(ids, merges).decode()
    except UnicodeDecodeError:
        return "\ufffd"


@subtle
def reads_bytes_as_characters(ids, merges):
    """Right for ASCII; an é comes back as Ã©: each byte was taken for a character of its own. The bytes are
    UTF-8, where a character may have several."""
    return _bytes(ids, merges).decode("latin-1")


_VOCABULARIES = {}


def keeps_the_vocabulary_of_as_many_merges(ids, merges):
    """The first call is right; later ones with as many merges read the tokens of an earlier list: the
    vocabulary is kept under its size. Build it from the merges that are given."""
    vocabulary = _VOCABULARIES.setdefault(len(merges), _vocabulary(merges))
    return b"".join(vocabulary[token] for token in ids).decode(errors="replace")


@subtle
def normalises_the_text(text, merges):
    """A text does not come back as it was: its characters were brought to one of several forms that read
    alike, such as an e and an accent to one character. They have other bytes, and the text is its bytes.
    """
    return _encode(list(unicodedata.normalize("NFC", text).encode()), merges)


@subtle
class strips_the_text:
    """Spaces and ends of lines at both ends of the text are lost. They are bytes like any other."""

    @staticmethod
    def encode(text, merges):
        return _encode(list(text.strip().encode()), merges)


@subtle
class makes_the_ends_of_lines_alike:
    """The bytes 13 10 come out as 10 alone: ends of lines were made alike. They are bytes as they came."""

    @staticmethod
    def encode(text, merges):
        return _encode(list(text.replace("\r\n", "\n").encode()), merges)


@subtle
class keeps_lines_apart:
    """No merge holds the end of a line: the text was split into lines before its pairs were counted. It is
    one sequence of bytes."""

    @staticmethod
    def train_bpe(text, num_merges):
        within = lambda ids: Counter(pair for pair in pairwise(ids) if 10 not in pair) or _count(ids)  # noqa: E731
        return _train(list(text.encode()), num_merges, count=within)


@subtle
class drops_a_mark_in_front:
    """U+FEFF at the beginning of a text is lost, which the codec utf-8-sig takes off. Read the bytes as
    utf-8."""

    @staticmethod
    def decode(ids, merges):
        return _bytes(ids, merges).decode("utf-8-sig", errors="replace")
