"""PagedAttention (Kwon et al. 2023, equation 4) with the running softmax of Milakov and Gimelshein 2018."""

import triton
import triton.language as tl


@triton.jit
def decode_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    table_ptr,
    lengths_ptr,
    out_ptr,
    scale,
    heads,
    table_stride,
    page_stride,
    place_stride,
    head_stride,
    PAGE: tl.constexpr,
    D: tl.constexpr,
):
    sequence, head = tl.program_id(0), tl.program_id(1)
    place = tl.arange(0, PAGE)  # [PAGE]
    column = tl.arange(0, D)  # [D]
    row = (sequence * heads + head) * D + column  # [D]
    query = tl.load(q_ptr + row)  # [D]
    length = tl.load(lengths_ptr + sequence)  # []
    within = place[:, None] * place_stride + head * head_stride + column[None, :]  # [PAGE, D]
    maximum = -float("inf")
    total = 0.0
    output = tl.zeros([D], tl.float32)  # [D]
    for start in range(0, length, PAGE):
        page = tl.load(table_ptr + sequence * table_stride + start // PAGE)  # []
        filled = start + place < length  # [PAGE]
        at = page.to(tl.int64) * page_stride + within  # [PAGE, D]
        keys = tl.load(k_ptr + at, mask=filled[:, None], other=0.0)  # [PAGE, D]
        values = tl.load(v_ptr + at, mask=filled[:, None], other=0.0)  # [PAGE, D]
        scores = tl.sum(query[None, :] * keys, axis=1) * scale  # [PAGE]
        scores = tl.where(filled, scores, -float("inf"))
        larger = tl.maximum(maximum, tl.max(scores, axis=0))  # []
        powers = tl.exp(scores - larger)  # [PAGE]
        change = tl.exp(maximum - larger)  # []
        total = change * total + tl.sum(powers, axis=0)
        output = change * output + tl.sum(powers[:, None] * values, axis=0)
        maximum = larger
    tl.store(out_ptr + row, output / total)


def paged_decode(q, k_pages, v_pages, table, lengths, out):
    sequences, heads, d_head = q.shape
    strides = table.stride(0), k_pages.stride(0), k_pages.stride(1), k_pages.stride(2)
    decode_kernel[(sequences, heads)](
        q,
        k_pages,
        v_pages,
        table,
        lengths,
        out,
        d_head**-0.5,
        heads,
        *strides,
        PAGE=k_pages.shape[1],
        D=d_head,
    )
