"""Frantar et al. 2023 and Lin et al. 2023, in PyTorch."""

import torch


def quantize_groups(weight: torch.Tensor, group_size: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    d_out, d_in = weight.shape
    if d_in % group_size:
        raise ValueError("group_size must divide d_in")
    grouped = weight.reshape(d_out, -1, group_size)  # [d_out, groups, group_size]
    low = grouped.amin(dim=-1, keepdim=True).clamp(max=0)  # [d_out, groups, 1]
    high = grouped.amax(dim=-1, keepdim=True).clamp(min=0)  # [d_out, groups, 1]
    scale = ((high - low) / 15).where(high != low, 1.0)  # [d_out, groups, 1]
    zero = (-low / scale).round()  # [d_out, groups, 1]
    codes = ((grouped / scale).round() + zero).clamp(0, 15)  # [d_out, groups, group_size]
    return codes.reshape(d_out, d_in).to(torch.uint8), scale[..., 0], zero[..., 0].to(torch.uint8)


def pack_codes(codes: torch.Tensor) -> torch.Tensor:
    if codes.shape[1] % 2:
        raise ValueError("d_in must be even")
    return codes[:, ::2] | codes[:, 1::2] << 4  # [d_out, d_in / 2]


def unpack_codes(packed: torch.Tensor) -> torch.Tensor:
    return torch.stack([packed & 15, packed >> 4], dim=-1).flatten(1)  # [d_out, d_in]


def int4_linear(
    x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor
) -> torch.Tensor:
    codes = unpack_codes(packed).to(x.dtype)  # [d_out, d_in]
    grouped = codes.reshape(*scale.shape, -1)  # [d_out, groups, group_size]
    weight = (grouped - zero[..., None]) * scale[..., None]  # [d_out, groups, group_size]
    return x @ weight.reshape(codes.shape).T  # [..., d_out]
