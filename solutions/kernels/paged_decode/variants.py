"""Right answers to paged_decode in other styles."""

import triton
import triton.language as tl


@triton.jit
def _cdiv_fn(x, y):
    return (x + y - 1) // y


@triton.jit
def _kernel_paged_attention_2d(
    output_ptr, query_ptr, key_cache_ptr, value_cache_ptr, block_tables_ptr, seq_lens_ptr, scale,
    block_table_stride: tl.int64, query_stride_0: tl.int64, query_stride_1: tl.int64,
    output_stride_0: tl.int64, output_stride_1: tl.int64,
    stride_k_cache_0: tl.int64, stride_k_cache_1: tl.int64, stride_k_cache_2: tl.int64,
    stride_v_cache_0: tl.int64, stride_v_cache_1: tl.int64, stride_v_cache_2: tl.int64,
    BLOCK_SIZE: tl.constexpr, HEAD_SIZE: tl.constexpr,
):  # fmt: skip
    seq_idx = tl.program_id(0)
    head_idx = tl.program_id(1)
    offs_n = tl.arange(0, BLOCK_SIZE)
    offs_d = tl.arange(0, HEAD_SIZE)
    Q = tl.load(query_ptr + seq_idx * query_stride_0 + head_idx * query_stride_1 + offs_d)
    M = tl.full([1], float("-inf"), dtype=tl.float32)
    L = tl.full([1], 1.0, dtype=tl.float32)
    acc = tl.zeros([1, HEAD_SIZE], dtype=tl.float32)
    seq_len = tl.load(seq_lens_ptr + seq_idx)
    num_blocks = _cdiv_fn(seq_len, BLOCK_SIZE)
    for j in range(0, num_blocks):
        physical_block_idx = tl.load(block_tables_ptr + seq_idx * block_table_stride + j).to(tl.int64)
        seq_offset = j * BLOCK_SIZE + offs_n
        seq_mask = seq_offset < seq_len
        k_offset = (
            physical_block_idx * stride_k_cache_0
            + offs_n[None, :] * stride_k_cache_1
            + head_idx * stride_k_cache_2
            + offs_d[:, None]
        )
        v_offset = (
            physical_block_idx * stride_v_cache_0
            + offs_n[:, None] * stride_v_cache_1
            + head_idx * stride_v_cache_2
            + offs_d[None, :]
        )
        K = tl.load(key_cache_ptr + k_offset, mask=seq_mask[None, :], other=0.0)
        V = tl.load(value_cache_ptr + v_offset, mask=seq_mask[:, None], other=0.0)
        S = tl.where(seq_mask[None, :], 0.0, float("-inf")).to(tl.float32)
        S += scale * tl.sum(Q[:, None] * K, axis=0)[None, :]
        m_j = tl.maximum(M, tl.max(S, axis=1))
        m_j = tl.where(m_j > float("-inf"), m_j, 0.0)
        P = tl.exp(S - m_j[:, None])
        l_j = tl.sum(P, axis=1)
        alpha = tl.exp(M - m_j)
        acc = acc * alpha[:, None]
        L = L * alpha + l_j
        M = m_j
        acc += tl.sum(P[:, :, None] * V[None, :, :], axis=1)
    acc = acc / L[:, None]
    at = seq_idx * output_stride_0 + head_idx * output_stride_1 + offs_d[None, :]
    tl.store(output_ptr + at, acc)


def as_vllm(q, k_pages, v_pages, table, lengths, out):
    """As vLLM's kernel for one query has it: blocks of a block table, all strides, keys transposed."""
    num_seqs, num_heads, head_size = q.shape
    _kernel_paged_attention_2d[(num_seqs, num_heads)](
        out, q, k_pages, v_pages, table, lengths, 1.0 / head_size**0.5,
        table.stride(0), q.stride(0), q.stride(1), out.stride(0), out.stride(1),
        k_pages.stride(0), k_pages.stride(1), k_pages.stride(2),
        v_pages.stride(0), v_pages.stride(1), v_pages.stride(2),
        BLOCK_SIZE=k_pages.shape[1], HEAD_SIZE=head_size, num_warps=4,
    )  # fmt: skip


@triton.jit
def _all_heads(
    q_ptr, k_ptr, v_ptr, table_ptr, lengths_ptr, out_ptr, heads, t_row, s_page, s_place, s_head,
    H: tl.constexpr, P: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    sequence = tl.program_id(0)
    h, d = tl.arange(0, H)[:, None], tl.arange(0, D)[None, :]
    i = tl.arange(0, P)
    exists = h < heads
    q = tl.load(q_ptr + (sequence * heads + h) * D + d, mask=exists, other=0.0) / tl.sqrt(D * 1.0)  # [H, D]
    length = tl.load(lengths_ptr + sequence)
    best = tl.full([H, 1], -1e30, tl.float32)
    total = tl.zeros([H, 1], tl.float32)
    mixed = tl.zeros([H, D], tl.float32)
    entry = table_ptr + sequence * t_row
    left = length
    while left > 0:
        at = tl.load(entry) * s_page + i[:, None, None] * s_place + (h * s_head + d)[None, :, :]  # [P, H, D]
        inside = (i < left)[:, None, None] & exists[None, :, :]
        k = tl.load(k_ptr + at, mask=inside)
        scores = tl.where((i < left)[None, :], tl.trans(tl.sum(q[None, :, :] * k, axis=2)), -1e30)  # [H, P]
        new = tl.maximum(best, tl.max(scores, axis=1, keep_dims=True))
        p = tl.where((i < left)[None, :], tl.exp(scores - new), 0.0)
        v = tl.load(v_ptr + at, mask=inside, other=0.0)
        mixed = mixed * tl.exp(best - new) + tl.sum(tl.trans(p)[:, :, None] * v, axis=0)
        total = total * tl.exp(best - new) + tl.sum(p, axis=1, keep_dims=True)
        best = new
        entry += 1
        left -= P
    tl.store(out_ptr + (sequence * heads + h) * D + d, mixed / total, mask=exists)


def all_heads(q, k_pages, v_pages, table, lengths, out):
    """A program has all heads of a sequence, and reads each entry of the table once for all of them."""
    _, page_size, heads, d_head = k_pages.shape
    strides = table.stride(0), k_pages.stride(0), k_pages.stride(1), k_pages.stride(2)
    _all_heads[(q.size(0),)](
        q, k_pages, v_pages, table, lengths, out, heads, *strides,
        H=triton.next_power_of_2(heads), P=page_size, D=d_head,
    )  # fmt: skip


LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def _place_by_place(
    q, k, v, table, lengths, out, heads, scale, row, page, place, head,
    PAGE: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    number = tl.program_id(0)
    sequence = number // heads
    lanes, columns = tl.arange(0, PAGE), tl.arange(0, D)
    length = tl.load(lengths + sequence)
    query = tl.load(q + number * D + columns)[None, :] * (scale * LOG2E)
    k += (number % heads) * head
    v += (number % heads) * head
    best = tl.full((PAGE,), -3.0e38, tl.float32)
    sums = tl.zeros((PAGE,), tl.float32)
    mixed = tl.zeros((PAGE, D), tl.float32)
    last = (length - 1) // PAGE
    for back in range(last + 1):
        at = last - back
        begin = tl.load(table + sequence * row + at) * page
        inside = at * PAGE + lanes < length
        where = begin + lanes[:, None] * place + columns[None, :]
        key = tl.load(k + where, inside[:, None], 0.0)
        score = tl.where(inside, tl.sum(key * query, 1), -3.0e38)
        new = tl.maximum(best, score)
        power = tl.where(inside, tl.exp2(score - new), 0.0)
        sums = sums * tl.exp2(best - new) + power
        value = tl.load(v + where, inside[:, None], 0.0)
        mixed = mixed * tl.exp2(best - new)[:, None] + power[:, None] * value
        best = new
    weight = tl.exp2(best - tl.max(best, 0))
    result = tl.sum(mixed * weight[:, None], 0) / tl.sum(sums * weight, 0)
    tl.store(out + number * D + columns, result)


def place_by_place(q, k_pages, v_pages, table, lengths, out):
    """From the last page to the first, on a grid with one axis; each place has a softmax of its own."""
    sequences, heads, d_head = q.shape
    strides = table.stride(0), k_pages.stride(0), k_pages.stride(1), k_pages.stride(2)
    _place_by_place[(sequences * heads,)](
        q, k_pages, v_pages, table, lengths, out, heads, d_head**-0.5, *strides,
        PAGE=k_pages.shape[1], D=d_head,
    )  # fmt: skip


@triton.jit
def _full_pages_first(
    Q, K, V, Table, Lengths, Out, sm_scale, stride_t, stride_p, stride_i, stride_h,
    D: tl.constexpr, PAGE: tl.constexpr,
):  # fmt: skip
    b, h, H = tl.program_id(1), tl.program_id(0), tl.num_programs(0)
    T = tl.load(Lengths + b)
    offs = tl.arange(0, PAGE)[:, None] * stride_i + h * stride_h + tl.arange(0, D)[None, :]
    q = tl.load(Q + (b * H + h) * D + tl.arange(0, D)) * sm_scale
    m = -1e30
    d = 0.0
    o = tl.zeros([D], dtype=tl.float32)
    for n in range(T // PAGE):
        page = tl.load(Table + b * stride_t + n)
        s = tl.sum(tl.load(K + page * stride_p + offs) * q[None, :], axis=1)
        m_new = tl.maximum(m, tl.max(s))
        p = tl.exp(s - m_new)
        d = d * tl.exp(m - m_new) + tl.sum(p)
        o = o * tl.exp(m - m_new) + tl.sum(tl.load(V + page * stride_p + offs) * p[:, None], axis=0)
        m = m_new
    rest = T % PAGE
    if rest > 0:
        page = tl.load(Table + b * stride_t + T // PAGE)
        mask = tl.arange(0, PAGE) < rest
        s = tl.sum(tl.load(K + page * stride_p + offs, mask=mask[:, None], other=0.0) * q[None, :], axis=1)
        s = tl.where(mask, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s))
        p = tl.exp(s - m_new)
        d = d * tl.exp(m - m_new) + tl.sum(p)
        v = tl.load(V + page * stride_p + offs, mask=mask[:, None], other=0.0)
        o = o * tl.exp(m - m_new) + tl.sum(v * p[:, None], axis=0)
    tl.store(Out + (b * H + h) * D + tl.arange(0, D), o / d)


def full_pages_first(q, k_pages, v_pages, table, lengths, out):
    """Full pages without a mask, then the rest of the last one; heads on axis 0 of the grid."""
    sequences, heads, d_head = q.shape
    strides = table.stride(0), k_pages.stride(0), k_pages.stride(1), k_pages.stride(2)
    _full_pages_first[(heads, sequences)](
        q, k_pages, v_pages, table, lengths, out, d_head**-0.5, *strides, D=d_head, PAGE=k_pages.shape[1]
    )
