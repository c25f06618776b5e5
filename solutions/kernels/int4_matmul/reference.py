"""A product with packed weights of four bits; the even and the odd k are added up apart."""

import triton
import triton.language as tl


@triton.jit
def int4_kernel(
    x_ptr,
    packed_ptr,
    scales_ptr,
    out_ptr,
    M,
    N,
    K,
    group,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]  # [BLOCK_M, 1]
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]  # [1, BLOCK_N]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for begin in range(0, K, BLOCK_K):
        p = begin // 2 + tl.arange(0, BLOCK_K // 2)  # [BLOCK_K / 2]
        k = 2 * p[None, :]  # [1, BLOCK_K / 2]
        x_even = tl.load(x_ptr + row * K + k, mask=(row < M) & (k < K), other=0.0)  # [BLOCK_M, BLOCK_K / 2]
        x_odd = tl.load(x_ptr + row * K + k + 1, mask=(row < M) & (k < K), other=0.0)
        inside = (p[:, None] < K // 2) & (column < N)
        byte = tl.load(packed_ptr + p[:, None] * N + column, mask=inside, other=0)  # [BLOCK_K / 2, BLOCK_N]
        scale = tl.load(scales_ptr + begin // group * N + column, mask=column < N, other=0.0)  # [1, BLOCK_N]
        even = ((byte & 15).to(tl.float16) - 8) * scale  # [BLOCK_K / 2, BLOCK_N]
        odd = ((byte >> 4).to(tl.float16) - 8) * scale
        acc = tl.dot(x_even, even, acc)  # [BLOCK_M, BLOCK_N]
        acc = tl.dot(x_odd, odd, acc)
    tl.store(out_ptr + row * N + column, acc, mask=(row < M) & (column < N))


def int4_matmul(x, packed, scales, out, group, block_m, block_n, block_k):
    (M, K), N = x.shape, packed.shape[1]
    grid = (triton.cdiv(M, block_m), triton.cdiv(N, block_n))
    int4_kernel[grid](
        x, packed, scales, out, M, N, K, group, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k
    )
