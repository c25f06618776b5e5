"""Right answers to flash_attention_kernel in other styles."""

import triton
import triton.language as tl


@triton.jit
def _attn_fwd_inner(
    acc, l_i, m_i, q, K, V, stride_t, N_CTX, qk_scale, lo, hi, offs_m, offs_n, offs_d,
    BLOCK_N: tl.constexpr, STAGE: tl.constexpr,
):  # fmt: skip
    for start_n in tl.range(lo, hi, BLOCK_N):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        rows = start_n + offs_n
        k = tl.load(K + offs_d[:, None] + rows[None, :] * stride_t, mask=rows[None, :] < N_CTX, other=0.0)
        qk = tl.dot(q, k, input_precision="ieee")
        if STAGE == 2:
            mask = offs_m[:, None] >= rows[None, :]
            qk = qk * qk_scale + tl.where(mask, 0, -1.0e6)
            m_ij = tl.maximum(m_i, tl.max(qk, 1))
            qk -= m_ij[:, None]
        else:
            m_ij = tl.maximum(m_i, tl.max(qk, 1) * qk_scale)
            qk = qk * qk_scale - m_ij[:, None]
        p = tl.exp2(qk)
        alpha = tl.exp2(m_i - m_ij)
        l_ij = tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V + rows[:, None] * stride_t + offs_d[None, :], mask=rows[:, None] < N_CTX, other=0.0)
        acc = tl.dot(p, v, acc, input_precision="ieee")
        l_i = l_i * alpha + l_ij
        m_i = m_ij
    return acc, l_i, m_i


@triton.jit
def _attn_fwd(
    Q, K, V, Out, sm_scale, stride_h, stride_t, stride_oh, stride_ot, N_CTX,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    start_m = tl.program_id(0)
    off_h = tl.program_id(1).to(tl.int64)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    Q += off_h * stride_h
    K += off_h * stride_h
    V += off_h * stride_h
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    qk_scale = sm_scale * 1.44269504
    q = tl.load(Q + offs_m[:, None] * stride_t + offs_d[None, :], mask=offs_m[:, None] < N_CTX, other=0.0)
    whole = start_m * BLOCK_M // BLOCK_N * BLOCK_N
    acc, l_i, m_i = _attn_fwd_inner(
        acc, l_i, m_i, q, K, V, stride_t, N_CTX, qk_scale, 0, whole, offs_m, offs_n, offs_d, BLOCK_N, 1
    )
    end = tl.minimum((start_m + 1) * BLOCK_M, N_CTX)
    acc, l_i, m_i = _attn_fwd_inner(
        acc, l_i, m_i, q, K, V, stride_t, N_CTX, qk_scale, whole, end, offs_m, offs_n, offs_d, BLOCK_N, 2
    )
    acc = acc / l_i[:, None]
    at = off_h * stride_oh + offs_m[:, None] * stride_ot + offs_d[None, :]
    tl.store(Out + at, acc.to(Out.dtype.element_ty), mask=offs_m[:, None] < N_CTX)


def in_two_stages(q, k, v, out, block_q, block_k):
    """As Triton's tutorial has it: blocks without a mask, then those on the diagonal; powers of two."""
    heads, n_ctx, head_dim = q.shape
    grid = lambda args: (triton.cdiv(n_ctx, args["BLOCK_M"]), heads, 1)  # noqa: E731  # as the tutorial
    _attn_fwd[grid](
        q, k, v, out, 1.0 / head_dim**0.5, q.stride(0), q.stride(1), out.stride(0), out.stride(1), n_ctx,
        HEAD_DIM=head_dim, BLOCK_M=block_q, BLOCK_N=block_k, num_warps=4, num_stages=2,
    )  # fmt: skip


@triton.jit
def _without_dot(
    q_ptr, k_ptr, v_ptr, out_ptr, T, q_h, q_t, k_h, k_t, v_h, v_t, o_h, o_t,
    D: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    head, part = tl.program_id(0), tl.program_id(1)
    i = part * BQ + tl.arange(0, BQ)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head * q_h + i[:, None] * q_t + d, mask=(i < T)[:, None]) / D**0.5
    best = tl.full((BQ, 1), -1e30, tl.float32)
    total = tl.zeros((BQ, 1), tl.float32)
    mixed = tl.zeros((BQ, D), tl.float32)
    for block in range(tl.cdiv(tl.minimum(T, (part + 1) * BQ), BK)):
        j = block * BK + tl.arange(0, BK)
        inside = (j < T)[:, None]
        k = tl.load(k_ptr + head * k_h + j[:, None] * k_t + d, mask=inside)
        v = tl.load(v_ptr + head * v_h + j[:, None] * v_t + d, mask=inside, other=0.0)
        seen = (j[None, :] <= i[:, None]) & (j < T)[None, :]
        scores = tl.where(seen, tl.sum(q[:, None, :] * k[None, :, :], axis=2), -1e30)
        new = tl.maximum(best, tl.max(scores, axis=1, keep_dims=True))
        p = tl.where(seen, tl.exp(scores - new), 0.0)
        mixed = mixed * tl.exp(best - new) + tl.sum(p[:, :, None] * v[None, :, :], axis=1)
        total = total * tl.exp(best - new) + tl.sum(p, axis=1, keep_dims=True)
        best = new
    tl.store(out_ptr + head * o_h + i[:, None] * o_t + d, mixed / total, mask=(i < T)[:, None])


def without_dot(q, k, v, out, block_q, block_k):
    """Products and sums instead of tl.dot; the heads on the first axis; all strides."""
    strides = [array.stride(axis) for array in (q, k, v, out) for axis in (0, 1)]
    grid = (q.size(0), triton.cdiv(q.size(1), block_q))
    _without_dot[grid](q, k, v, out, q.size(1), *strides, D=q.size(2), BQ=block_q, BK=block_k)


@triton.jit
def _backwards(
    q_ptr, k_ptr, v_ptr, out_ptr, tokens, heads, head_step, step, out_head_step, out_step,
    D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    number = tl.program_id(0)
    head = number % heads
    first = number // heads * BLOCK_Q
    rows = first + tl.arange(0, BLOCK_Q)
    lanes = tl.arange(0, BLOCK_K)
    columns = tl.arange(0, D)
    scale = 1.0 / tl.sqrt(D * 1.0)
    begin = head * head_step + rows[None, :] * step + columns[:, None]
    queries = tl.load(q_ptr + begin, rows[None, :] < tokens, 0.0)
    largest = tl.full([BLOCK_Q], -float("inf"), tl.float32)
    sums = tl.full([BLOCK_Q], 0.0, tl.float32)
    result = tl.zeros([BLOCK_Q, D], dtype=tl.float32)
    last = tl.minimum(first + BLOCK_Q, tokens) - 1
    for back in range(last // BLOCK_K + 1):
        start = (last // BLOCK_K - back) * BLOCK_K
        at = head * head_step + (start + lanes)[:, None] * step + columns[None, :]
        inside = (start + lanes)[:, None] <= last
        keys = tl.load(k_ptr + at, mask=inside, other=0.0)
        scores = tl.dot(keys, queries, input_precision="ieee") * scale
        scores = tl.where((start + lanes)[:, None] > rows[None, :], -float("inf"), scores)
        new = tl.maximum(largest, tl.max(scores, axis=0))
        new = tl.where(new == -float("inf"), 0.0, new)
        powers = tl.exp(scores - new[None, :])
        factor = tl.exp(largest - new)
        sums = sums * factor + tl.sum(powers, axis=0)
        result *= factor[:, None]
        values = tl.load(v_ptr + at, mask=inside, other=0.0)
        result += tl.dot(tl.trans(powers), values, input_precision="ieee")
        largest = tl.where(sums > 0, new, -float("inf"))
    end = head * out_head_step + rows[:, None] * out_step + columns[None, :]
    tl.store(out_ptr + end, result * (1.0 / sums)[:, None], mask=(rows < tokens)[:, None])


def backwards(q, k, v, out, block_q, block_k):
    """From the diagonal back to the first key, on a grid with one axis; the scores are transposed."""
    heads, tokens, d_head = q.shape
    steps = q.stride(0), q.stride(1), out.stride(0), out.stride(1)
    grid = (triton.cdiv(tokens, block_q) * heads,)
    _backwards[grid](q, k, v, out, tokens, heads, *steps, D=d_head, BLOCK_Q=block_q, BLOCK_K=block_k)
