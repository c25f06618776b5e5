"""Right answers to bpe_pretokenizer in other styles."""

import re
import unicodedata
from functools import cache
from itertools import groupby, pairwise

import numpy as np


def _kind(character):
    for name in ("isalpha", "isdecimal", "isspace"):
        if getattr(character, name)():
            return name
    return "sign"


class a_scanner:
    """One place after the other, by the first rule that fits."""

    @staticmethod
    def pretokenize(text, special_tokens):
        pieces, at, begin = [], 0, 0
        while at < len(text):
            found = [token for token in special_tokens if text.startswith(token, at)]
            if found:
                pieces += a_scanner.words(text[begin:at])
                pieces.append(max(found, key=len))
                at = begin = at + len(pieces[-1])
            else:
                at += 1
        return pieces + a_scanner.words(text[begin:])

    @staticmethod
    def words(part):
        words, at = [], 0
        while at < len(part):
            stop = a_scanner.stop(part, at)
            words.append(part[at:stop])
            at = stop
        return words

    @staticmethod
    def stop(part, at):
        for ending in ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d"):
            if part.startswith(ending, at):
                return at + len(ending)
        after = at + 1 if part[at] == " " and at + 1 < len(part) else at
        kind = _kind(part[after])
        if kind != "isspace":
            while after < len(part) and _kind(part[after]) == kind:
                after += 1
            return after
        while after < len(part) and part[after].isspace():
            after += 1
        return after if after == len(part) or after == at + 1 else after - 1

    @staticmethod
    def encode(text, merges, special_tokens):
        ids = []
        for piece in a_scanner.pretokenize(text, special_tokens):
            if piece in special_tokens:
                ids.append(256 + len(merges) + special_tokens.index(piece))
                continue
            own = list(piece.encode())
            for i, pair in enumerate(merges):
                at = 0
                while at < len(own) - 1:
                    if own[at] == pair[0] and own[at + 1] == pair[1]:
                        own[at : at + 2] = [256 + i]
                    at += 1
            ids.extend(own)
        return ids

    @staticmethod
    def decode(ids, merges, special_tokens):
        def held(token):
            if token < 256:
                return bytes([token])
            if token < 256 + len(merges):
                return b"".join(map(held, merges[token - 256]))
            return special_tokens[token - 256 - len(merges)].encode()

        return b"".join(map(held, ids)).decode(errors="replace")


class as_gpt_2_does:
    """Another way: the merge of the lowest rank first, with a cache of words, as in GPT-2's encoder.py."""

    @staticmethod
    def pretokenize(text, special_tokens):
        word = re.compile(
            r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:(?!\s|[^\W\d_]|\d).)+|\s+(?!\S)|\s+",
            re.UNICODE | re.DOTALL,
        )
        ordered = sorted(special_tokens, key=lambda token: -len(token))
        special = re.compile("|".join(map(re.escape, ordered)) or r"(?!)")
        pieces, begin = [], 0
        for match in special.finditer(text):
            pieces.extend(m.group() for m in word.finditer(text[begin : match.start()]))
            pieces.append(match.group())
            begin = match.end()
        pieces.extend(m.group() for m in word.finditer(text[begin:]))
        return pieces

    @staticmethod
    def encode(text, merges, special_tokens):
        ranks = {tuple(pair): 256 + i for i, pair in enumerate(merges)}
        special = {token: 256 + len(merges) + j for j, token in enumerate(special_tokens)}

        @cache
        def ids_of(piece):
            if piece in special:
                return [special[piece]]
            ids = list(piece.encode("utf-8"))
            while len(ids) > 1:
                best = min(pairwise(ids), key=lambda pair: ranks.get(pair, float("inf")))
                if best not in ranks:
                    break
                at = 0
                while at < len(ids):
                    if tuple(ids[at : at + 2]) == best:
                        ids[at : at + 2] = [ranks[best]]
                    at += 1
            return ids

        return [token for piece in as_gpt_2_does.pretokenize(text, special_tokens) for token in ids_of(piece)]

    @staticmethod
    def decode(ids, merges, special_tokens):
        table = {i: bytes((i,)) for i in range(256)}
        for i, (left, right) in enumerate(merges, 256):
            table[i] = table[left] + table[right]
        for j, token in enumerate(special_tokens, 256 + len(merges)):
            table[j] = token.encode()
        joined = bytearray()
        for i in ids:
            joined.extend(table[i])
        return str(joined, "utf-8", "replace")


class runs_of_one_kind:
    """Runs of characters of one class by groupby, and spaces and contractions moved afterwards."""

    @staticmethod
    def pretokenize(text, special_tokens):
        if not text:
            return []
        begins = [
            (at, -len(token), token)
            for token in special_tokens
            for at in range(len(text))
            if text.startswith(token, at)
        ]
        if not begins:
            return runs_of_one_kind.words(text)
        at, length, token = min(begins)
        rest = runs_of_one_kind.pretokenize(text[at - length :], special_tokens)
        return [*runs_of_one_kind.words(text[:at]), token, *rest]

    @staticmethod
    def kind(character):
        category = unicodedata.category(character)
        if category.startswith("L"):
            return "letters"
        if category == "Nd":
            return "digits"
        return "space" if character.isspace() else "signs"

    @staticmethod
    def words(part):
        runs = [(kind, "".join(run)) for kind, run in groupby(part, runs_of_one_kind.kind)]
        words, i = [], 0
        while i < len(runs):
            kind, run = runs[i]
            if kind == "space":
                if i + 1 == len(runs):
                    words.append(run)
                elif run[-1] == " ":
                    words += [run[:-1]] * (len(run) > 1)
                    runs[i + 1] = (runs[i + 1][0], " " + runs[i + 1][1])
                else:
                    words += ([run[:-1]] if len(run) > 1 else []) + [run[-1]]
            elif run == "'" and i + 1 < len(runs):
                ending = next((x for x in ("re", "ve", "ll", *"stmd") if runs[i + 1][1].startswith(x)), "")
                words.append("'" + ending)
                rest = runs[i + 1][1][len(ending) :]
                if ending and not rest:
                    i += 1
                else:
                    runs[i + 1] = (runs[i + 1][0], rest)
            else:
                words.append(run)
            i += 1
        return words

    @staticmethod
    def encode(text, merges, special_tokens):
        pieces = runs_of_one_kind.pretokenize(text, special_tokens)
        rows = [[-1] if piece in special_tokens else [*piece.encode()] for piece in pieces]
        for number, (left, right) in enumerate(merges, start=256):
            for row in rows:
                start = 0
                while left in row[start:]:
                    start = row.index(left, start) + 1
                    if row[start : start + 1] == [right]:
                        row[start - 1 : start + 1] = [number]
        first = 256 + len(merges)
        return [
            first + special_tokens.index(piece) if token == -1 else token
            for piece, row in zip(pieces, rows, strict=True)
            for token in row
        ]

    @staticmethod
    def decode(ids, merges, special_tokens):
        ids, first = list(ids), 256 + len(merges)
        joined, stack = b"", ids[::-1]
        while stack:
            token = stack.pop()
            if token >= first:
                joined += special_tokens[token - first].encode()
            elif token >= 256:
                stack += [merges[token - 256][1], merges[token - 256][0]]
            else:
                joined += bytes([token])
        return joined.decode("utf-8", "replace")


class a_tree_of_special_tokens:
    """Special tokens in a tree of characters; merges by a stack; words by match after match."""

    @staticmethod
    def pretokenize(text, special_tokens):
        tree = {}
        for token in special_tokens:
            node = tree
            for character in token:
                node = node.setdefault(character, {})
            node[""] = token
        pieces, part, at = [], "", 0
        while at < len(text):
            node, longest = tree, None
            for character in text[at:]:
                node = node.get(character)
                if node is None:
                    break
                longest = node.get("", longest)
            if longest is None:
                part, at = part + text[at], at + 1
            else:
                pieces += [*a_tree_of_special_tokens.words(part), longest]
                part, at = "", at + len(longest)
        return [*pieces, *a_tree_of_special_tokens.words(part)]

    @staticmethod
    def words(part):
        rules = (
            r"'(?:s|t|re|ve|m|ll|d)",
            r"[ ]?[^\W0-9\d_]+",
            r"[ ]?\d+",
            r"[ ]?(?:_|[^\s\w])+",
            r"\s+\Z",
            r"\s+(?=\s)",
            r"\s",
        )
        at, words = 0, []
        while at < len(part):
            match = next(filter(None, (re.compile(rule).match(part, at) for rule in rules)))
            words.append(match[0])
            at = match.end()
        return words

    @staticmethod
    def encode(text, merges, special_tokens):
        ids, ends = [], 256 + len(merges)
        for piece in a_tree_of_special_tokens.pretokenize(text, special_tokens):
            if piece in special_tokens:
                ids += [ends + special_tokens.index(piece)]
                continue
            own = tuple(piece.encode())
            for i in range(len(merges)):
                stack = []
                for token in own:
                    stack.append(token)
                    if stack[-2:] == list(merges[i]):
                        stack[-2:] = [256 + i]
                own = tuple(stack)
            ids += own
        return ids

    @staticmethod
    def decode(ids, merges, special_tokens):
        return a_scanner.decode(ids, merges, special_tokens)


class ids_of_numpy:
    """The ids of a piece are an array, so what comes back is a list of NumPy's integers."""

    @staticmethod
    def pretokenize(text, special_tokens):
        return a_scanner.pretokenize(text, special_tokens)

    @staticmethod
    def encode(text, merges, special_tokens):
        ids = []
        for piece in a_scanner.pretokenize(text, special_tokens):
            if piece in special_tokens:
                ids.append(np.int64(256 + len(merges) + special_tokens.index(piece)))
                continue
            own = np.frombuffer(piece.encode(), np.uint8).astype(np.int64)
            for new, (left, right) in enumerate(merges, 256):
                at = 0
                while at + 1 < len(own):
                    if own[at] == left and own[at + 1] == right:
                        own[at] = new
                        own = np.delete(own, at + 1)
                    at += 1
            ids.extend(own)
        return ids

    @staticmethod
    def decode(ids, merges, special_tokens):
        return a_scanner.decode(ids, merges, special_tokens)
