"""A matrix product with a block of outputs a program, as in Triton's tutorial "Matrix Multiplication"."""

import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    out_ptr,
    M,
    N,
    K,
    a_row,
    a_column,
    b_row,
    b_column,
    out_row,
    out_column,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)  # [BLOCK_M]
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)  # [BLOCK_N]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for tile in range(tl.cdiv(K, BLOCK_K)):
        k = tile * BLOCK_K + tl.arange(0, BLOCK_K)  # [BLOCK_K]
        a_at = a_ptr + row[:, None] * a_row + k[None, :] * a_column  # [BLOCK_M, BLOCK_K]
        b_at = b_ptr + k[:, None] * b_row + column[None, :] * b_column  # [BLOCK_K, BLOCK_N]
        a = tl.load(a_at, mask=(row[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_at, mask=(k[:, None] < K) & (column[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)  # [BLOCK_M, BLOCK_N]
    out_at = out_ptr + row[:, None] * out_row + column[None, :] * out_column
    tl.store(out_at, acc, mask=(row[:, None] < M) & (column[None, :] < N))


def tiled_matmul(a, b, out, block_m, block_n, block_k):
    (M, K), N = a.shape, b.shape[1]
    grid = (triton.cdiv(M, block_m), triton.cdiv(N, block_n))
    strides = (*a.stride(), *b.stride(), *out.stride())
    matmul_kernel[grid](a, b, out, M, N, K, *strides, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k)
