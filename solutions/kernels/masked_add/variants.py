"""Right answers to masked_add in other styles."""

import triton
import triton.language as tl


@triton.jit
def _moved_pointers(x, y, out, n, BLOCK: tl.constexpr):
    begin = tl.program_id(axis=0) * BLOCK
    lanes = tl.arange(0, BLOCK)
    mask = lanes < n - begin
    total = tl.load(x + begin + lanes, mask, other=0.0) + tl.load(y + begin + lanes, mask, other=0.0)
    tl.store(out + begin + lanes, total, mask)


def moved_pointers(x, y, out, block):
    """The mask counts the lanes that are left; the grid is a function."""
    _moved_pointers[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel(), BLOCK=block)


@triton.jit
def _as_in_the_tutorial(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    output = x + y
    tl.store(output_ptr + offsets, output, mask=mask)


def as_in_the_tutorial(x, y, out, block):
    """The names of Triton's tutorial, with warps chosen."""
    n_elements = out.numel()
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)  # noqa: E731  # as it is written there
    _as_in_the_tutorial[grid](x, y, out, n_elements, BLOCK_SIZE=block, num_warps=4)


@triton.jit
def _own(n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    return at, at < n


@triton.jit
def _with_helper(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at, inside = _own(n, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, inside) + tl.load(y_ptr + at, inside), inside)


def with_helper(x, y, out, block):
    """A function of kernels computes the entries and the mask."""
    n = x.size(0)
    _with_helper[(n + block - 1) // block,](x, y, out, n, block)
