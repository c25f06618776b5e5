"""Right answers to int4_matmul in other styles."""

import triton
import triton.language as tl


@triton.jit
def _joined(
    a_ptr, b_ptr, s_ptr, c_ptr, M, N, K, group_size,
    stride_am, stride_ak, stride_bk, stride_bn, stride_sg, stride_sn, stride_cm, stride_cn,
    BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
):  # fmt: skip
    tl.static_assert(BLOCK_SIZE_K % 2 == 0)
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    first_pid_m = pid // num_pid_in_group * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + (pid % num_pid_in_group) % group_size_m
    pid_n = (pid % num_pid_in_group) // group_size_m

    offs_am = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_ak = tl.arange(0, BLOCK_SIZE_K)
    offs_bk = tl.arange(0, BLOCK_SIZE_K // 2)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_ak[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_bk[:, None] * stride_bk + offs_bn[None, :] * stride_bn)

    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        rest = K - k * BLOCK_SIZE_K
        a = tl.load(a_ptrs, mask=offs_ak[None, :] < rest, other=0.0)
        b = tl.load(b_ptrs, mask=offs_bk[:, None] < rest // 2, other=0)
        s = tl.load(s_ptr + k * BLOCK_SIZE_K // group_size * stride_sg + offs_bn * stride_sn)
        b = (b ^ 0x88).to(tl.int8, bitcast=True)
        b_lo = (b << 4) >> 4
        b_hi = b >> 4
        b_f16 = (
            tl.join(b_lo.to(tl.float16), b_hi.to(tl.float16))
            .permute(0, 2, 1)
            .reshape(BLOCK_SIZE_K, BLOCK_SIZE_N)
        )
        accumulator += tl.dot(a, b_f16 * s[None, :])
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk // 2

    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, accumulator, mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


def as_in_tritonbench(x, packed, scales, out, group, block_m, block_n, block_k):
    """As PyTorch's benchmark int4_gemm: signs extended by shifts, nibbles joined in the order of k."""
    M, K = x.shape
    _, N = packed.shape
    grid = lambda META: (  # noqa: E731  # as the benchmark writes it
        triton.cdiv(M, META["BLOCK_SIZE_M"]) * triton.cdiv(N, META["BLOCK_SIZE_N"]),
    )
    _joined[grid](
        x, packed, scales, out, M, N, K, group,
        *x.stride(), *packed.stride(), *scales.stride(), *out.stride(),
        BLOCK_SIZE_M=block_m, BLOCK_SIZE_N=block_n, BLOCK_SIZE_K=block_k, GROUP_SIZE_M=2,
        num_warps=4, num_stages=3,
    )  # fmt: skip


@triton.jit
def _transposed(
    x_ptr, packed_ptr, scales_ptr, out_ptr, M, N, K, groups, GROUP: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BN, BM), tl.float32)
    for g in range(groups):
        scale = tl.load(scales_ptr + g * N + n, mask=n < N)
        whole = tl.zeros((BN, BM), tl.float32)
        for begin in range(g * GROUP, min(K, (g + 1) * GROUP), BK):
            k = begin + tl.arange(0, BK)
            p = begin // 2 + tl.arange(0, BK // 2)
            byte = tl.load(
                packed_ptr + p[None, :] * N + n[:, None], mask=(n < N)[:, None] & (2 * p < K)[None, :]
            )
            q = tl.interleave(byte & 0xF, byte >> 4).to(tl.int8) - 8
            x = tl.load(x_ptr + m[None, :] * K + k[:, None], (m < M)[None, :] & (k < K)[:, None], 0.0)
            whole = tl.dot(q.to(tl.float16), x, whole)
        acc += whole * scale[:, None]
    tl.store(out_ptr + m[None, :] * N + n[:, None], acc, mask=(m < M)[None, :] & (n < N)[:, None])


def group_by_group(x, packed, scales, out, group, block_m, block_n, block_k):
    """The transposed block; the scale multiplies the sum of a group."""
    M, K = x.shape
    groups, N = scales.shape
    grid = (triton.cdiv(N, block_n), triton.cdiv(M, block_m))
    _transposed[grid](
        x, packed, scales, out, M, N, K, groups, GROUP=group, BM=block_m, BN=block_n, BK=block_k
    )


@triton.jit
def _without_dot(
    x_ptr, packed_ptr, scales_ptr, out_ptr, rows, columns, K, group,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) // tl.cdiv(columns, COLUMNS) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) % tl.cdiv(columns, COLUMNS) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    begin = 0
    while begin < K:
        k = begin + tl.arange(0, 2 * HALF)
        at = begin // 2 + tl.arange(0, HALF)
        x = tl.load(
            x_ptr + row[:, None] * K + k[None, :], mask=(row < rows)[:, None] & (k < K)[None, :], other=0
        )
        x = x.to(tl.float32)
        first, second = tl.split(x.reshape(ROWS, HALF, 2))
        inside = (at < K // 2)[:, None] & (column < columns)[None, :]
        byte = tl.load(packed_ptr + at[:, None] * columns + column[None, :], mask=inside, other=136)
        byte = byte.to(tl.int32)
        scale = tl.load(scales_ptr + begin // group * columns + column, mask=column < columns, other=1.0)
        codes = tl.sum(first[:, :, None] * (byte % 16)[None, :, :], axis=1)
        codes += tl.sum(second[:, :, None] * (byte // 16)[None, :, :], axis=1)
        total += (codes - 8 * tl.sum(x, axis=1)[:, None]) * scale[None, :]
        begin += 2 * HALF
    tl.store(
        out_ptr + row[:, None] * columns + column[None, :],
        total,
        mask=(row < rows)[:, None] & (column < columns)[None, :],
    )


def offset_of_the_sum(x, packed, scales, out, group, block_m, block_n, block_k):
    """Without tl.dot: a product with the codes, less 8 times the sum of x."""
    rows, columns = out.shape
    programs = triton.cdiv(rows, block_m) * triton.cdiv(columns, block_n)
    _without_dot[(programs,)](
        x, packed, scales, out, rows, columns, x.shape[1], group,
        ROWS=block_m, COLUMNS=block_n, HALF=block_k // 2,
    )  # fmt: skip
