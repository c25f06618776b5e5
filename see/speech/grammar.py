"""Short stories from a grammar: the training data of the model that speaks.

A story is a row of sentences. A sentence is one of a few patterns, and a name in braces stands for one of
its words. A name keeps the word that it got first, so a story is about one hero and one thing to its end.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping

#: Ends a story, and stands before each.
END = "\n"
#: The names that differ with the kind of the hero.
HEROES: tuple[dict[str, tuple[str, ...]], ...] = (
    {
        "hero": ("boat", "ship", "raft", "ferry"),
        "home": ("in the harbour", "at the pier", "on the river", "in a quiet bay"),
        "went": ("sailed", "drifted", "floated"),
        "it": ("it",),
        "It": ("It",),
    },
    {
        "hero": ("fox", "hare", "bear", "mouse", "cat", "dog", "goat", "horse"),
        "home": ("under the oak", "behind the mill", "in the forest", "in the barn", "on the hill"),
        "went": ("ran", "walked", "crept"),
        "it": ("it",),
        "It": ("It",),
    },
    {
        "hero": ("girl", "queen", "baker", "dancer", "princess"),
        "home": ("in the village", "above the shop", "beside the church", "near the lake"),
        "went": ("walked", "rode", "hurried"),
        "it": ("she",),
        "It": ("She",),
    },
    {
        "hero": ("boy", "king", "miller", "sailor", "prince"),
        "home": ("in the village", "above the stable", "beside the gate", "near the lake"),
        "went": ("walked", "rode", "hurried"),
        "it": ("he",),
        "It": ("He",),
    },
)
#: The names that every story may use.
WORDS: dict[str, tuple[str, ...]] = {
    "kind": ("small", "brave", "shy", "quiet", "happy", "lonely", "tired", "proud", "clever", "little"),
    "day": ("One morning", "One evening", "After the storm", "On a warm day", "At noon", "Before winter"),
    "colour": ("red", "blue", "green", "golden", "silver", "white", "yellow"),
    "thing": ("key", "bell", "drum", "ring", "hat", "clock", "cup", "flute", "coat", "book", "mirror"),
    "light": ("lamp", "lantern", "torch", "candle"),
    "spot": ("on the sand", "under a bridge", "beside the road", "in the grass", "near the well"),
    "lost": ("in the fog", "in the dark", "between the rocks", "in the deep snow"),
    "friend": ("crow", "frog", "gull", "heron", "turtle", "moth", "hen", "snail"),
    "owner": ("shepherd", "teacher", "captain", "painter", "doctor", "gardener", "fisher", "wizard"),
    "place": ("lighthouse", "market", "castle", "tower", "garden", "school", "chapel", "windmill"),
    "weather": ("in the rain", "through the snow", "under the stars", "against the wind"),
    "gift": ("cake", "pie", "melon", "cheese", "pear", "loaf", "jar of honey"),
    "deed": ("cross the lake", "count the stars", "climb the tree", "sing all night", "catch the wind"),
    "tried": ("tried again and again", "practised for a year", "asked for advice"),
}
BEGINNING = ("The {kind} {hero} lived {home}.", "Once a {kind} {hero} lived {home}.")
#: Each plot is a row of sentences, each with its patterns.
PLOTS: tuple[tuple[tuple[str, ...], ...], ...] = (
    (
        BEGINNING,
        ("{day}, {it} found a {colour} {thing} {spot}.", "{day}, a {colour} {thing} lay {spot}."),
        ('"Whose {thing} is this?" {it} asked.', '{It} asked: "Whose {thing} is this?"'),
        (
            'A {friend} knew the answer. "It belongs to the {owner} in the {place}."',
            '"The {owner} in the {place} lost it," said a {friend}.',
        ),
        ("So the {hero} {went} to the {place} {weather}.", "So {it} {went} {weather} to the {place}."),
        ("The {owner} took the {colour} {thing}, laughed, and gave the {hero} a {gift}.",),
        ("That night the {kind} {hero} was back {home} and shared the {gift} with the {friend}.",),
    ),
    (
        BEGINNING,
        ("{day}, {it} lost the way {lost}.", "{day}, the {hero} was alone {lost}."),
        ('"Is anybody there?" {it} called.', "{It} called, but nobody answered."),
        ("Then a {friend} came with a {colour} {light}.",),
        (
            '"Follow the {colour} {light} to the {place}," said the {friend}.',
            '"This {light} knows the way to the {place}," said the {friend}.',
        ),
        ("The {hero} {went} behind the {friend} {weather}.", "Together they {went} {weather}."),
        ("In the {place} the {owner} was waiting with a {gift}.",),
        ("The {kind} {hero} thanked the {friend} and never forgot the {colour} {light}.",),
    ),
    (
        BEGINNING,
        (
            "{day}, the {owner} promised a {colour} {thing} to anyone who could {deed}.",
            '{day}, the {owner} said: "I have a {colour} {thing} for anyone who can {deed}."',
        ),
        ('"Nobody can {deed}," said the {friend}.', "The {friend} tried first and failed."),
        ("But the {kind} {hero} {tried}.", "But the {hero} {tried}."),
        ("At last {it} could {deed}, and everybody in the {place} cheered.",),
        ("So the {owner} gave the {colour} {thing} to the {kind} {hero}.",),
        ("Now the {thing} is {home}, and the {friend} often comes to see it.",),
    ),
)
_NAME = re.compile(r"{(\w+)}")


def tell(rng: random.Random) -> str:
    """Return a story, without its end."""
    words = {**WORDS, **rng.choice(HEROES)}
    chosen: dict[str, str] = {}

    def word(name: re.Match[str]) -> str:
        return chosen.setdefault(name[1], rng.choice(words[name[1]]))

    return " ".join(_NAME.sub(word, rng.choice(sentence)) for sentence in rng.choice(PLOTS))


def is_story(text: str) -> bool:
    """Return whether the grammar tells this story, from its first word to its last."""
    return any(_reads(" " + text, sentences, {**WORDS, **hero}, {}) for hero in HEROES for sentences in PLOTS)


def _reads(
    text: str,
    sentences: tuple[tuple[str, ...], ...],
    words: Mapping[str, tuple[str, ...]],
    chosen: dict[str, str],
) -> bool:
    """Return whether the text consists of these sentences, each after a space, if the names in `chosen` keep
    their words."""
    if not sentences:
        return not text
    ends = (end for pattern in sentences[0] for end in _ends(text, " " + pattern, words, chosen))
    return any(_reads(text[end:], sentences[1:], words, known) for end, known in ends)


def _ends(
    text: str, pattern: str, words: Mapping[str, tuple[str, ...]], chosen: dict[str, str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each length of text that the pattern fits from the beginning, with the words that its names then
    stand for."""
    name = _NAME.search(pattern)
    if name is None:
        if text.startswith(pattern):
            yield len(pattern), chosen
        return
    before = pattern[: name.start()]
    if text.startswith(before):
        for word in [chosen[name[1]]] if name[1] in chosen else words[name[1]]:
            rest = word + pattern[name.end() :]
            for end, known in _ends(text[len(before) :], rest, words, {**chosen, name[1]: word}):
                yield len(before) + end, known
