"""Open Compute Project 2023, OCP Microscaling Formats (MX) Specification 1.0."""

import numpy as np

SIZES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=np.float32)
VALUES = np.concatenate([SIZES, -SIZES])  # of the codes 0 to 15


def encode_e2m1(numbers):
    size = np.abs(numbers).clip(max=6)
    above_2 = np.where(size < 4, 2 + np.rint(size), 4 + np.rint(size / 2))  # steps of 1, of 2
    code = np.where(size < 2, np.rint(2 * size), above_2)  # steps of a half
    return code.astype(np.uint8) | np.signbit(numbers).astype(np.uint8) << 3


def quantize_mxfp4(x, block_size=32):
    if x.shape[-1] % block_size:
        raise ValueError("block_size must divide the length of a row")
    blocks = x.reshape(*x.shape[:-1], -1, block_size)  # [..., blocks, block_size]
    largest = np.abs(blocks).max(axis=-1)  # [..., blocks]
    exponent = np.frexp(largest)[1] - 1  # [..., blocks], floor(log2(largest))
    shared = np.where(largest == 0, -127, exponent - 2).clip(-127, 127)  # [..., blocks]
    codes = encode_e2m1(np.ldexp(blocks, -shared[..., None]))  # [..., blocks, block_size]
    return codes.reshape(x.shape), (shared + 127).astype(np.uint8)


def dequantize_mxfp4(codes, scales):
    values = VALUES[codes].reshape(*scales.shape, -1)  # [..., blocks, block_size]
    exponent = scales[..., None].astype(np.int32) - 127  # [..., blocks, 1]
    return np.ldexp(values, exponent).reshape(codes.shape)  # [..., n]
