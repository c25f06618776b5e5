"""Kwon et al. 2023, section 4.3: block tables and a list of free blocks."""


class PagedKVCache:
    """A pool of blocks; a table of blocks and a length for each living sequence."""

    def __init__(self, num_blocks, block_size):
        self.num_blocks, self.block_size = num_blocks, block_size
        self.free_blocks, self.num_free_blocks = list(range(num_blocks)), num_blocks
        self.tables, self.lengths, self.named = {}, {}, 0
        self.keys = self.values = None

    def allocate(self):
        self.named += 1
        self.tables[self.named], self.lengths[self.named] = [], 0
        return self.named

    def append(self, seq_id, k, v):
        table, start = self._living(seq_id), self.lengths[seq_id]
        stop = start + k.shape[1]
        needed = -(-stop // self.block_size) - len(table)
        if needed > self.num_free_blocks:
            raise ValueError(f"{needed} blocks are needed and {self.num_free_blocks} are free")
        if self.keys is None:
            slots = self.num_blocks * self.block_size
            self.keys = k.new_zeros(k.shape[0], slots, k.shape[2])  # [H, num_blocks * block_size, d_head]
            self.values = v.new_zeros(v.shape[0], slots, v.shape[2])  # [H, num_blocks * block_size, d_v]
        table += [self.free_blocks.pop() for _ in range(needed)]
        self.num_free_blocks -= needed
        self.lengths[seq_id] = stop
        slots = self._slots(table, start, stop)  # T_new numbers
        self.keys[:, slots], self.values[:, slots] = k, v  # [H, T_new, d_head], [H, T_new, d_v]

    def gather(self, seq_id):
        slots = self._slots(self._living(seq_id), 0, self.lengths[seq_id])  # T numbers
        return self.keys[:, slots], self.values[:, slots]  # [H, T, d_head], [H, T, d_v]

    def block_table(self, seq_id):
        return list(self._living(seq_id))

    def free(self, seq_id):
        self.free_blocks += self._living(seq_id)
        self.num_free_blocks = len(self.free_blocks)
        del self.tables[seq_id], self.lengths[seq_id]

    def _living(self, seq_id):
        """The table of a living sequence."""
        if seq_id not in self.tables:
            raise ValueError(f"no living sequence has the id {seq_id}")
        return self.tables[seq_id]

    def _slots(self, table, start, stop):
        """Where in the pool these tokens of a sequence lie."""
        size = self.block_size
        return [table[t // size] * size + t % size for t in range(start, stop)]
