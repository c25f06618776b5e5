"""Causal flash attention with queries in the outer loop, as in Dao 2023, algorithm 1."""

import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    tokens,
    scale,
    head_stride,
    token_stride,
    out_head_stride,
    out_token_stride,
    D: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    first = tl.program_id(0) * BLOCK_Q
    head = tl.program_id(1) * head_stride
    width = tl.arange(0, D)[None, :]  # [1, D]
    query = first + tl.arange(0, BLOCK_Q)[:, None]  # [BLOCK_Q, 1]
    q = tl.load(q_ptr + head + query * token_stride + width, mask=query < tokens, other=0.0)  # [BLOCK_Q, D]
    maximum = tl.full([BLOCK_Q], -float("inf"), tl.float32)  # [BLOCK_Q]
    total = tl.zeros([BLOCK_Q], tl.float32)  # [BLOCK_Q]
    output = tl.zeros([BLOCK_Q, D], tl.float32)  # [BLOCK_Q, D]
    seen = min(tokens, first + BLOCK_Q)
    for start in range(0, seen, BLOCK_K):
        key = start + tl.arange(0, BLOCK_K)[:, None]  # [BLOCK_K, 1]
        at = head + key * token_stride + width  # [BLOCK_K, D]
        k = tl.load(k_ptr + at, mask=key < tokens, other=0.0)  # [BLOCK_K, D]
        v = tl.load(v_ptr + at, mask=key < tokens, other=0.0)  # [BLOCK_K, D]
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # [BLOCK_Q, BLOCK_K]
        scores = tl.where(tl.trans(key) <= query, scores, -float("inf"))
        larger = tl.maximum(maximum, tl.max(scores, axis=1))  # [BLOCK_Q]
        powers = tl.exp(scores - larger[:, None])  # [BLOCK_Q, BLOCK_K]
        change = tl.exp(maximum - larger)  # [BLOCK_Q]
        total = change * total + tl.sum(powers, axis=1)
        output = change[:, None] * output + tl.dot(powers, v, input_precision="ieee")
        maximum = larger
    out_at = tl.program_id(1) * out_head_stride + query * out_token_stride + width  # [BLOCK_Q, D]
    tl.store(out_ptr + out_at, output / total[:, None], mask=query < tokens)


def flash_attention(q, k, v, out, block_q, block_k):
    heads, tokens, d_head = q.shape
    strides = q.stride(0), q.stride(1), out.stride(0), out.stride(1)
    grid = (triton.cdiv(tokens, block_q), heads)
    attention_kernel[grid](
        q, k, v, out, tokens, d_head**-0.5, *strides, D=d_head, BLOCK_Q=block_q, BLOCK_K=block_k
    )
