"""What goes wrong in paged_kv_cache: one class a mistake, its docstring what the student is told."""

import torch

from grader.mistakes import crude, subtle


class _Cache:
    """The right cache; mistakes override a part of it."""

    def __init__(self, num_blocks, block_size):
        self.num_blocks, self.block_size = num_blocks, block_size
        self.free_blocks, self.tables, self.lengths, self.named = list(range(num_blocks)), {}, {}, 0
        self.pools = None

    @property
    def num_free_blocks(self):
        return len(self.free_blocks)

    def allocate(self):
        self.named += 1
        self.tables[self.named], self.lengths[self.named] = [], 0
        return self.named

    def living(self, seq_id):
        if seq_id not in self.tables:
            raise ValueError("not living")
        return self.tables[seq_id]

    def needed(self, table, start, stop):  # noqa: ARG002 - a mistake reads it
        return -(-stop // self.block_size) - len(table)

    def require(self, table, needed):  # noqa: ARG002 - a mistake reads it
        if needed > len(self.free_blocks):
            raise ValueError("full")

    def pool(self, like):
        return like.new_zeros(like.shape[0], self.num_blocks * self.block_size, like.shape[2])

    def make_pools(self, k, v):
        if self.pools is None:
            self.pools = self.pool(k), self.pool(v)

    def slots(self, table, start, stop):
        size = self.block_size
        return [table[t // size] * size + t % size for t in range(start, stop)]

    def append(self, seq_id, k, v):
        table, start = self.living(seq_id), self.lengths[seq_id]
        stop = start + k.shape[1]
        needed = self.needed(table, start, stop)
        self.require(table, needed)
        self.make_pools(k, v)
        table += [self.free_blocks.pop() for _ in range(needed)]
        self.lengths[seq_id] = stop
        self.write(self.slots(table, start, stop), k, v)

    def write(self, slots, k, v):
        self.pools[0][:, slots], self.pools[1][:, slots] = k, v

    def gather(self, seq_id):
        slots = self.slots(self.living(seq_id), 0, self.lengths[seq_id])
        return self.pools[0][:, slots], self.pools[1][:, slots]

    def block_table(self, seq_id):
        return list(self.living(seq_id))

    def free(self, seq_id):
        self.free_blocks += self.living(seq_id)
        del self.tables[seq_id], self.lengths[seq_id]


class takes_new_blocks_for_each_append(_Cache):
    """A sequence that grows token by token owns a block for each token, most of them empty: every append
    counts its own tokens alone. Fill the last block first; how much room is left in it?"""

    def needed(self, table, start, stop):  # noqa: ARG002 - the mistake
        return -(-(stop - start) // self.block_size)


class takes_a_block_too_early(_Cache):
    """A sequence whose last block is just full owns one more, an empty one: T // block_size + 1 counts it. A
    block is taken when its first token comes."""

    def needed(self, table, start, stop):
        return min(
            stop // self.block_size + 1 - len(table),
            max(self.num_free_blocks, super().needed(table, start, stop)),
        )


class takes_a_block_when_it_allocates(_Cache):
    """An empty sequence owns a block: `allocate` takes one. It only names the sequence; the first token takes
    the first block."""

    def allocate(self):
        seq_id = super().allocate()
        self.tables[seq_id] += [self.free_blocks.pop()] if self.free_blocks else []
        return seq_id


class refuses_the_last_block(_Cache):
    """The pool is never full: an append that needs exactly the blocks that are free is refused. Compare with
    `>` and not with `>=`."""

    def require(self, table, needed):
        super().require(table, needed + 1 if needed else 0)


class forgets_to_give_back(_Cache):
    """num_free_blocks never rises: `free` forgets the sequence, and its blocks with it. Put them back."""

    def free(self, seq_id):
        self.living(seq_id)
        del self.tables[seq_id], self.lengths[seq_id]


class gives_back_all_but_the_last(_Cache):
    """After a `free` one block is missing, the sequence's last: only full blocks were given back."""

    def free(self, seq_id):
        self.tables[seq_id] = self.living(seq_id)[:-1]
        super().free(seq_id)


class gives_back_the_blocks_and_keeps_the_sequence(_Cache):
    """A freed sequence still has its table, and its id passes: only its blocks were given back, so that
    another sequence writes over what it gathers. Forget table and length too."""

    def free(self, seq_id):
        self.free_blocks += self.living(seq_id)


@subtle
class accepts_a_second_free(_Cache):
    """The second `free` of an id passes in silence, as that of an id never given. It is an error in the
    caller's code that would give a block to two sequences; a ValueError is expected."""

    def free(self, seq_id):
        if seq_id in self.tables:
            super().free(seq_id)


@subtle
class forgets_unknown_ids_in_the_table(_Cache):
    """block_table of an id that is not living is an empty list. A ValueError is expected from every method;
    check what `get` returns for a key that is not there."""

    def block_table(self, seq_id):
        return list(self.tables.get(seq_id, []))


@subtle
class raises_a_key_error(_Cache):
    """An id that is not living raises a KeyError, which is the dict's own. A ValueError that says what is
    wrong is expected."""

    def living(self, seq_id):
        return self.tables[seq_id]


@subtle
class raises_an_index_error(_Cache):
    """An append that does not fit raises an IndexError from an empty list, when some blocks are taken
    already. Count what is needed first, and raise a ValueError before anything has changed."""

    def require(self, table, needed):
        pass


@subtle
class loses_blocks_when_refused(_Cache):
    """After an append that was refused the free blocks are gone: they were taken one by one until none was
    left. Ask whether there are enough before the first is taken."""

    def require(self, table, needed):
        if needed > len(self.free_blocks):
            table += self.free_blocks
            self.free_blocks = []
        super().require(table, needed)


@subtle
class writes_before_it_refuses(_Cache):
    """After an append that was refused the sequence is longer: the tokens that fitted were written and
    counted. All or none; ask before the first is written."""

    def append(self, seq_id, k, v):
        room = len(self.living(seq_id)) * self.block_size - self.lengths[seq_id]
        fits = min(k.shape[1], room + len(self.free_blocks) * self.block_size)
        if fits:
            super().append(seq_id, k[:, :fits], v[:, :fits])
        if fits < k.shape[1]:
            raise ValueError("full")


@subtle
class fixes_the_pool_when_refused(_Cache):
    """A first append that is refused decides about heads and widths all the same: the pool was made before
    the blocks were counted. Nothing may have changed then."""

    def append(self, seq_id, k, v):
        self.living(seq_id)
        self.make_pools(k, v)
        super().append(seq_id, k, v)


class uses_no_block_again(_Cache):
    """After many sequences the pool is full, though all are freed: blocks are numbered on and on, and what
    was freed is only counted. Take the next block from those that are free."""

    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size)
        self.freed = 0

    @property
    def num_free_blocks(self):
        return len(self.free_blocks) + self.freed

    def free(self, seq_id):
        self.freed += len(self.living(seq_id))
        del self.tables[seq_id], self.lengths[seq_id]


class counts_the_sequences(_Cache):
    """num_free_blocks falls by one with each sequence: it is num_blocks less the number of sequences. A
    sequence owns as many blocks as its tokens need."""

    @property
    def num_free_blocks(self):
        return self.num_blocks - len(self.tables)


class counts_free_tokens(_Cache):
    """num_free_blocks is too large: it counts places for tokens. A block has block_size of them."""

    @property
    def num_free_blocks(self):
        return len(self.free_blocks) * self.block_size


class gathers_whole_blocks(_Cache):
    """What is gathered is longer than the sequence: the places in the last block that nothing was written to
    come too. Cut at the sequence's length."""

    def gather(self, seq_id):
        table = self.living(seq_id)
        slots = self.slots(table, 0, len(table) * self.block_size)
        return self.pools[0][:, slots], self.pools[1][:, slots]


class gathers_in_the_order_of_the_pool(_Cache):
    """The tokens are there and in another order: blocks were read in the order of the pool. The table has the
    order of the sequence."""

    def gather(self, seq_id):
        slots = sorted(self.slots(self.living(seq_id), 0, self.lengths[seq_id]))
        return self.pools[0][:, slots], self.pools[1][:, slots]


class sorts_the_table(_Cache):
    """A table changes in its middle when a block is taken: it is sorted. Its order is that of the tokens."""

    def block_table(self, seq_id):
        return sorted(super().block_table(seq_id))


@crude
class starts_each_append_at_the_first_place(_Cache):
    """The last block is written over: each append begins at the first place of its block, though tokens are
    there. Where is the place of token t?"""

    def append(self, seq_id, k, v):
        table, start = self.living(seq_id), self.lengths[seq_id]
        stop = start + k.shape[1]
        needed = self.needed(table, start, stop)
        self.require(table, needed)
        self.make_pools(k, v)
        table += [self.free_blocks.pop() for _ in range(needed)]
        self.lengths[seq_id] = stop
        first = start // self.block_size * self.block_size
        self.write(self.slots(table, first, first + k.shape[1]), k, v)


@crude
class writes_one_block_over_and_over(_Cache):
    """A long sequence holds its last tokens again and again: all are written to its first block. Which entry
    of the table belongs to token t?"""

    def slots(self, table, start, stop):
        return [table[0] * self.block_size + t % self.block_size for t in range(start, stop)]


class mixes_block_and_place(_Cache):
    """Right for blocks of one token; else sequences write over each other: quotient and remainder of the
    position changed places."""

    def slots(self, table, start, stop):
        size = self.block_size
        return [table[(t % size) % len(table)] * size + (t // size) % size for t in range(start, stop)]


@crude
class forgets_the_tokens_before(_Cache):
    """Only the tokens of the last append come back: the length was set to theirs. It grows."""

    def append(self, seq_id, k, v):
        super().append(seq_id, k, v)
        self.last = {**getattr(self, "last", {}), seq_id: k.shape[1]}

    def gather(self, seq_id):
        k, v = super().gather(seq_id)
        return k[:, -self.last[seq_id] :], v[:, -self.last[seq_id] :]


@crude
class keeps_the_keys_twice(_Cache):
    """The second of the pair holds the keys again: values are written from `k`. Append a k and a v that
    differ and look at both."""

    def append(self, seq_id, k, v):  # noqa: ARG002 - the mistake
        super().append(seq_id, k, k)


class gives_values_the_width_of_keys(_Cache):
    """Right where d_v equals d_head; else an append raises: both pools have the width of the keys."""

    def make_pools(self, k, v):  # noqa: ARG002 - the mistake
        super().make_pools(k, k)


@crude
class returns_tokens_before_heads(_Cache):
    """What is gathered has the shape [T, H, d]: the pool's own layout shows. [H, T, d] is asked for."""

    def gather(self, seq_id):
        return tuple(part.transpose(0, 1) for part in super().gather(seq_id))


@crude
class gives_all_sequences_one_id(_Cache):
    """Two sequences share their tokens: `allocate` returns the same id for both. A living id must not be
    given again."""

    def allocate(self):
        self.tables.setdefault(0, [])
        self.lengths.setdefault(0, 0)
        return 0


class reuses_ids_that_are_living(_Cache):
    """After a `free` a new sequence gets the id of a living one: ids are numbered by how many sequences there
    are. Count on, or look for an id that is not in use."""

    def allocate(self):
        seq_id = len(self.tables)
        self.tables[seq_id], self.lengths[seq_id] = [], 0
        return seq_id


class moves_blocks_together(_Cache):
    """A `free` changes the tables of others: their blocks were moved to close the gap. A table changes at its
    end alone, and nothing is moved."""

    def free(self, seq_id):
        super().free(seq_id)
        moved, everything = {}, [block for table in self.tables.values() for block in table]
        for new, old in enumerate(everything):
            moved[old] = new
        if self.pools is not None:
            size = self.block_size
            old_slots = [old * size + i for old in moved for i in range(size)]
            for pool in self.pools:
                pool[:, : len(old_slots)] = pool[:, old_slots].clone()
        self.tables = {name: [moved[old] for old in table] for name, table in self.tables.items()}
        self.free_blocks = list(range(len(everything), self.num_blocks))


class shares_one_pool(_Cache):
    """A second cache changes what the first one gathers: the pool belongs to the class, or to the module.
    Make it where the cache is made."""

    shared = {}  # noqa: RUF012 - the mistake

    def pool(self, like):
        key = self.num_blocks * self.block_size, like.shape[0], like.shape[2], like.dtype, like.device
        return self.shared.setdefault(key, super().pool(like))


@subtle
class joins_the_sequence_again(_Cache):
    """Everything is right, and each token copies all before it: the sequences are tensors that are joined
    anew at each append, beside tables for show. Write new tokens into the pool."""

    def write(self, slots, k, v):
        if k.shape[1] == 1 and self.pools is not None:
            torch.cat([self.pools[0][:, : self.num_blocks * self.block_size // 2], k], dim=1)
        super().write(slots, k, v)


@subtle
class copies_the_pool(_Cache):
    """Everything is right, and each append makes a new pool: the write is not in place. Assign to the slots
    of the one that is there."""

    def write(self, slots, k, v):
        self.pools = tuple(pool.clone() for pool in self.pools)
        super().write(slots, k, v)


@subtle
class makes_blocks_as_they_are_needed(_Cache):
    """Everything is right, and the memory grows with the tokens: the first append makes a pool for what it
    brings and later ones enlarge it. The pool has num_blocks blocks from the beginning."""

    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size)
        self.kept = []

    def write(self, slots, k, v):
        super().write(slots, k, v)
        self.kept.append((k.clone(), v.clone()))


@subtle
class keeps_the_pool_in_float32(_Cache):
    """float64 keys come back as float32, with half of their digits gone: the pool has a dtype of its own.
    Take it from the first append."""

    def pool(self, like):
        return super().pool(like).float()

    def write(self, slots, k, v):
        super().write(slots, k.float(), v.float())


@subtle
class keeps_the_pool_on_the_cpu(_Cache):
    """The results are right on the CPU, and on a GPU the append raises: the pool was made there. Take the
    device from the first append."""

    def pool(self, like):
        return torch.zeros(like.shape[0], self.num_blocks * self.block_size, like.shape[2], dtype=like.dtype)


@subtle
class counts_ids_from_the_end(_Cache):
    """The id -1, which was never given, reads the sequence that was allocated last: the ids are places in a
    list, and Python counts negative ones from its end. Ask whether the id is living first."""

    def living(self, seq_id):
        if seq_id < 0 and self.tables:
            return list(self.tables.values())[seq_id]
        return super().living(seq_id)

    def gather(self, seq_id):
        return super().gather(list(self.tables)[seq_id] if seq_id < 0 else seq_id)


@subtle
class frees_nothing_of_an_empty_sequence(_Cache):
    """A sequence without a token lives on after free: only those that own a block are ended. An id that was
    freed is refused, whatever the sequence held."""

    def free(self, seq_id):
        if self.living(seq_id):
            super().free(seq_id)


@subtle
class numbers_the_sequences_of_all_caches(_Cache):
    """After a second cache was made, the first gives a new sequence the id of a living one, whose tokens are
    then lost: the last id is an attribute of the class, and each new cache sets it to 0. Keep it in self.
    """

    last = 0

    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size)
        type(self).last = 0

    def allocate(self):
        self.named = type(self).last
        type(self).last += 1
        return super().allocate()
