"""Softmax with one program a row, as in Triton's tutorial "Fused Softmax"."""

import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)  # [BLOCK]
    inside = at < columns  # [BLOCK]
    scores = tl.load(x_ptr + row * x_stride + at, mask=inside, other=-float("inf"))  # [BLOCK]
    powers = tl.exp(scores - tl.max(scores, axis=0))  # [BLOCK]
    result = powers / tl.sum(powers, axis=0)  # [BLOCK]
    tl.store(out_ptr + row * out_stride + at, result, mask=inside)


def row_softmax(x, out):
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    softmax_kernel[(rows,)](x, out, x.stride(0), out.stride(0), columns, BLOCK=block)
