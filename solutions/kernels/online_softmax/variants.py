"""Right answers to online_softmax in other styles."""

import triton
import triton.language as tl


@triton.jit
def _of_scalars(Y_ptr, X_ptr, stride_y, stride_x, n_cols, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    Y_ptr += pid * stride_y
    X_ptr += pid * stride_x
    m = float("-inf")
    d = 0.0
    for i in tl.range(0, tl.cdiv(n_cols, BLOCK_SIZE), num_stages=2):
        offsets = i * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        block = tl.load(X_ptr + offsets, mask=offsets < n_cols, other=float("-inf"))
        m_new = tl.maximum(m, tl.max(block))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        d = d * tl.exp(m - m_safe) + tl.sum(tl.exp(block - m_safe))
        m = m_new
    for i in tl.range(0, tl.cdiv(n_cols, BLOCK_SIZE)):
        offsets = i * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n_cols
        block = tl.load(X_ptr + offsets, mask=mask, other=float("-inf"), cache_modifier=".cg")
        tl.store(Y_ptr + offsets, tl.exp(block - m) / d, mask=mask)


def of_scalars(x, out, block):
    """As public kernels for language models write it: `m` and `d` begin with -inf and 0."""
    n_rows, n_cols = x.shape
    _of_scalars[(n_rows,)](out, x, out.stride(0), x.stride(0), n_cols, BLOCK_SIZE=block, num_warps=4)


@triton.jit
def _lane_by_lane(x, out, n, x_step, out_step, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x += tl.program_id(0) * x_step + lanes
    out += tl.program_id(0) * out_step + lanes
    best = tl.full((BLOCK,), -1e30, tl.float32)
    sums = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        row = tl.load(x + start, mask=lanes < n - start, other=-1e30)
        new = tl.maximum(best, row)
        power = tl.where(lanes < n - start, tl.exp(row - new), 0.0)
        sums = sums * tl.exp(best - new) + power
        best = new
    whole = tl.max(best, 0)
    total = tl.sum(sums * tl.exp(best - whole), 0)
    scale = 1.0 / total
    for start in range(0, n, BLOCK):
        inside = lanes + start < n
        tl.store(out + start, tl.exp(tl.load(x + start, inside) - whole) * scale, inside)


def lane_by_lane(x, out, block):
    """Each lane has a maximum and a sum of its own; they are joined after the first pass."""
    _lane_by_lane[(x.shape[0],)](x, out, x.shape[1], x.stride(0), out.stride(0), BLOCK=block)


@triton.jit
def _four_rows(x_ptr, out_ptr, rows, columns, x_stride, out_stride, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]  # [ROWS, 1]
    lanes = tl.arange(0, BLOCK)[None, :]  # [1, BLOCK]
    maximum = tl.full([ROWS, 1], -3.0e38, dtype=tl.float32)
    total = tl.zeros([ROWS, 1], dtype=tl.float32)
    blocks = (columns + BLOCK - 1) // BLOCK
    for block in range(blocks):
        at = block * BLOCK + lanes
        inside = (row < rows) & (at < columns)
        x = tl.where(inside, tl.load(x_ptr + row * x_stride + at, mask=inside), -float("inf"))
        before, maximum = maximum, tl.maximum(maximum, tl.max(x, axis=1, keep_dims=True))
        total *= tl.exp(before - maximum)
        total += tl.sum(tl.exp(x - maximum), axis=1)[:, None]
    for block in range(blocks - 1, -1, -1):
        at = block * BLOCK + lanes
        inside = (row < rows) & (at < columns)
        x = tl.load(x_ptr + row * x_stride + at, mask=inside, other=0.0)
        tl.store(out_ptr + row * out_stride + at, tl.exp(x - maximum) / total, mask=inside)


def four_rows(x, out, block):
    """A program has four rows. The second pass begins with the last block, which the cache still has."""
    rows, columns = x.shape
    strides = x.stride(0), out.stride(0)
    _four_rows[(triton.cdiv(rows, 4),)](x, out, rows, columns, *strides, ROWS=4, BLOCK=block)
