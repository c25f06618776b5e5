"""Right answers to prefix_cache in other styles."""

import heapq
from itertools import takewhile


class only_the_last_node_is_locked:
    """Another way: a lock counts at its last node alone; as long as that is there, no ancestor is a leaf."""

    class PrefixCache:
        def __init__(self, capacity):
            self.capacity = capacity
            self.root = {"tokens": (), "values": [], "children": {}, "parent": None, "locks": 0, "time": 0}
            self.clock, self.living = 0, {}

        @property
        def num_tokens(self):
            def size(node):
                return len(node["tokens"]) + sum(map(size, node["children"].values()))

            return size(self.root)

        def walk(self, tokens):
            self.clock += 1
            nodes, rest = [self.root], tuple(tokens)
            while rest and rest[0] in nodes[-1]["children"]:
                child = nodes[-1]["children"][rest[0]]
                both = zip(child["tokens"], rest, strict=False)
                same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))
                if same < len(child["tokens"]):
                    child = self.cut(child, same)
                child["time"] = self.clock
                nodes.append(child)
                rest = rest[same:]
            return nodes, rest

        def cut(self, node, at):
            head = {
                "tokens": node["tokens"][:at],
                "values": node["values"][:at],
                "children": {node["tokens"][at]: node},
                "parent": node["parent"],
                "locks": 0,
                "time": node["time"],
            }
            node["parent"]["children"][node["tokens"][0]] = head
            node.update(tokens=node["tokens"][at:], values=node["values"][at:], parent=head)
            return head

        def match(self, tokens):
            nodes, _ = self.walk(tokens)
            return [value for node in nodes for value in node["values"]]

        def insert(self, tokens, values):
            nodes, rest = self.walk(tokens)
            found = len(tokens) - len(rest)
            mine = {id(node) for node in nodes}
            stays = self.staying(self.root, mine)
            if stays + len(rest) > self.capacity:
                raise ValueError("no room")
            evicted = []
            while self.num_tokens + len(rest) > self.capacity:
                leaf = min(self.leaves(self.root, mine), key=lambda node: node["time"])
                leaf["parent"]["children"].pop(leaf["tokens"][0])
                evicted.extend(leaf["values"])
            if rest:
                nodes[-1]["children"][rest[0]] = {
                    "tokens": rest,
                    "values": list(values[found:]),
                    "children": {},
                    "parent": nodes[-1],
                    "locks": 0,
                    "time": self.clock,
                }
            return found, evicted

        def staying(self, node, mine):
            below = sum(self.staying(child, mine) for child in node["children"].values())
            return below + (len(node["tokens"]) if below or node["locks"] or id(node) in mine else 0)

        def leaves(self, node, mine):
            for child in node["children"].values():
                yield from self.leaves(child, mine)
            if not node["children"] and not node["locks"] and id(node) not in mine:
                yield node

        def lock(self, tokens):
            nodes, _ = self.walk(tokens)
            nodes[-1]["locks"] += 1
            number = max(self.living, default=0) + 1
            self.living[number] = nodes[-1]
            return number

        def unlock(self, number):
            if number not in self.living:
                raise ValueError(number)
            self.living.pop(number)["locks"] -= 1


class prefixes_without_a_tree:
    """Another way: one entry for each prefix in a dict, and a set of the prefixes at which nodes end."""

    class PrefixCache:
        def __init__(self, capacity):
            self.capacity, self.calls = capacity, 0
            self.values, self.used, self.ends, self.locks = {}, {}, set(), {}

        num_tokens = property(lambda self: len(self.values))

        def find(self, tokens):
            self.calls += 1
            prefix = ()
            for token in tokens:
                if (*prefix, token) not in self.values:
                    break
                prefix = (*prefix, token)
                self.used[prefix] = self.calls
            if prefix:
                self.ends.add(prefix)
            return prefix

        def match(self, tokens):
            prefix = self.find(tokens)
            return [self.values[prefix[: i + 1]] for i in range(len(prefix))]

        def lock(self, tokens):
            number = -1 - len(self.locks)
            self.locks[number] = self.find(tokens)
            return number

        def unlock(self, number):
            assert self.locks.get(number) is not None
            self.locks[number] = None

        def insert(self, tokens, values):
            prefix, tokens = self.find(tokens), tuple(tokens)
            new = len(tokens) - len(prefix)
            held = [prefix, *(lock for lock in self.locks.values() if lock)]
            stay = {lock[: i + 1] for lock in held for i in range(len(lock))}
            assert len(stay) + new <= self.capacity
            evicted = []
            while len(self.values) + new > self.capacity:
                parents = {entry[:-1] for entry in self.values}
                leaf = min(self.ends - parents - stay, key=lambda end: self.used[end])
                self.ends.discard(leaf)
                run = []
                while leaf and leaf not in self.ends:
                    run.append(self.values.pop(leaf))
                    leaf = leaf[:-1]
                evicted += reversed(run)
            for i in range(len(prefix), len(tokens)):
                self.values[tokens[: i + 1]] = values[i]
                self.used[tokens[: i + 1]] = self.calls
            self.ends.add(tokens)
            return len(prefix), evicted


class _Node:
    __slots__ = ("children", "key", "parent", "refs", "stamp", "value")

    def __init__(self, key, value, parent, stamp):
        self.key, self.value, self.parent, self.stamp = key, value, parent, stamp
        self.children, self.refs = [], 0

    def __lt__(self, other):
        return self.stamp < other.stamp


class a_heap_of_leaves:
    """As SGLang does: the own prefix is locked while others go, leaves wait in a heap; sizes are counted."""

    class PrefixCache:
        def __init__(self, capacity):
            self.root, self.capacity, self.stamp = _Node([], [], None, 0), capacity, 0
            self.num_tokens = self.evictable = 0
            self.tickets = []

        def descend(self, tokens):
            self.stamp += 1
            node, at = self.root, 0
            while True:
                following = [child for child in node.children if child.key[:1] == tokens[at : at + 1]]
                if at == len(tokens) or not following:
                    return node, at
                (child,) = following
                length = len(child.key)
                while child.key[:length] != tokens[at : at + length]:
                    length -= 1
                if length < len(child.key):
                    upper = _Node(child.key[:length], child.value[:length], node, child.stamp)
                    upper.refs, upper.children = child.refs, [child]
                    node.children[node.children.index(child)] = upper
                    child.key, child.value, child.parent = child.key[length:], child.value[length:], upper
                    child = upper
                child.stamp = self.stamp
                node, at = child, at + length

        def reference(self, node, change):
            while node is not self.root:
                was, node.refs = node.refs, node.refs + change
                if not was or not node.refs:
                    self.evictable -= change * len(node.key)
                node = node.parent

        def match(self, tokens):
            node, at = self.descend(list(tokens))
            values = [None] * at
            while at:
                values[at - len(node.key) : at] = node.value
                at, node = at - len(node.key), node.parent
            return values

        def insert(self, tokens, values):
            tokens = list(tokens)
            node, at = self.descend(tokens)
            short = self.num_tokens + len(tokens) - at - self.capacity
            self.reference(node, 1)
            try:
                if short > self.evictable:
                    raise ValueError(f"{short} tokens short, {self.evictable} may go")
                evicted = self.evict(short)
            finally:
                self.reference(node, -1)
            if at < len(tokens):
                node.children.append(_Node(tokens[at:], list(values[at:]), node, self.stamp))
                self.num_tokens += len(tokens) - at
                self.evictable += len(tokens) - at
            return at, evicted

        def evict(self, short):
            waiting, heap, evicted = [self.root], [], []
            while waiting:
                node = waiting.pop()
                waiting += node.children
                if node is not self.root and not node.children and not node.refs:
                    heapq.heappush(heap, node)
            while len(evicted) < short:
                leaf = heapq.heappop(heap)
                leaf.parent.children.remove(leaf)
                evicted += leaf.value
                self.num_tokens -= len(leaf.key)
                self.evictable -= len(leaf.key)
                parent = leaf.parent
                if parent is not self.root and not parent.children and not parent.refs:
                    heapq.heappush(heap, parent)
            return evicted

        def lock(self, tokens):
            node, _ = self.descend(list(tokens))
            self.reference(node, 1)
            self.tickets.append(node)
            return len(self.tickets) - 1

        def unlock(self, number):
            if not 0 <= number < len(self.tickets) or self.tickets[number] is None:
                raise ValueError("no such lock")
            self.reference(self.tickets[number], -1)
            self.tickets[number] = None


class nodes_know_their_locks:
    """A list of nodes without links: where a node begins, its whole prefix, and the set of its locks."""

    class PrefixCache:
        def __init__(self, capacity):
            self.capacity, self.turn, self.next = capacity, 0, 100
            self.nodes = []  # [start, prefix up to its end, values, last use, set of locks]

        num_tokens = property(lambda self: sum(len(node[2]) for node in self.nodes))

        def visit(self, tokens):
            self.turn += 1
            length, way = 0, []
            for node in sorted(self.nodes, key=lambda node: node[0]):
                start, prefix = node[0], node[1]
                if start != length or prefix[:start] != tokens[:start]:
                    continue
                while length < min(len(prefix), len(tokens)) and prefix[length] == tokens[length]:
                    length += 1
                if length == start:
                    continue
                if length < len(prefix):
                    self.nodes.append([start, prefix[:length], node[2][: length - start], 0, set(node[4])])
                    node[0], node[2] = length, node[2][length - start :]
                    node = self.nodes[-1]
                node[3] = self.turn
                way.append(node)
            return length, way

        def match(self, tokens):
            return [value for node in self.visit(list(tokens))[1] for value in node[2]]

        def lock(self, tokens):
            self.next += 1
            for node in self.visit(list(tokens))[1]:
                node[4].add(self.next)
            self.living = {*getattr(self, "living", ()), self.next}
            return self.next

        def unlock(self, number):
            if number not in getattr(self, "living", ()):
                raise ValueError("not living")
            self.living.remove(number)
            for node in self.nodes:
                node[4].discard(number)

        def insert(self, tokens, values):
            length, way = self.visit(list(tokens))
            stay = sum(len(node[2]) for node in self.nodes if node[4] or node in way)
            if stay + len(tokens) - length > self.capacity:
                raise ValueError("too long")
            gone = []
            while self.num_tokens + len(tokens) - length > self.capacity:
                leaves = [
                    node
                    for node in self.nodes
                    if not node[4]
                    and node not in way
                    and not any(
                        other[0] == len(node[1]) and other[1][: other[0]] == node[1] for other in self.nodes
                    )
                ]
                oldest = min(leaves, key=lambda node: node[3])
                self.nodes.remove(oldest)
                gone += oldest[2]
            if length < len(tokens):
                self.nodes.append([length, list(tokens), list(values[length:]), self.turn, set()])
            return length, gone
