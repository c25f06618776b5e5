"""Softmax with the online normalizer of Milakov and Gimelshein 2018, algorithm 3, one program a row."""

import triton
import triton.language as tl

LOWEST = tl.constexpr(-3e38)  # finite, so that the difference of two maxima is a number


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, BLOCK)  # [BLOCK]
    maximum = LOWEST
    total = 0.0
    for start in range(0, columns, BLOCK):
        at = start + lanes  # [BLOCK]
        x = tl.load(x_row + at, mask=at < columns, other=-float("inf"))  # [BLOCK]
        larger = tl.maximum(maximum, tl.max(x, axis=0))  # []
        change = tl.exp(maximum - larger)  # []
        total = change * total + tl.sum(tl.exp(x - larger), axis=0)  # []
        maximum = larger
    for begin in range(0, columns, BLOCK):
        column = begin + lanes  # [BLOCK]
        entries = tl.load(x_row + column, mask=column < columns)  # [BLOCK]
        tl.store(out_row + column, tl.exp(entries - maximum) / total, mask=column < columns)


def online_softmax(x, out, block):
    rows, columns = x.shape
    grid = (rows,)
    softmax_kernel[grid](x, out, columns, x.stride(0), out.stride(0), BLOCK=block)
