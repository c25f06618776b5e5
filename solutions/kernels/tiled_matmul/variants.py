"""Right answers to tiled_matmul in other styles."""

import triton
import triton.language as tl


@triton.jit
def _in_the_tutorial(
    a_ptr, b_ptr, c_ptr,
    M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m

    tl.assume(pid_m >= 0)
    tl.assume(stride_am > 0)

    offs_am = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)

    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk

    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, accumulator, mask=c_mask)


def as_in_the_tutorial(a, b, out, block_m, block_n, block_k):
    """The tutorial's kernel: programs in groups, rows modulo M, pointers that move."""
    M, K = a.shape
    K, N = b.shape
    grid = lambda META: (  # noqa: E731  # as the tutorial writes it
        triton.cdiv(M, META["BLOCK_SIZE_M"]) * triton.cdiv(N, META["BLOCK_SIZE_N"]),
    )
    _in_the_tutorial[grid](
        a, b, out,
        M, N, K,
        a.stride(0), a.stride(1), b.stride(0), b.stride(1), out.stride(0), out.stride(1),
        BLOCK_SIZE_M=block_m, BLOCK_SIZE_N=block_n, BLOCK_SIZE_K=block_k, GROUP_SIZE_M=2,
        num_stages=3, num_warps=8,
    )  # fmt: skip


@triton.jit
def _of_products(
    a_ptr, b_ptr, out_ptr, M, N, K, am, ak, bk, bn, om, on, BM: tl.constexpr, BN: tl.constexpr
):  # fmt: skip
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros([BM, BN], tl.float32)
    for k in range(K):
        left = tl.load(a_ptr + m * am + k * ak, mask=m < M, other=0.0).to(tl.float32)
        right = tl.load(b_ptr + k * bk + n * bn, mask=n < N, other=0.0).to(tl.float32)
        total += left[:, None] * right[None, :]
    tl.store(out_ptr + m[:, None] * om + n[None, :] * on, total, mask=(m < M)[:, None] & (n < N)[None, :])


def column_by_row(a, b, out, block_m, block_n, block_k):  # noqa: ARG001  # a tile of k is one number
    """Without tl.dot: for each k a column of a times a row of b, in float32."""
    grid = triton.cdiv(b.shape[1], block_n), triton.cdiv(a.shape[0], block_m)
    sizes = a.shape[0], b.shape[1], a.shape[1]
    _of_products[grid](
        a, b, out, *sizes, *a.stride(), *b.stride(), *out.stride(), BM=block_m, BN=block_n
    )  # fmt: skip


@triton.jit
def _transposed(
    a_ptr, b_ptr, out_ptr, M, N, K, a_m, a_k, b_k, b_n, o_m, o_n,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) // tl.cdiv(N, BN) * BM + tl.arange(0, BM)[None, :]
    n = tl.program_id(0) % tl.cdiv(N, BN) * BN + tl.arange(0, BN)[:, None]
    k = tl.arange(0, BK)
    acc = tl.full((BN, BM), 0.0, tl.float32)
    for _ in tl.static_range(TILES):
        inside = k < K
        b = tl.load(b_ptr + k[None, :] * b_k + n * b_n, mask=inside[None, :] & (n < N), other=0)
        a = tl.load(a_ptr + k[:, None] * a_k + m * a_m, mask=inside[:, None] & (m < M), other=0)
        acc += tl.dot(b, a)
        k += BK
    tl.store(out_ptr + n * o_n + m * o_m, acc, (n < N) & (m < M))


def transposed(a, b, out, block_m, block_n, block_k):
    """The transposed block, b^T a^T; one number for the program; as many tiles as the launcher says."""
    M, K = a.size()
    N = b.size(1)
    programs = triton.cdiv(M, block_m) * triton.cdiv(N, block_n)
    tiles = triton.cdiv(K, block_k)
    _transposed[(programs,)](
        a, b, out, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), out.stride(0), out.stride(1),
        BM=block_m, BN=block_n, BK=block_k, TILES=tiles,
    )  # fmt: skip
