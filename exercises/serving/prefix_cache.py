"""A prefix cache: what was computed for a prompt, kept for the next one.

Many requests begin alike: with one system prompt, one document, the same turns of a
chat. Keys and values of a token depend on the tokens before it alone, so those of a
common beginning can be used again. RadixAttention keeps them in a radix tree, whose
nodes are runs of tokens. Read from the root down to a node, the tokens are a prefix:

    root --- [1 2] --- [3 4]
                   \\-- [5]        holds 1 2 3 4 and 1 2 5, in five tokens

The root is empty. Any other node has one token or more, with a value for each: the
number of a slot, or rows of keys and values. The cache stores what the caller gives and
never looks into it. Children of a node differ in their first token.

`match` walks from the root as long as the tokens agree, and returns the values on its
way: those of the longest prefix of the tokens that is held. Where it ends inside a
node, it splits the node in two. `insert` and `lock` find their prefix in the same way,
and split as well. Nodes that were split are never joined again.

Each call of match, insert and lock is a use of all nodes on its way, up to the place
where it ends, and of a new node. Calls are counted, and a node's last use is the number
of the latest such call. The rest of a node that is split has not been used: it keeps
the last use that the whole node had.

`insert` adds the tokens behind the prefix that it finds, as one new node. For tokens
that are held already nothing changes: the first values stay. It returns how many those
are, and what was evicted. The cache holds at most `capacity` tokens. Where the new ones
do not fit, whole leaves are evicted first, until they do and no longer:

    a leaf         a node without children; its parent may become one
    may go         if no lock holds it, and it is no node of the prefix just found
    which first    the leaf whose last use is the earliest
    evicted        all its values, first token first; leaf after leaf

Where even all that may go would not make room, insert raises ValueError, and the cache
holds what it held before, no token more and none less.

`lock` holds all nodes on the way, from the root to the end of the prefix, until
`unlock` gets the number that it returned. Where no token is found it holds none.
Several locks may hold one node; it may go when the last is gone. Where a locked node is
split, each lock that held it holds both parts, and `unlock` takes it off both. `unlock`
is no use of a node. It raises ValueError for a number that is not living: one that was
never given, or was unlocked.

Example: capacity 6.

    1  insert([1, 2, 3, 4], [10, 11, 12, 13])   (0, [])
    2  insert([1, 2, 5], [20, 21, 22])          (2, []): [1 2] was there
    3  match([1, 2, 5, 9])                      [10, 11, 22]
    4  lock([1, 2, 3])                          0, say; [3 4] becomes [3] and [4]
    5  insert([7, 8, 9], [30, 31, 32])          (0, [13, 22])

Call 5 needs room for 3 tokens and has it for 1. The leaves are [4], last used in call
1, and [5], used in call 3. Once both have gone, the 3 fit. The leaf [3] is locked.

    6  insert([6, 6, 6, 6], ...)                ValueError: [7 8 9] alone may go
    7  unlock(0)
    8  insert([8, 8, 8, 8], [40, 41, 42, 43])   (0, [12, 10, 11, 30, 31, 32])

The leaf [3] goes, then [1 2], which has become one, then [7 8 9].

Elsewhere: SGLang's nodes know the time of their last use, match returns the node to
lock, and the rest of a split node counts as used. In mini-sglang neither of its parts
does. vLLM cuts the tokens into blocks of one size and looks them up by hashes of all
that comes before.

What goes wrong: a part of a split node that no lock holds, or that none lets go; a
parent that is evicted before its children; values of another branch, since only the
first token of a run was compared; a refused insert that has evicted already.

Edge cases with their own checks: locks while others are evicted, splits of locked
nodes.

Not graded: which numbers locks get, as long as those living differ; whether a refused
insert splits nodes or counts as a use; how fast the search for a leaf is.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Zheng et al. 2024, "SGLang: Efficient Execution of Structured Language Model
Programs", on RadixAttention.
"""

from typing import Any


class PrefixCache:
    """Values of at most `capacity` tokens, shared by all sequences that begin alike.

    `num_tokens`, an attribute or a property, is the number of tokens held.
    """

    num_tokens: int

    def __init__(self, capacity: int) -> None:
        raise NotImplementedError

    def match(self, tokens: list[int]) -> list[Any]:
        """Return the values of the longest prefix of the tokens that is held.

        tokens:  any ids, 0 or more; maybe none.
        returns: a value for each token found, in order; maybe none.
        """
        raise NotImplementedError

    def insert(self, tokens: list[int], values: list[Any]) -> tuple[int, list[Any]]:
        """Hold a sequence.

        tokens:  one id or more.
        values:  one for each token. Those of tokens that were held are not taken.
        returns: how many of the tokens were held before, and the values of the tokens
                 that were evicted, in the order in which they went; maybe none.

        Raises ValueError where the tokens do not fit, and evicts nothing then.
        """
        raise NotImplementedError

    def lock(self, tokens: list[int]) -> int:
        """Keep the longest prefix of the tokens that is held, until it is unlocked.

        returns: a number for `unlock`. No living lock has the same.
        """
        raise NotImplementedError

    def unlock(self, number: int) -> None:
        """End a lock."""
        raise NotImplementedError
