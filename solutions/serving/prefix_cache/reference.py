"""Zheng et al. 2024, RadixAttention: a radix tree with counts of locks, evicted leaf by leaf."""


class Node:
    """A run of tokens and their values; the call that used it last; how many locks hold it."""

    def __init__(self, tokens, values, parent, used, locks=0):
        self.tokens, self.values, self.parent = tokens, values, parent
        self.used, self.locks, self.children = used, locks, {}

    def way(self):
        """The nodes from this one up to the root, which is left out."""
        node = self
        while node.parent is not None:
            yield node
            node = node.parent


class PrefixCache:
    def __init__(self, capacity):
        self.capacity, self.num_tokens, self.calls = capacity, 0, 0
        self.root, self.locked, self.given = Node([], [], None, 0), {}, 0

    def match(self, tokens):
        node, _ = self._find(tokens)
        values = []
        for part in node.way():
            values = part.values + values
        return values

    def insert(self, tokens, values):
        node, found = self._find(tokens)
        missing = len(tokens) - found
        evicted = self._make_room(missing, list(node.way()))
        if missing:
            node.children[tokens[found]] = Node(tokens[found:], values[found:], node, self.calls)
            self.num_tokens += missing
        return found, evicted

    def lock(self, tokens):
        node, _ = self._find(tokens)
        for part in node.way():
            part.locks += 1
        self.given += 1
        self.locked[self.given] = node
        return self.given

    def unlock(self, number):
        if number not in self.locked:
            raise ValueError(f"no living lock has the number {number}")
        for part in self.locked.pop(number).way():
            part.locks -= 1

    def _find(self, tokens):
        """The last node of the longest prefix that is held, and the prefix's length; a use of its nodes."""
        self.calls += 1
        node, found = self.root, 0
        while found < len(tokens) and tokens[found] in node.children:
            node = node.children[tokens[found]]
            common = 0
            while common < min(len(node.tokens), len(tokens) - found):
                if node.tokens[common] != tokens[found + common]:
                    break
                common += 1
            if common < len(node.tokens):
                node = self._split(node, common)
            node.used = self.calls
            found += common
        return node, found

    def _split(self, node, length):
        """Put the first tokens of a node into a node above it, and return that one."""
        upper = Node(node.tokens[:length], node.values[:length], node.parent, node.used, node.locks)
        upper.parent.children[upper.tokens[0]] = upper
        node.tokens, node.values, node.parent = node.tokens[length:], node.values[length:], upper
        upper.children[node.tokens[0]] = node
        return upper

    def _make_room(self, missing, prefix):
        """Evict leaves until so many tokens fit; return their values."""
        loose = [node for node in self._nodes() if not node.locks and node not in prefix]
        least = self.num_tokens - sum(len(node.tokens) for node in loose)
        if least + missing > self.capacity:
            raise ValueError(f"{missing} tokens do not fit beside {least} that must stay")
        evicted = []
        while self.num_tokens + missing > self.capacity:
            leaf = min((node for node in loose if not node.children), key=lambda node: node.used)
            loose.remove(leaf)
            del leaf.parent.children[leaf.tokens[0]]
            self.num_tokens -= len(leaf.tokens)
            evicted += leaf.values
        return evicted

    def _nodes(self):
        """All nodes but the root."""
        waiting = list(self.root.children.values())
        for node in waiting:
            waiting += node.children.values()
        return waiting
