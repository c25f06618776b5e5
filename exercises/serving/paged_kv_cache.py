"""A key-value cache in pages, as an operating system keeps memory.

A server writes many sequences at once, and cannot know how long each will become. To
reserve the longest for every one wastes most of the memory. So keys and values live in
one pool of `num_blocks` blocks, each with room for `block_size` tokens. A sequence owns
a list of blocks, its block table, and takes another one from the free ones only when
its last is full. Its tokens lie anywhere in the pool; the table says where:

    token t of a sequence  is in block  table[t // block_size]  at place  t % block_size
    T tokens               own  ceil(T / block_size)  blocks

`allocate` names a new, empty sequence, which owns no block. `append` adds tokens,
`gather` returns all of a sequence in order, to the bit, `free` gives its blocks back,
and they are used again.

Example: four blocks of two tokens. A gets 3 tokens and owns 2 blocks, B gets 1 and
owns 1. A gets 2 more: its 4th token fills its own last block, its 5th takes the last
free one. A's table may be [3, 2, 0] then, and B's [1]; which block is taken is free.
One more token for A fits; a third for B needs a block that is not there, so this append
raises ValueError, and nothing has changed.

A table changes at its end alone: an append moves no earlier token. The first append
makes the pool, in its H, widths, dtype and device; from then on the cache's memory
grows by less than a tenth of the pool, and one more token makes no tensor larger than
the keys or values of 16 tokens. (This is counted, without a clock.)

Every method raises ValueError for an id that is not living: one that was never given,
or was freed.

Where public code differs: layouts do, [num_blocks, block_size, H, d] or heads in front;
none shows here. vLLM also shares blocks between sequences and copies them on writing,
which is left out.

What goes wrong: a new block for each append, the last half full; padding in what is
gathered; blocks that are lost when an append is refused; sequences that are joined anew
at each append.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, refusals, memory, another device than the CPU.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Kwon et al. 2023, "Efficient Memory Management for Large Language Model Serving
with PagedAttention", sections 4.1 to 4.3.
"""

import torch


class PagedKVCache:
    """Keys and values of many sequences in `num_blocks` blocks of `block_size` tokens.

    `num_free_blocks`, an attribute or a property, is the number of blocks that no
    sequence owns.
    """

    num_free_blocks: int

    def __init__(self, num_blocks: int, block_size: int) -> None:
        raise NotImplementedError

    def allocate(self) -> int:
        """Name a new, empty sequence. An id that was freed may be given again."""
        raise NotImplementedError

    def append(self, seq_id: int, k: torch.Tensor, v: torch.Tensor) -> None:
        """Add tokens to a sequence.

        k: [H, T_new, d_head].
        v: [H, T_new, d_v]. H, widths, dtype and device are always those of the first
           append that is not refused.

        Raises ValueError where more blocks are needed than are free, and then changes
        nothing.
        """
        raise NotImplementedError

    def gather(self, seq_id: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return all keys [H, T, d_head] and values [H, T, d_v] of a sequence.

        It has at least one token. The result may be a view of the pool: once the
        sequence is freed, an append may write over it.
        """
        raise NotImplementedError

    def block_table(self, seq_id: int) -> list[int]:
        """Return the blocks of a sequence in order, numbers from 0 to num_blocks - 1.

        The list of an empty sequence is empty.
        """
        raise NotImplementedError

    def free(self, seq_id: int) -> None:
        """End a sequence and give its blocks back."""
        raise NotImplementedError
