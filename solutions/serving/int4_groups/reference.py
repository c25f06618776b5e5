"""Frantar et al. 2023 and Lin et al. 2023: groups of inputs, a scale and a zero point for each."""

import numpy as np


def quantize_groups(weight, group_size):
    d_out, d_in = weight.shape
    if d_in % group_size:
        raise ValueError("group_size must divide d_in")
    grouped = weight.reshape(d_out, -1, group_size)  # [d_out, groups, group_size]
    low = grouped.min(axis=-1, keepdims=True).clip(max=0)  # [d_out, groups, 1]
    high = grouped.max(axis=-1, keepdims=True).clip(min=0)  # [d_out, groups, 1]
    scale = np.where(high == low, 1, (high - low) / 15)  # [d_out, groups, 1]
    zero = np.rint(-low / scale)  # [d_out, groups, 1]
    codes = (np.rint(grouped / scale) + zero).clip(0, 15)  # [d_out, groups, group_size]
    return codes.reshape(d_out, d_in).astype(np.uint8), scale[..., 0], zero[..., 0].astype(np.uint8)


def pack_codes(codes):
    if codes.shape[1] % 2:
        raise ValueError("d_in must be even")
    return codes[:, ::2] | codes[:, 1::2] << 4  # [d_out, d_in / 2]


def unpack_codes(packed):
    pairs = np.stack([packed & 15, packed >> 4], axis=-1)  # [d_out, d_in / 2, 2]
    return pairs.reshape(len(packed), -1)  # [d_out, d_in]


def int4_linear(x, packed, scale, zero):
    codes = unpack_codes(packed).astype(x.dtype)  # [d_out, d_in]
    grouped = codes.reshape(*scale.shape, -1)  # [d_out, groups, group_size]
    weight = (grouped - zero[..., None]) * scale[..., None]  # [d_out, groups, group_size]
    return x @ weight.reshape(codes.shape).T  # [..., d_out]
