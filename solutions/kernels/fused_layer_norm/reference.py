"""Layer norm with one program a row: Ba, Kiros and Hinton 2016, section 3."""

import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(
    x_ptr,
    gamma_ptr,
    beta_ptr,
    out_ptr,
    x_stride,
    out_stride,
    columns,
    eps,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)  # [BLOCK]
    inside = at < columns  # [BLOCK]
    x = tl.load(x_ptr + row * x_stride + at, mask=inside, other=0.0).to(tl.float32)  # [BLOCK]
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(inside, x - mean, 0.0)  # [BLOCK]
    variance = tl.sum(centred * centred, axis=0) / columns
    gamma = tl.load(gamma_ptr + at, mask=inside)  # [BLOCK]
    beta = tl.load(beta_ptr + at, mask=inside)  # [BLOCK]
    result = gamma * centred / tl.sqrt(variance + eps) + beta  # [BLOCK]
    tl.store(out_ptr + row * out_stride + at, result, mask=inside)


def fused_layer_norm(x, gamma, beta, out, eps):
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    strides = x.stride(0), out.stride(0)
    layer_norm_kernel[(rows,)](x, gamma, beta, out, *strides, columns, eps, BLOCK=block)
