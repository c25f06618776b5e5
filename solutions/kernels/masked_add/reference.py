"""Vector addition with one program a block, as in Triton's tutorial "Vector Addition"."""

import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # [BLOCK]
    inside = at < n  # [BLOCK]
    x = tl.load(x_ptr + at, mask=inside)  # [BLOCK]
    y = tl.load(y_ptr + at, mask=inside)  # [BLOCK]
    tl.store(out_ptr + at, x + y, mask=inside)


def masked_add(x, y, out, block):
    n = x.shape[0]
    grid = (triton.cdiv(n, block),)
    add_kernel[grid](x, y, out, n, BLOCK=block)
