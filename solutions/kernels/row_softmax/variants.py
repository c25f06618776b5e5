"""Right answers to row_softmax in other styles."""

import triton
import triton.language as tl


@triton.jit
def _as_in_the_tutorial(
    output_ptr, input_ptr, input_row_stride, output_row_stride, n_rows, n_cols,
    BLOCK_SIZE: tl.constexpr, num_stages: tl.constexpr,
):  # fmt: skip
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    for row_idx in tl.range(row_start, n_rows, row_step, num_stages=num_stages):
        row_start_ptr = input_ptr + row_idx * input_row_stride
        col_offsets = tl.arange(0, BLOCK_SIZE)
        input_ptrs = row_start_ptr + col_offsets
        mask = col_offsets < n_cols
        row = tl.load(input_ptrs, mask=mask, other=-float("inf"))
        row_minus_max = row - tl.max(row, axis=0)
        numerator = tl.exp(row_minus_max)
        denominator = tl.sum(numerator, axis=0)
        softmax_output = numerator / denominator
        output_row_start_ptr = output_ptr + row_idx * output_row_stride
        output_ptrs = output_row_start_ptr + col_offsets
        tl.store(output_ptrs, softmax_output, mask=mask)


def as_in_the_tutorial(x, out):
    """The tutorial's kernel: three programs share all rows."""
    n_rows, n_cols = x.shape
    size = triton.next_power_of_2(n_cols)
    programs = min(3, n_rows)
    _as_in_the_tutorial[(programs, 1, 1)](
        out, x, x.stride(0), out.stride(0), n_rows, n_cols, BLOCK_SIZE=size, num_stages=2, num_warps=8
    )


@triton.jit
def _two_rows(x_ptr, out_ptr, x_stride, out_stride, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    mask = (row < rows) & (column < columns)
    x = tl.load(x_ptr + row * x_stride + column, mask=mask, other=0.0)
    x = tl.where(column < columns, x, float("-inf"))
    x = x - tl.max(x, 1, keep_dims=True)
    powers = tl.where(mask, tl.exp2(x * 1.4426950408889634), 0.0)
    total = tl.sum(powers, axis=1)
    tl.store(out_ptr + row * out_stride + column, powers / total[:, None], mask)


def two_rows(x, out):
    """A block of two rows; the mask of both axes; exp by powers of two."""
    rows, columns = x.size(0), x.size(1)
    _two_rows[(triton.cdiv(rows, 2),)](
        x, out, x.stride(0), out.stride(0), rows, columns, ROWS=2, BLOCK=triton.next_power_of_2(columns)
    )


@triton.jit
def _greatest(row, inside):
    return tl.max(tl.where(inside, row, float("-inf")), axis=0)


@triton.jit
def _by_the_log_of_the_sum(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    x_ptr += tl.program_id(axis=0) * x_stride
    out_ptr += tl.program_id(axis=0) * out_stride
    at = tl.arange(0, BLOCK)
    row = tl.load(x_ptr + at, at < columns)
    shifted = row - _greatest(row, at < columns)
    log_of_sum = tl.log(tl.sum(tl.where(at < columns, tl.exp(shifted), 0.0)))
    tl.store(out_ptr + at, tl.exp(shifted - log_of_sum), at < columns)


def by_the_log_of_the_sum(x, out):
    """No `other`: what is masked is replaced where it would count; a block of twice the width."""
    grid = lambda _: (x.shape[0],)  # noqa: E731  # as tutorials write it
    width = 2 * triton.next_power_of_2(x.shape[1])
    _by_the_log_of_the_sum[grid](x, out, *(a.stride(0) for a in (x, out)), x.shape[-1], BLOCK=width)
