"""prefix_cache: its cases and its laws.

A script is a list of calls. What is due is computed from the rules of the statement by `Held`, which knows no
tree: only prefixes, and at which of them a node ends.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "prefix_cache",
    track="serving",
    entry_points=("PrefixCache",),
    title="One beginning for many requests",
    source="Zheng et al. 2024, SGLang, RadixAttention",
    libraries=("numpy",),
    bank_size=40,
    free_answers=("lock",),
    hints=(
        "Draw the tree of the example after each call, with the last use and the number of locks beside each "
        "node. Which node is new after lock([1, 2, 3]), and which two numbers does it begin with?",
        "match, insert and lock begin with the same search, so write it once: it splits, notes the use, and "
        "returns the last node and how many tokens were found. A split puts a new node above the old one:\n\n"
        "    before    P --- [3 4]           used 1, locks 1\n"
        "    after     P --- [3] --- [4]     both used 1, both locks 1\n\n"
        "The old node becomes [4] and keeps its children; [3] is new. A lock has noted its last node. Why "
        "must that object be the lower part, when unlock goes from it to the root?",
        "A node has tokens, values, a parent, children by their first token, a last use and a count of "
        "locks. The root is empty and never evicted.\n\n"
        "    search   count the call; from the root, take the child of the next token;\n"
        "             count how many tokens agree; if they end inside, split and go\n"
        "             to the upper part; note the use; go on with the rest\n"
        "    match    join the values of the nodes on the way\n"
        "    lock     add 1 to each node from the last one up; note the last one\n"
        "    unlock   refuse an unknown number; take 1 off each node from it up\n"
        "    insert   search; make room; add one child with the rest\n\n"
        "To make room, list the nodes that no lock holds and that are not on the way. If all others and "
        "the new tokens exceed the capacity, refuse, before anything goes. Then repeat: of those without "
        "children the one used earliest goes, from parent and num_tokens.",
    ),
    hint_for={
        "makes_the_new_node_the_lower_one": 2,
        "splits_without_the_locks": 2,
        "refuses_when_leaves_have_gone": 3,
        "looks_for_leaves_once": 3,
    },
)


class Held:
    """What a cache holds, by prefixes: a value and a last use for each, and those at which a node ends."""

    def __init__(self, capacity):
        self.capacity, self.calls = capacity, 0
        self.values, self.used, self.ends, self.locks = {}, {}, set(), []

    def longest(self, tokens):
        return max(
            (n for n in range(len(tokens) + 1) if not n or tuple(tokens[:n]) in self.values), default=0
        )

    def use(self, tokens):
        """How many tokens are held; they are used."""
        self.calls += 1
        found = self.longest(tokens)
        for length in range(1, found + 1):
            self.used[tuple(tokens[:length])] = self.calls
        self.ends |= {tuple(tokens[:found])} - {()}
        return found

    def match(self, tokens):
        found = self.use(tokens)
        return [self.values[tuple(tokens[:length])] for length in range(1, found + 1)]

    def lock(self, tokens):
        self.locks.append(tuple(tokens[: self.use(tokens)]))

    def unlock(self, number):
        self.locks[number] = None

    def is_locked(self, prefix):
        return any(lock is not None and lock[: len(prefix)] == prefix for lock in self.locks)

    def must_stay(self, tokens, found):
        """How many tokens an insert may not evict."""
        prefix = tuple(tokens[:found])
        return sum(self.is_locked(held) or held == prefix[: len(held)] for held in self.values)

    def fits(self, tokens):
        found = self.longest(tokens)
        return self.must_stay(tokens, found) + len(tokens) - found <= self.capacity

    def evict(self, kept):
        """Evict one leaf; its values."""
        inner = {prefix[:-1] for prefix in self.values}
        leaves = [end for end in self.ends - inner if not self.is_locked(end) and kept[: len(end)] != end]
        leaf = min(leaves, key=self.used.get)
        self.ends.remove(leaf)
        gone = [leaf]
        while gone[0][:-1] and gone[0][:-1] not in self.ends:
            gone.insert(0, gone[0][:-1])
        return [self.values.pop(prefix) for prefix in gone]

    def insert(self, tokens, values):
        found, evicted = self.use(tokens), []
        while len(self.values) + len(tokens) - found > self.capacity:
            evicted += self.evict(tuple(tokens[:found]))
        for length in range(found + 1, len(tokens) + 1):
            self.values[tuple(tokens[:length])] = values[length - 1]
            self.used[tuple(tokens[:length])] = self.calls
        self.ends.add(tuple(tokens))
        return found, evicted

    def splits_a_locked_node(self, tokens):
        prefix = tuple(tokens[: self.longest(tokens)])
        return bool(prefix) and prefix not in self.ends and self.is_locked(prefix)


def draw_tokens(draw, seen):
    """Tokens that often begin as earlier ones."""
    known = list(draw(st.sampled_from(seen))) if seen and draw(st.integers(0, 3)) else []
    kept = known[: draw(st.integers(0, len(known)))]
    new = draw(st.lists(st.integers(1, 4), min_size=0 if kept else 1, max_size=3))
    return kept + new


OPERATIONS = (*["insert"] * 4, "match", "match", "lock", "unlock")


def draw_script(draw, operations=OPERATIONS, longest=9):
    """A capacity, and a script of which no call is refused."""
    capacity = draw(st.sampled_from([6, 4, 8, 12]))
    held, script, seen, value = Held(capacity), [], [], 10
    for _ in range(draw(st.integers(3, longest))):
        operation = draw(st.sampled_from(operations))
        living = [number for number, lock in enumerate(held.locks) if lock is not None]
        if operation == "unlock" and living:
            script.append(["unlock", draw(st.sampled_from(living))])
            held.unlock(script[-1][1])
            continue
        tokens = draw_tokens(draw, seen)
        if operation in ("match", "lock"):
            script.append([operation, tokens])
            getattr(held, operation)(tokens)
            continue
        while not held.fits(tokens):
            tokens = tokens[:-1]
        if tokens:
            script.append(["insert", tokens, list(range(value, value + len(tokens)))])
            held.insert(*script[-1][1:])
            seen, value = [*seen, tokens], value + len(tokens)
    if not seen:
        script.append(["insert", [5, 6], [8, 9]])
    ends = draw(st.permutations(seen))[:2]
    script += [["match", tokens] for tokens in ends]
    return {"capacity": capacity, "script": script}


@KATA.cases
def cases(draw):
    plain = draw(st.sampled_from([True, False]))
    return draw_script(draw, OPERATIONS[:6] if plain else OPERATIONS)


def replayed(capacity, script):
    """Play a script by the rules; before each call give what is held, the call, and whether it evicts."""
    held = Held(capacity)
    for operation, *arguments in script:
        yield held, operation, arguments
        getattr(held, operation)(*arguments)


@KATA.corner(points=0.5)
def splits_of_locked_nodes(capacity, script):
    """Both parts of a split node are held by each lock that held it."""
    return any(
        operation != "unlock" and held.splits_a_locked_node(arguments[0])
        for held, operation, arguments in replayed(capacity, script)
    )


@KATA.corner(points=0.5)
def locks_while_others_are_evicted(script):
    """What is locked stays while others are evicted, until its last lock is gone."""
    return any(operation == "lock" for operation, *_ in script)


PRINTED = [
    ["insert", [1, 2, 3, 4], [10, 11, 12, 13]],
    ["insert", [1, 2, 5], [20, 21, 22]],
    ["match", [1, 2, 5, 9]],
    ["lock", [1, 2, 3]],
    ["insert", [7, 8, 9], [30, 31, 32]],
    ["unlock", 0],
    ["insert", [8, 8, 8, 8], [40, 41, 42, 43]],
]


@KATA.example
def printed_calls():
    """The example of the statement, without the call that is refused."""
    return {"capacity": 6, "script": PRINTED}


@KATA.example
def printed_calls_without_locks():
    script = [*PRINTED[:3], ["insert", [7, 8, 9], [30, 31, 32]], ["match", [1, 2, 3]]]
    return {"capacity": 6, "script": script}


@KATA.example
def one_run():
    return {"capacity": 4, "script": [["insert", [1, 2], [10, 11]], ["match", [1, 2]]]}


@KATA.example
def one_branch_beside_another():
    """The first token agrees, the second does not."""
    script = [["insert", [1, 2, 3], [10, 11, 12]], ["match", [1, 3]], ["insert", [1, 3], [20, 21]]]
    return {"capacity": 4, "script": [*script, ["match", [1, 3, 3]], ["match", [2]], ["match", []]]}


@KATA.example
def the_rest_of_a_split_node_is_older():
    """Call 3 uses [1 2]; the rest, [3], was used in call 1, before [5]."""
    script = [["insert", [1, 2, 3], [10, 11, 12]], ["insert", [5], [20]], ["match", [1, 2]]]
    return {"capacity": 4, "script": [*script, ["insert", [6], [30]], ["insert", [7], [40]]]}


@KATA.example
def a_beginning_is_inserted():
    """It splits the node, takes no room, and uses the first part alone."""
    script = [["insert", [1, 2, 3], [10, 11, 12]], ["insert", [5], [20]], ["insert", [1], [30]]]
    return {"capacity": 4, "script": [*script, ["insert", [6, 6, 6], [40, 41, 42]], ["match", [1]]]}


@KATA.example
def a_match_is_a_use():
    script = [["insert", [1], [10]], ["insert", [2], [20]], ["match", [1]], ["insert", [3], [30]]]
    return {"capacity": 2, "script": [*script, ["match", [1]], ["match", [2]]]}


@KATA.example
def parents_become_leaves():
    script = [["insert", [1, 2], [10, 11]], ["insert", [1, 2, 3], [20, 21, 22]], ["insert", [5], [30]]]
    return {"capacity": 4, "script": [*script, ["insert", [6, 6, 6], [40, 41, 42]]]}


@KATA.example
def a_parent_is_used_with_its_child():
    """[1] is used in call 5 as well, and so stays longer than [5], which was locked."""
    script = [["insert", [1], [10]], ["insert", [1, 2], [20, 21]], ["insert", [5], [30]], ["lock", [5]]]
    script += [["match", [1, 2]], ["insert", [6], [40]], ["unlock", 0], ["insert", [7], [50]]]
    return {"capacity": 3, "script": script}


@KATA.example
def two_locks_of_one_node():
    script = [["insert", [1, 2], [10, 11]], ["lock", [1, 2]], ["lock", [1, 2, 3]], ["unlock", 0]]
    script += [
        ["insert", [5], [20]],
        ["insert", [6], [30]],
        ["unlock", 1],
        ["insert", [7, 8, 9], [40, 41, 42]],
    ]
    return {"capacity": 3, "script": script}


@KATA.example
def two_locks_of_one_beginning():
    """The lock that was given first stays."""
    script = [["insert", [1, 2, 3], [10, 11, 12]], ["lock", [1, 2]], ["lock", [1, 2, 7]], ["unlock", 1]]
    script += [["insert", [5], [20]], ["insert", [6, 7], [30, 31]], ["match", [1, 2]]]
    return {"capacity": 4, "script": script}


@KATA.example
def a_locked_prefix_of_two_nodes():
    """Both stay, the end and the beginning, while others come and go."""
    script = [["insert", [1, 2], [10, 11]], ["insert", [1, 2, 3], [20, 21, 22]], ["lock", [1, 2, 3]]]
    script += [["insert", [5, 6], [30, 31]], ["insert", [7, 8], [40, 41]], ["insert", [9], [50]]]
    return {"capacity": 6, "script": [*script, ["insert", [4], [60]], ["match", [1, 2, 3]]]}


@KATA.example
def a_locked_node_is_split():
    script = [["insert", [1, 2, 3], [10, 11, 12]], ["lock", [1, 2, 3]], ["insert", [1, 5], [20, 21]]]
    script += [["insert", [6], [30]], ["unlock", 0], ["insert", [7, 7, 7, 7], [40, 41, 42, 43]]]
    return {"capacity": 4, "script": script}


@KATA.example
def the_rest_of_a_node_that_was_locked():
    script = [["insert", [1, 2, 3], [10, 11, 12]], ["lock", [1, 2, 3]], ["insert", [1, 5], [20, 21]]]
    return {"capacity": 4, "script": [*script, ["unlock", 0], ["insert", [6], [30]], ["match", [1, 5]]]}


@KATA.example
def a_lock_ends_inside_a_node():
    """The rest is not locked."""
    script = [["insert", [1, 2, 3], [10, 11, 12]], ["lock", [1]], ["insert", [5], [20]]]
    return {"capacity": 3, "script": [*script, ["match", [1, 2, 3]]]}


@KATA.example
def a_lock_is_a_use():
    script = [["insert", [1], [10]], ["insert", [2], [20]], ["lock", [1]], ["unlock", 0]]
    return {"capacity": 2, "script": [*script, ["insert", [3], [30]]]}


@KATA.example
def a_lock_that_finds_nothing():
    script = [["lock", [1]], ["insert", [1], [10]], ["insert", [2], [20]], ["unlock", 0]]
    return {"capacity": 1, "script": script}


@KATA.example
def two_locks_that_find_nothing():
    """Each has a number of its own."""
    script = [["lock", [1]], ["lock", [2]], ["insert", [1], [10]], ["unlock", 0], ["unlock", 1]]
    return {"capacity": 2, "script": [*script, ["match", [1]]]}


@KATA.example
def unlocking_is_no_use():
    script = [["insert", [1], [10]], ["lock", [1]], ["insert", [2], [20]], ["unlock", 0]]
    return {"capacity": 2, "script": [*script, ["insert", [3], [30]]]}


def played(student, capacity, script):
    """Play a script; after each call give the cache, the call and its answer."""
    cache, numbers = student.PrefixCache(capacity), []
    for operation, *arguments in script:
        if operation == "unlock":
            cache.unlock(numbers[arguments[0]])
            answer = None
        else:
            answer = getattr(cache, operation)(*arguments)
        if operation == "lock":
            numbers.append(answer)
        yield cache, operation, arguments, answer


@KATA.observe
def observe(student, capacity, script):
    """What each call returns, and how many tokens are held at the end."""
    seen, cache = {}, None
    for call, (now, operation, arguments, answer) in enumerate(played(student, capacity, script), start=1):
        cache = now
        if operation in ("match", "insert"):
            seen[f"{operation} {arguments[0]} (call {call})"] = answer
    return {**seen, "tokens held": cache.num_tokens}


def answer_of_insert(cache, tokens, values):
    """Call insert, fail the law unless it returns a number and a list, and return both."""
    answer = cache.insert(tokens, values)
    pair = isinstance(answer, tuple | list) and len(answer) == 2 and isinstance(answer[1], tuple | list)
    expect.true(
        pair, "insert must return the number of tokens that were held, and the list of evicted values."
    )
    return answer[0], list(answer[1])


def sequences(draw):
    """Sequences to insert, and one to look for."""
    seen = []
    for _ in range(draw(st.integers(1, 5))):
        seen.append(draw_tokens(draw, seen))
    return {"inserted": seen, "tokens": draw_tokens(draw, seen)}


@KATA.law(points=1, cases=sequences)
def test_longest_prefix_has_its_first_values(student, inserted, tokens):
    """match returns the longest prefix's values, as first inserted, and insert how many were held."""
    cache, other = student.PrefixCache(99), student.PrefixCache(99)
    due = {}
    for number, sequence in enumerate(inserted):
        values = [100 * number + place for place in range(len(sequence))]
        prefixes = [tuple(sequence[: place + 1]) for place in range(len(sequence))]
        there = sum(prefix in due for prefix in prefixes)
        found, evicted = answer_of_insert(cache, sequence, values)
        expect.equal(found, there, f"the number of tokens of {sequence} that were held")
        expect.equal(evicted, [], "the list of what is evicted while there is room")
        due = dict(zip(prefixes, values, strict=True)) | due
    held = [due[prefix] for place in range(len(tokens)) if (prefix := tuple(tokens[: place + 1])) in due]
    expect.equal(list(cache.match(tokens)), held, f"the list of values that match({tokens}) returns")
    expect.equal(list(other.match(tokens)), [], f"match({tokens}) of another cache, which is empty,")


def scripts(draw):
    return draw_script(draw, OPERATIONS[:6], longest=8)


@KATA.law(points=0.5, cases=scripts)
def test_tokens_are_held_or_evicted(student, capacity, script):
    """num_tokens is the number of tokens added minus those evicted, and never above the capacity."""
    due = Held(capacity)
    for cache, operation, arguments, _ in played(student, capacity, script):
        getattr(due, operation)(*arguments)
        told = f"num_tokens after {operation}({arguments[0]})"
        expect.equal(cache.num_tokens, len(due.values), told)


def scripts_with_locks(draw):
    """Some sequences, one of them locked and split, and others that press upon it."""
    tokens = draw(st.lists(st.integers(1, 3), min_size=2, max_size=4))
    cut = draw(st.integers(1, len(tokens) - 1))
    others = draw(st.lists(st.lists(st.integers(5, 7), min_size=1, max_size=2), min_size=2, max_size=4))
    return {"tokens": tokens, "cut": cut, "others": others}


@KATA.law(points=0.5, cases=scripts_with_locks)
def test_locked_prefixes_stay(student, tokens, cut, others):
    """A locked prefix stays whole, whatever is inserted and however its node is split."""
    cache = student.PrefixCache(len(tokens) + 3)
    values = [10 + place for place in range(len(tokens))]
    cache.insert(tokens, values)
    cache.lock(tokens)
    cache.insert([*tokens[:cut], 9], [0] * cut + [1])
    for number, other in enumerate(others):
        cache.insert(other, [100 * (number + 1) + place for place in range(len(other))])
    expect.equal(list(cache.match(tokens)), values, f"the list of values that match({tokens}) returns")


@KATA.law(points=0.5, cases=scripts_with_locks)
def test_what_is_unlocked_can_go(student, tokens, cut, others):
    """Once all locks are gone a sequence of `capacity` tokens fits, and everything else is evicted."""
    capacity = len(tokens) + 3
    cache = student.PrefixCache(capacity)
    due = Held(capacity)

    def insert(*arguments):
        due.insert(*arguments)
        cache.insert(*arguments)

    insert(tokens, [10 + place for place in range(len(tokens))])
    numbers = [cache.lock(tokens)]
    due.lock(tokens)
    insert([*tokens[:cut], 9], [0] * cut + [1])
    numbers.append(cache.lock(tokens[:cut]))
    due.lock(tokens[:cut])
    insert(others[0], [100 + place for place in range(len(others[0]))])
    for number in numbers:
        cache.unlock(number)
    _, evicted = answer_of_insert(cache, [8] * capacity, list(range(200, 200 + capacity)))
    expect.equal(sorted(evicted), sorted(due.values.values()), "the sorted list of all evicted values")
    expect.equal(cache.num_tokens, capacity, "num_tokens afterwards")


def orders(draw):
    """In which order sequences are used after they have been inserted, and by what."""
    count = draw(st.integers(2, 5))
    calls = st.tuples(st.integers(1, count), st.sampled_from(["match", "lock", "insert"]))
    return {"count": count, "calls": [list(call) for call in draw(st.lists(calls, min_size=1, max_size=5))]}


@KATA.law(points=0.5, cases=orders)
def test_least_recently_used_goes_first(student, count, calls):
    """Sequences go in the order of their last uses, whatever used them."""
    cache, order = student.PrefixCache(2 * count), []
    for token in range(1, count + 1):
        cache.insert([token, token], [10 * token, 10 * token + 1])
        order.append(token)
    student.PrefixCache(1)  # another cache, which counts calls of its own
    for token, operation in calls:
        if operation == "insert":
            cache.insert([token, token], [0, 0])
        elif operation == "lock":
            cache.unlock(cache.lock([token, token]))
        else:
            cache.match([token, token])
        order.remove(token)
        order.append(token)
    _, evicted = answer_of_insert(cache, [9] * 2 * count, list(range(100, 100 + 2 * count)))
    due = [value for token in order for value in (10 * token, 10 * token + 1)]
    expect.equal(evicted, due, "the list of evicted values")


@KATA.law(points=0.5)
def test_refused_insert_evicts_nothing(student):
    """An insert that cannot fit raises a ValueError, and the cache holds what it held before."""
    cache = student.PrefixCache(4)
    expect.refuses(cache.insert, [1, 2, 3, 4, 5], [0] * 5, why="five tokens exceed the capacity of 4")
    expect.equal(cache.num_tokens, 0, "num_tokens when nothing has been inserted")
    cache.insert([1, 2], [10, 11])
    cache.insert([3], [20])
    number = cache.lock([1, 2])
    expect.refuses(cache.insert, [5, 6, 7], [0] * 3, why="two of the four tokens are locked")
    why = "its first token, [3], and two locked ones must stay"
    expect.refuses(cache.insert, [3, 5, 6], [0] * 3, why=why)
    expect.equal(cache.num_tokens, 3, "num_tokens after inserts were refused")
    expect.equal(list(cache.match([3])), [20], "the list of values that match([3]) returns")
    expect.equal(list(cache.match([1, 2])), [10, 11], "the list of values that match([1, 2]) returns")
    expect.refuses(
        cache.insert, [1, 6, 7, 8], [0] * 4, why="the locked [1, 2] stays, and four exceed the room"
    )
    expect.equal(list(cache.match([1, 2])), [10, 11], "the list of values that match([1, 2]) returns")
    cache.unlock(number)
    why = "the tokens that are held stay, and five exceed the capacity"
    expect.refuses(cache.insert, [1, 2, 5, 6, 7], [0] * 5, why=why)
    expect.refuses(cache.insert, [3, 5, 6, 7, 8], [0] * 5, why=why)
    expect.equal(list(cache.match([3])), [20], "the list of values that match([3]) returns")
    expect.equal(list(cache.match([1, 2])), [10, 11], "the list of values that match([1, 2]) returns")
    expect.equal(answer_of_insert(cache, [1, 2, 5, 6], [0, 0, 30, 31]), (2, [20]), "insert([1, 2, 5, 6], …)")
    _, evicted = answer_of_insert(cache, [7, 8, 9, 9], [40, 41, 42, 43])
    expect.equal(sorted(evicted), [10, 11, 30, 31], "the sorted list of what a whole new sequence evicts")


@KATA.law(points=0.5)
def test_refuses_numbers_that_are_not_living(student):
    """unlock raises a ValueError for a number that was never given or was unlocked."""
    cache = student.PrefixCache(2)
    cache.insert([1], [10])
    number = cache.lock([1])
    student.PrefixCache(2)  # another cache, which may give the same numbers
    other = cache.lock([1])
    whole = type(number) is type(other) is int and number != other
    expect.true(whole, f"Living locks must have different whole numbers; they have {number} and {other}.")
    expect.refuses(cache.unlock, max(number, other) + 1000, why="this number was never given")
    cache.unlock(number)
    expect.refuses(cache.unlock, number, why="this number was unlocked before")
    expect.refuses(cache.insert, [5, 6], [0, 0], why="the other lock is living")
    third = cache.lock([1])
    told = f"Living locks must have different numbers; a third one has {third}, as one that is living."
    expect.true(type(third) is int and third != other, told)
    cache.unlock(other)
    cache.unlock(third)
    expect.equal(answer_of_insert(cache, [5, 6], [20, 21]), (0, [10]), "insert([5, 6], …)")


def prompts(draw):
    """Keys and values of a prompt, and where a second one leaves it."""
    tokens, seed = draw(st.integers(2, 5)), draw(st.integers(0, 2**16))
    return {"tokens": tokens, "shared": draw(st.integers(1, tokens - 1)), "seed": seed}


@KATA.law(points=0.5, cases=prompts)
def test_attention_by_the_cache_is_the_same(student, tokens, shared, seed):
    """Rows of keys and values come back to the bit, so attention over cached ones gives the same result."""
    rng = np.random.default_rng(seed)
    rows = list(rng.standard_normal((tokens, 2, 3)).astype(np.float32))  # a key and a value for each token
    query, cache = rng.standard_normal(3).astype(np.float32), student.PrefixCache(16)
    cache.insert(list(range(tokens)), rows)
    found = list(cache.match([*range(shared), 99]))
    expect.equal(len(found), shared, "the number of tokens found")
    for place, row in enumerate(found):
        expect.equal(row, rows[place], f"the rows of token {place}")
    k, v = np.stack([np.asarray(row) for row in found], axis=1)  # [shared, 3] each
    due_k, due_v = np.stack(rows[:shared], axis=1)
    weights, due_weights = (np.exp(keys @ query) / np.exp(keys @ query).sum() for keys in (k, due_k))
    expect.equal(weights @ v, due_weights @ due_v, "attention over the prefix")
