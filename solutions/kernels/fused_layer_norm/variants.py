"""Right answers to fused_layer_norm in other styles."""

import triton
import triton.language as tl


@triton.jit
def _layer_norm_fwd_fused(X, Y, W, B, stride_x, stride_y, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride_y
    X += row * stride_x
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < N
    x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    diff = tl.where(mask, x - mean, 0.0)
    var = tl.sum(diff * diff, axis=0) / N
    rstd = 1 / tl.sqrt(var + eps)
    x_hat = diff * rstd
    w = tl.load(W + cols, mask=mask)
    b = tl.load(B + cols, mask=mask)
    tl.store(Y + cols, x_hat * w + b, mask=mask)


def as_in_the_first_tutorial(x, gamma, beta, out, eps):
    """As the tutorial was when it took a row in one block."""
    M, N = x.shape
    MAX_FUSED_SIZE = 65536 // x.element_size()
    BLOCK_SIZE = min(MAX_FUSED_SIZE, triton.next_power_of_2(N))
    num_warps = min(max(BLOCK_SIZE // 256, 1), 8)
    _layer_norm_fwd_fused[(M,)](
        x, out, gamma, beta, x.stride(0), out.stride(0), N, eps, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps
    )


@triton.jit
def _two_rows(
    x_ptr, gamma_ptr, beta_ptr, out_ptr, x_stride, out_stride, rows, columns,
    EPS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    mask = (row < rows) & (column < columns)
    gamma = tl.load(gamma_ptr + column, column < columns, 0.0)
    beta = tl.load(beta_ptr + column, column < columns, 0.0)
    x = tl.cast(tl.load(x_ptr + row * x_stride + column, mask), tl.float32)
    x = tl.where(mask, x, 0.0)
    share = 1.0 / columns
    x = (x - tl.sum(x, 1, keep_dims=True) * share) * mask
    spread = tl.rsqrt(tl.sum(x * x, axis=1) * share + EPS)
    tl.store(out_ptr + row * out_stride + column, x * spread[:, None] * gamma + beta, mask)


def two_rows(x, gamma, beta, out, eps):
    """A block of two rows, which load gamma and beta once; products in place of quotients; eps constexpr."""
    rows, columns = x.size(0), x.size(1)
    _two_rows[(triton.cdiv(rows, 2),)](
        x, gamma, beta, out, x.stride(0), out.stride(0), rows, columns,
        EPS=eps, ROWS=2, BLOCK=triton.next_power_of_2(columns),
    )  # fmt: skip


@triton.jit
def _mean_of(values, inside, count):
    return tl.sum(tl.where(inside, values, 0.0), dtype=tl.float32) / count


@triton.jit
def _in_a_loop(x_ptr, gamma_ptr, beta_ptr, out_ptr, x_step, out_step, rows, n, eps, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    gamma = tl.load(gamma_ptr + at, at < n)
    beta = tl.load(beta_ptr + at, at < n)
    for row in range(tl.program_id(axis=0), rows, tl.num_programs(axis=0)):
        numbers = tl.load(x_ptr + row * x_step + at, at < n)
        numbers -= _mean_of(numbers, at < n, n)
        numbers /= tl.math.sqrt(_mean_of(numbers * numbers, at < n, n) + eps)
        tl.store(out_ptr + row * out_step + at, beta + numbers * gamma, at < n)


def in_a_loop(x, gamma, beta, out, eps):
    """No `other`; x converted by its sum; two programs for all rows; a block of twice the width."""
    rows, n = x.shape
    grid = lambda _: (min(2, rows),)  # noqa: E731  # as tutorials write it
    _in_a_loop[grid](
        x, gamma, beta, out, x.stride(0), out.stride(0), rows, n, eps, BLOCK=2 * triton.next_power_of_2(n)
    )


@triton.jit
def _in_halves(x_ptr, gamma_ptr, beta_ptr, out_ptr, x_stride, out_stride, columns, eps, HALF: tl.constexpr):
    x_ptr += tl.program_id(0) * x_stride
    out_ptr += tl.program_id(0) * out_stride
    left = tl.arange(0, HALF)
    right = HALF + tl.arange(0, HALF)
    a = tl.load(x_ptr + left, mask=left < columns, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + right, mask=right < columns, other=0.0).to(tl.float32)
    mean = (tl.sum(a, 0) + tl.sum(b, 0)) / columns
    a = tl.where(left < columns, a - mean, 0.0)
    b = tl.where(right < columns, b - mean, 0.0)
    variance = (tl.sum(a * a, 0) + tl.sum(b * b, 0)) / columns
    scale = tl.exp2(-0.5 * tl.log2(variance + eps))
    for half in tl.static_range(2):
        at = left if half == 0 else right
        values = (a if half == 0 else b) * scale
        values = values * tl.load(gamma_ptr + at, at < columns) + tl.load(beta_ptr + at, at < columns)
        tl.store(out_ptr + at, values, at < columns)


def in_halves(x, gamma, beta, out, eps):
    """A row in two blocks, both of which stay in the program."""
    half = max(1, triton.next_power_of_2(x.shape[1]) // 2)
    _in_halves[(x.shape[0], 1)](
        x, gamma, beta, out, *(a.stride(0) for a in (x, out)), x.shape[-1], eps, HALF=half
    )
