"""paged_kv_cache: its cases and its laws.

A script is a list of operations on sequences, which it numbers in the order in which they are allocated.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "paged_kv_cache",
    track="serving",
    entry_points=("PagedKVCache",),
    title="Keys and values in pages",
    source="Kwon et al. 2023, sections 4.1 to 4.3",
    library="torch",
    axes={"k": "heads tokens d_head", "v": "heads tokens d_v"},
    free_answers=("allocate", "block_table"),
    bank_size=20,
    hints=(
        "Which three things must the cache remember: of the pool, of each sequence, of what is free? In "
        "which block, and at which place in it, does token t of a sequence lie?",
        "A sequence of T tokens owns ceil(T / block_size) blocks, in any order; its table says which. "
        "With block_size 2 and three tokens in the blocks 5 and 0:\n\n"
        "    token            0     1     2\n"
        "    block            5     5     0      table [5, 0]\n"
        "    place in it      0     1     0\n"
        "    slot            10    11     0      block * block_size + place\n\n"
        "A fourth token needs no further block, a fifth needs one. How many does an append of T_new "
        "tokens need, when the last block has room left? Ask whether so many are free before anything is "
        "changed.",
        "Keep a list of free blocks; a table and a length for each living id; and pools [H, num_blocks * "
        "block_size, d] for keys and for values, which the first append makes. One function gives the "
        "slots of some tokens of a sequence: the table's entry for t // block_size, times block_size, "
        "plus t % block_size.\n\n"
        "    append   look up the id, or refuse\n"
        "             needed: ceil((length + T_new) / block_size) - len(table)\n"
        "             refuse if that is more than are free\n"
        "             move so many from the free list to the table\n"
        "             write k and v to the slots of the new tokens; add to length\n"
        "    gather   read the slots of the tokens 0 to length - 1\n"
        "    free     give the table's blocks back, and forget the id\n\n"
        "Refuse before you change anything: a refused append must leave the cache as it was.",
    ),
)


def blocks_of(tokens, block_size):
    return -(-tokens // block_size)


@KATA.cases
def cases(draw):
    """A script that is never refused, and the tokens that its appends take one after the other."""
    num_blocks, block_size = draw(st.integers(3, 7)), draw(st.sampled_from([2, 3, 1, 4]))
    script, lengths, used = [["allocate", 0]], {0: 0}, 0
    for _ in range(draw(st.integers(2, 9))):
        operation = draw(st.sampled_from(["append", "append", "append", "allocate", "free"]))
        if operation == "allocate" or not lengths:
            sequence = sum(name == "allocate" for name, *_ in script)
            script.append(["allocate", sequence])
            lengths[sequence] = 0
            continue
        sequence = draw(st.sampled_from(sorted(lengths)))
        if operation == "free":
            script.append(["free", sequence])
            del lengths[sequence]
            continue
        taken = sum(blocks_of(length, block_size) for length in lengths.values())
        room = blocks_of(lengths[sequence], block_size) + num_blocks - taken
        most = min(room * block_size - lengths[sequence], 5)
        if most > 0:
            tokens = draw(st.integers(1, most))
            script.append(["append", sequence, tokens])
            lengths[sequence], used = lengths[sequence] + tokens, used + tokens
    if not used:
        script += [["allocate", 99], ["append", 99, 1]]
    heads, dtype = draw(st.integers(1, 3)), draw(st.float_dtypes())
    shapes = [(heads, max(used, 1), draw(st.integers(1, 4))) for _ in "kv"]
    k, v = (draw(st.tensors(st.permuted(st.normal_arrays(shape, dtype)))) for shape in shapes)
    return {"num_blocks": num_blocks, "block_size": block_size, "script": script, "k": k, "v": v}


@KATA.example
def printed_script():
    """The example of the statement, as far as it is not refused."""
    import torch

    k = torch.arange(14.0).reshape(1, 7, 2)
    script = [["allocate", 0], ["allocate", 1], ["append", 0, 3], ["append", 1, 1]]
    script += [["append", 0, 2], ["append", 0, 1]]
    return {"num_blocks": 4, "block_size": 2, "script": script, "k": k, "v": -k[:, :, :1].clone()}


@KATA.example
def blocks_are_used_again():
    import torch

    k = torch.arange(9.0, dtype=torch.float64).reshape(1, 9, 1)
    script = [["allocate", 0], ["append", 0, 3], ["allocate", 1], ["append", 1, 2], ["free", 0]]
    script += [["append", 1, 1], ["allocate", 2], ["append", 2, 2], ["append", 1, 1]]
    return {"num_blocks": 4, "block_size": 2, "script": script, "k": k, "v": torch.cat([k, -k], dim=2)}


def played(student, num_blocks, block_size, script, k, v):
    """Play a script; after each operation give the cache, the ids and the tokens of the living sequences."""
    cache, ids, tokens, start = student.PagedKVCache(num_blocks, block_size), {}, {}, 0
    for operation, sequence, *count in script:
        if operation == "allocate":
            ids[sequence], tokens[sequence] = cache.allocate(), []
        elif operation == "free":
            cache.free(ids.pop(sequence))
            del tokens[sequence]
        else:
            stop = start + count[0]
            cache.append(ids[sequence], k[:, start:stop], v[:, start:stop])
            tokens[sequence] = [*tokens[sequence], *range(start, stop)]
            start = stop
        yield cache, ids, tokens


@KATA.observe
def observe(student, num_blocks, block_size, script, k, v):
    """What is gathered at the end, how many blocks each sequence owns, and how many are free."""
    *_, (cache, ids, tokens) = played(student, num_blocks, block_size, script, k, v)
    seen = {f"gathered_{name}": cache.gather(ids[name]) for name in ids if tokens[name]}
    owned = [length_of(cache.block_table(ids[name])) for name in ids]
    return {**seen, "blocks owned": owned, "blocks free": cache.num_free_blocks}


def length_of(table):
    return len(table) if isinstance(table, list | tuple) else table


def tables_of(cache, ids):
    """The block table of each living sequence, once they are lists of whole numbers."""
    tables = {name: cache.block_table(ids[name]) for name in ids}
    for table in tables.values():
        whole = isinstance(table, list | tuple) and all(
            isinstance(block, int | np.integer) for block in table
        )
        expect.true(whole, f"A block table must be a list of ints; {table} came.")
    return tables


@KATA.law(points=1.5)
def test_sequences_are_gathered_as_appended(student, num_blocks, block_size, script, k, v):
    """A sequence is gathered as it was appended, to the bit, whatever other sequences and caches get."""
    with student.holding_results():  # a report then prints the calls of both caches
        for step, (cache, ids, tokens) in enumerate(played(student, num_blocks, block_size, script, k, v)):
            if step == 0:
                other = student.PagedKVCache(num_blocks, block_size)
            require_gathered(cache, ids, tokens, k, v)
        other.append(other.allocate(), -k[:, :1], -v[:, :1])
        require_gathered(cache, ids, tokens, k, v)


def require_gathered(cache, ids, tokens, k, v):
    """Require that each living sequence has its own tokens."""
    for name, places in tokens.items():
        if places:
            what = f"the pair (k, v) of a sequence of {len(places)} tokens"
            expect.equal(cache.gather(ids[name]), (k[:, places], v[:, places]), what)


@KATA.law(points=0.5)
def test_every_block_has_one_owner(student, num_blocks, block_size, script, k, v):
    """The blocks of sequences and the free ones add up to num_blocks, and a table grows at its end alone."""
    before = {}
    for cache, ids, tokens in played(student, num_blocks, block_size, script, k, v):
        tables = tables_of(cache, ids)
        owned = [block for table in tables.values() for block in table]
        expect.true(len(set(owned)) == len(owned), f"No block may have two owners; the tables are {tables}.")
        within = all(0 <= block < num_blocks for block in owned)
        expect.true(within, f"Blocks must be numbered from 0 to {num_blocks - 1}; the tables are {tables}.")
        due = {name: blocks_of(len(places), block_size) for name, places in tokens.items()}
        counts = {name: len(table) for name, table in tables.items()}
        expect.equal(counts, due, f"the number of blocks that each sequence owns (block_size={block_size})")
        expect.equal(cache.num_free_blocks, num_blocks - len(owned), "num_free_blocks")
        for name in before.keys() & tables.keys():
            what = f"the beginning of a table that was {before[name]}"
            expect.equal(tables[name][: len(before[name])], before[name], what)
        before = {name: list(table) for name, table in tables.items()}


def tokens_of(count, heads=1, width=2, start=0.0):
    """Keys and values of so many tokens, all different."""
    import torch

    k = start + torch.arange(float(heads * count * width)).reshape(heads, count, width)
    return k, -k


@KATA.law(points=0.5)
def test_freed_blocks_are_filled_again(student):
    """What was freed can be filled to the last block again."""
    cache = student.PagedKVCache(3, 2)
    for start in range(0, 60, 20):
        ids = [cache.allocate() for _ in range(2)]
        for number, (sequence, count) in enumerate(zip(ids, (2, 4), strict=True)):
            for k, v in zip(
                *(x.split(1, dim=1) for x in tokens_of(count, start=start + 8 * number)), strict=True
            ):
                cache.append(sequence, k, v)
        expect.equal(cache.num_free_blocks, 0, "num_free_blocks when all three blocks are filled")
        pairs = [cache.gather(sequence) for sequence in ids]
        due = [tokens_of(2, start=start), tokens_of(4, start=start + 8)]
        expect.equal(pairs, due, "the list of both sequences' pairs")
        for sequence in ids:
            cache.free(sequence)
        expect.equal(cache.num_free_blocks, 3, "num_free_blocks when all sequences are freed")


@KATA.law(points=0.5)
def test_refused_append_changes_nothing(student):
    """An append that needs more blocks than are free raises a ValueError and changes nothing."""
    why = "three blocks of two tokens are there"
    shared, (k, v) = student.PagedKVCache(3, 2), tokens_of(2)
    short, other = shared.allocate(), shared.allocate()
    shared.append(short, k[:, :1], v[:, :1])
    shared.append(other, *(0 * x for x in tokens_of(4)))  # what is left of them looks like an empty place
    expect.refuses(shared.append, short, *tokens_of(3), why=why)
    shared.free(other)
    shared.append(short, k[:, 1:], v[:, 1:])
    expect.equal(shared.gather(short), (k, v), "the pair of two tokens, between which an append was refused,")
    cache = student.PagedKVCache(3, 2)
    first, second = cache.allocate(), cache.allocate()
    expect.refuses(cache.append, first, *tokens_of(7, heads=2, width=1), why=why)
    cache.append(first, *tokens_of(3))
    cache.append(second, *tokens_of(1, start=50.0))
    before = [cache.num_free_blocks, cache.block_table(first), cache.block_table(second)]
    expect.refuses(cache.append, second, *tokens_of(2, start=90.0), why=why)
    expect.refuses(cache.append, first, *tokens_of(4, start=70.0), why=why)
    after = [cache.num_free_blocks, cache.block_table(first), cache.block_table(second)]
    expect.equal(after, before, "the list of num_free_blocks and both tables after an append was refused")
    expect.equal(cache.gather(first), tokens_of(3), "the pair of the first sequence")
    expect.equal(cache.gather(second), tokens_of(1, start=50.0), "the pair of the second sequence")
    cache.append(first, *tokens_of(1, start=80.0))
    cache.append(second, *tokens_of(1, start=60.0))
    k, v = cache.gather(first)
    expect.equal((k[:, :3], v[:, :3]), tokens_of(3), "the first three tokens of the first sequence")
    expect.equal((k[:, 3:], v[:, 3:]), tokens_of(1, start=80.0), "its fourth token")
    expect.equal(len(cache.block_table(first)), 2, "the number of blocks of four tokens")


@KATA.law(points=0.5)
def test_refuses_ids_that_are_not_living(student):
    """Every method raises a ValueError for an id that was freed or never given."""
    cache = student.PagedKVCache(3, 2)
    freed, empty, kept = cache.allocate(), cache.allocate(), cache.allocate()  # the last one lives on
    cache.append(kept, *tokens_of(1))
    cache.append(freed, *tokens_of(1))
    cache.free(freed)
    cache.free(empty)
    others = [other for other in (12345, -1) if other not in (kept, freed, empty)]
    fates = dict.fromkeys(others, "was never given")
    fates |= {freed: "was freed", empty: "was freed, and had no token"}
    for sequence, fate in fates.items():
        why = f"the id {fate}"
        expect.refuses(cache.gather, sequence, why=why)
        expect.refuses(cache.block_table, sequence, why=why)
        expect.refuses(cache.append, sequence, *tokens_of(1), why=why)
        expect.refuses(cache.free, sequence, why=why)
    expect.equal(cache.num_free_blocks, 2, "num_free_blocks afterwards")


def long_sequence(student, tokens):
    """A cache of 64 blocks of 4, with a sequence of so many tokens, and the sequence's id."""
    cache = student.PagedKVCache(64, 4)
    sequence = cache.allocate()
    for _ in range(tokens):
        cache.append(sequence, *tokens_of(1, heads=2, width=8))
    return cache, sequence


@KATA.law(points=0.5, purpose=True)
def test_append_moves_no_earlier_token(student):
    """One more token makes no tensor of more than 16 tokens' keys or values."""
    cache, sequence = long_sequence(student, 20)
    limit, lengths, sizes = 16 * 2 * 8, range(20, 101, 20), []
    for length in lengths:
        token = tokens_of(1, heads=2, width=8, start=7.0 if length == 100 else 0.0)
        with student.counting_largest_tensor() as made:
            cache.append(sequence, *token)
        sizes.append(made.largest.elements)
        for _ in range(19 if length < 100 else 0):
            cache.append(sequence, *tokens_of(1, heads=2, width=8))
    k, v = cache.gather(sequence)
    expect.equal((k[:, -1:], v[:, -1:]), token, "the last token of 101")
    before = tokens_of(1, heads=2, width=8)[0].expand(2, 100, 8)
    expect.equal((k[:, :-1], v[:, :-1]), (before, -before), "the 100 tokens before it, which are alike,")
    expect.true(
        made.largest.elements <= limit,
        f"With 100 tokens in the sequence one more may make tensors of {limit} elements, the keys of 16 "
        f"tokens; it makes one of {made.largest.elements:,}: {made.largest}.",
        expect.curve(
            "numbers in the largest tensor of an append",
            [limit] * len(lengths),
            sizes,
            [f"{length} tokens" for length in lengths],
            wrong=[index for index, size in enumerate(sizes) if size > limit],
        ),
    )


@KATA.law(points=0.5, purpose=True)
def test_memory_is_that_of_the_pool(student):
    """Once the pool is made the cache's memory hardly grows."""
    cache, sequence = long_sequence(student, 1)
    pool, before = 2 * 64 * 4 * 2 * 8, student.memory_of(cache)
    cache.append(sequence, *tokens_of(199, heads=2, width=8))
    grown = student.memory_of(cache) - before
    expect.true(
        grown < pool // 10,
        f"The pool has {pool:,} numbers; from 1 token to 200 the cache may grow by less than a tenth of "
        f"that. It grows by {grown:,}.",
    )
    k, _ = cache.gather(sequence)
    expect.equal(k[:, 1:], tokens_of(199, heads=2, width=8)[0], "the keys of 199 tokens behind the first")
