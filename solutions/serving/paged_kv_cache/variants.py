"""Right answers to paged_kv_cache in other styles."""

import heapq
from collections import deque

import numpy as np
import torch


class blocks_as_vllm_lays_them:
    """A pool [num_blocks, block_size, H, d]; a slot mapping as a tensor; a queue of free blocks."""

    class PagedKVCache:
        def __init__(self, num_blocks, block_size):
            self.size, self.pool = block_size, None
            self.num_blocks, self.queue = num_blocks, deque(range(num_blocks))
            self.sequences, self.count = {}, 0

        @property
        def num_free_blocks(self):
            return len(self.queue)

        def allocate(self):
            self.count += 1
            self.sequences[self.count - 1] = {"blocks": [], "length": 0}
            return self.count - 1

        def _of(self, seq_id):
            try:
                return self.sequences[seq_id]
            except KeyError:
                raise ValueError(f"unknown sequence {seq_id}") from None

        def append(self, seq_id, k, v):
            sequence = self._of(seq_id)
            length = sequence["length"] + k.size(1)
            needed = (length + self.size - 1) // self.size - len(sequence["blocks"])
            if needed > len(self.queue):
                raise ValueError("no free blocks")
            if self.pool is None:
                self.pool = [
                    torch.empty(
                        self.num_blocks, self.size, x.size(0), x.size(2), dtype=x.dtype, device=x.device
                    )
                    for x in (k, v)
                ]
            for _ in range(needed):
                sequence["blocks"].append(self.queue.popleft())
            at = torch.arange(sequence["length"], length)
            blocks = torch.tensor(sequence["blocks"])[at // self.size]
            for pool, x in zip(self.pool, (k, v), strict=True):
                pool[blocks.to(x.device), (at % self.size).to(x.device)] = x.transpose(0, 1)
            sequence["length"] = length

        def gather(self, seq_id):
            sequence = self._of(seq_id)
            return tuple(
                pool[sequence["blocks"]].flatten(0, 1)[: sequence["length"]].transpose(0, 1)
                for pool in self.pool
            )

        def block_table(self, seq_id):
            return self._of(seq_id)["blocks"].copy()

        def free(self, seq_id):
            self.queue.extend(self._of(seq_id)["blocks"])
            del self.sequences[seq_id]


class token_by_token:
    """One token at a time, written by slices; the free blocks are a set; ids are the smallest unused."""

    class PagedKVCache:
        def __init__(self, num_blocks, block_size):
            self.block_size = block_size
            self.free_set, self.all = set(range(num_blocks)), num_blocks
            self.num_free_blocks = num_blocks
            self.tables, self.filled, self.k, self.v = {}, {}, None, None

        def allocate(self):
            seq_id = next(i for i in range(len(self.tables) + 1) if i not in self.tables)
            self.tables[seq_id], self.filled[seq_id] = [], 0
            return seq_id

        def append(self, seq_id, k, v):
            assert seq_id in self.tables
            room = len(self.tables[seq_id]) * self.block_size - self.filled[seq_id]
            assert k.shape[1] <= room + self.num_free_blocks * self.block_size
            if self.k is None:
                self.k = torch.zeros((self.all, k.shape[0], self.block_size, k.shape[2])).to(k)
                self.v = torch.zeros((self.all, v.shape[0], self.block_size, v.shape[2])).to(v)
            for t in range(k.shape[1]):
                place = self.filled[seq_id] % self.block_size
                if place == 0:
                    self.tables[seq_id].append(self.free_set.pop())
                block = self.tables[seq_id][-1]
                self.k[block, :, place] = k[:, t]
                self.v[block, :, place] = v[:, t]
                self.filled[seq_id] += 1
            self.num_free_blocks = len(self.free_set)

        def gather(self, seq_id):
            assert seq_id in self.tables
            parts, left = [], self.filled[seq_id]
            for block in self.tables[seq_id]:
                parts.append((self.k[block, :, :left], self.v[block, :, :left]))
                left -= self.block_size
            return torch.cat([k for k, _ in parts], dim=1), torch.cat([v for _, v in parts], dim=1)

        def block_table(self, seq_id):
            assert seq_id in self.tables
            return self.tables[seq_id]

        def free(self, seq_id):
            assert seq_id in self.tables
            self.free_set |= set(self.tables.pop(seq_id))
            self.num_free_blocks = len(self.free_set)


class owners_in_a_list:
    """Each block knows its owner; index_copy_ and index_select on a pool of slots; keys beside values."""

    class PagedKVCache:
        def __init__(self, num_blocks, block_size):
            self.owner = [None] * num_blocks
            self.block_size, self.order, self.length, self.pool = block_size, {}, {}, None

        num_free_blocks = property(lambda self: self.owner.count(None))

        def allocate(self):
            seq_id = 100 + len(self.length)
            self.order[seq_id], self.length[seq_id] = [], 0
            return seq_id

        def _check(self, seq_id):
            if self.order.get(seq_id) is None:
                raise ValueError(seq_id)

        def _slots(self, seq_id, first, last, device):
            starts = torch.tensor(self.order[seq_id], device=device) * self.block_size
            slots = starts[:, None] + torch.arange(self.block_size, device=device)
            return slots.reshape(-1)[first:last]

        def append(self, seq_id, k, v):
            self._check(seq_id)
            first, last = self.length[seq_id], self.length[seq_id] + k.shape[1]
            missing = -(-last // self.block_size) - len(self.order[seq_id])
            found = [i for i, owner in enumerate(self.owner) if owner is None][:missing]
            if len(found) < missing:
                raise ValueError("full")
            for block in found:
                self.owner[block] = seq_id
            self.order[seq_id] += found
            both = torch.cat([k, v], dim=-1)
            if self.pool is None:
                self.width = k.shape[-1]
                self.pool = both.new_empty(len(k), len(self.owner) * self.block_size, both.shape[-1])
            self.pool.index_copy_(1, self._slots(seq_id, first, last, k.device), both)
            self.length[seq_id] = last

        def gather(self, seq_id):
            self._check(seq_id)
            slots = self._slots(seq_id, 0, self.length[seq_id], self.pool.device)
            both = self.pool.index_select(1, slots)
            return both[..., : self.width], both[..., self.width :]

        def block_table(self, seq_id):
            self._check(seq_id)
            return list(self.order[seq_id])

        def free(self, seq_id):
            self._check(seq_id)
            self.owner = [None if owner == seq_id else owner for owner in self.owner]
            self.order[seq_id] = None


class a_tensor_for_each_block:
    """All blocks are tensors of their own, made at once; a token goes to its block by divmod."""

    class PagedKVCache:
        def __init__(self, num_blocks, block_size):
            self.count, self.size, self.blocks = num_blocks, block_size, None
            self.unused = [*range(num_blocks)][::-1]
            self.living, self.next_id = {}, 7

        @property
        def num_free_blocks(self):
            return self.count - sum(len(table) for table, _ in self.living.values())

        def allocate(self):
            self.next_id += 3
            self.living[self.next_id] = ([], 0)
            return self.next_id

        def append(self, seq_id, k, v):
            if seq_id not in self.living:
                raise ValueError(f"{seq_id=} is not living")
            table, length = self.living[seq_id]
            whole = len(range(0, length + k.shape[-2], self.size))
            if whole - len(table) > self.num_free_blocks:
                raise ValueError("not enough free blocks")
            if self.blocks is None:
                heads, _, width = k.shape
                self.blocks = [
                    (k.new_empty(heads, self.size, width), v.new_empty(heads, self.size, v.shape[-1]))
                    for _ in range(self.count)
                ]
            while len(table) < whole:
                table.append(self.unused.pop())
            for t in range(k.shape[-2]):
                block, place = divmod(length + t, self.size)
                for own, new in zip(self.blocks[table[block]], (k, v), strict=True):
                    own[:, place].copy_(new[:, t])
            self.living[seq_id] = (table, length + k.shape[-2])

        def gather(self, seq_id):
            if seq_id not in self.living:
                raise ValueError(f"{seq_id=} is not living")
            table, length = self.living[seq_id]
            k, v = zip(*(self.blocks[block] for block in table), strict=True)
            return torch.cat(k, dim=-2)[:, :length], torch.cat(v, dim=-2)[:, :length]

        def block_table(self, seq_id):
            if seq_id not in self.living:
                raise ValueError(f"{seq_id=} is not living")
            return self.living[seq_id][0][:]

        def free(self, seq_id):
            if seq_id not in self.living:
                raise ValueError(f"{seq_id=} is not living")
            table, _ = self.living.pop(seq_id)
            self.unused.extend(reversed(table))


class slots_kept_in_a_list:
    """A heap of free blocks; each sequence keeps a list of its slots; index_put_ and advanced indexing."""

    class PagedKVCache:
        def __init__(self, num_blocks, block_size):
            self.block_size, self.heap, self.num_blocks = block_size, list(range(num_blocks)), num_blocks
            self.tables, self.slots = [], []
            self.k = self.v = None

        num_free_blocks = property(lambda self: len(self.heap))

        def allocate(self):
            self.tables.append([])
            self.slots.append([])
            return len(self.tables) - 1

        def _known(self, seq_id):
            if not 0 <= seq_id < len(self.tables) or self.tables[seq_id] is None:
                raise ValueError("unknown or freed sequence")
            return self.tables[seq_id], self.slots[seq_id]

        def append(self, seq_id, k, v):
            table, slots = self._known(seq_id)
            room = len(table) * self.block_size - len(slots)
            blocks = max(0, -((room - k.shape[1]) // self.block_size))
            if blocks > len(self.heap):
                raise ValueError("the pool is full")
            table.extend(heapq.heappop(self.heap) for _ in range(blocks))
            first = len(slots)
            for t in range(first, first + k.shape[1]):
                slots.append(table[t // self.block_size] * self.block_size + t % self.block_size)
            if self.k is None:
                size = self.num_blocks * self.block_size
                self.k = torch.zeros(size, k.shape[0], k.shape[2], dtype=k.dtype, device=k.device)
                self.v = torch.zeros(size, v.shape[0], v.shape[2], dtype=v.dtype, device=v.device)
            at = torch.tensor(slots[first:], device=k.device)
            self.k.index_put_((at,), k.permute(1, 0, 2))
            self.v.index_put_((at,), v.permute(1, 0, 2))

        def gather(self, seq_id):
            _, slots = self._known(seq_id)
            return self.k[slots].permute(1, 0, 2), self.v[slots].permute(1, 0, 2)

        def block_table(self, seq_id):
            return list(self._known(seq_id)[0])

        def free(self, seq_id):
            for block in self._known(seq_id)[0]:
                heapq.heappush(self.heap, block)
            self.tables[seq_id] = self.slots[seq_id] = None


class views_where_blocks_are_neighbours:
    """A pool of slots; what is gathered is a view of it where the blocks of a sequence are neighbours."""

    def __init__(self, num_blocks, block_size):
        self.size, self.free_blocks, self.living, self.named = block_size, list(range(num_blocks)), {}, 0
        self.slots, self.pools = num_blocks * block_size, None

    @property
    def num_free_blocks(self):
        return len(self.free_blocks)

    def allocate(self):
        self.named += 1
        self.living[self.named] = [[], 0]
        return self.named

    def _of(self, seq_id):
        if seq_id not in self.living:
            raise ValueError(seq_id)
        return self.living[seq_id]

    def append(self, seq_id, k, v):
        table, start = self._of(seq_id)
        stop = start + k.shape[1]
        needed = -(-stop // self.size) - len(table)
        if needed > len(self.free_blocks):
            raise ValueError("full")
        if self.pools is None:
            self.pools = [x.new_zeros(x.shape[0], self.slots, x.shape[2]) for x in (k, v)]
        table += [self.free_blocks.pop(0) for _ in range(needed)]
        self.living[seq_id][1] = stop
        for pool, x in zip(self.pools, (k, v), strict=True):
            pool[:, self._places(table, stop)[start:]] = x

    def _places(self, table, stop):
        return [table[t // self.size] * self.size + t % self.size for t in range(stop)]

    def gather(self, seq_id):
        table, length = self._of(seq_id)
        places = self._places(table, length)
        if places == list(range(places[0], places[0] + length)):
            return tuple(pool.narrow(1, places[0], length) for pool in self.pools)
        return tuple(pool[:, places] for pool in self.pools)

    def block_table(self, seq_id):
        return list(self._of(seq_id)[0])

    def free(self, seq_id):
        self.free_blocks += self._of(seq_id)[0]
        del self.living[seq_id]


class blocks_are_numbers_of_numpy:
    """The free blocks come from np.arange, so a table is a list of NumPy's integers."""

    class PagedKVCache(blocks_as_vllm_lays_them.PagedKVCache):
        def __init__(self, num_blocks, block_size):
            super().__init__(num_blocks, block_size)
            self.queue = deque(np.arange(num_blocks))
