"""Open Compute Project 2023, OCP Microscaling Formats (MX) Specification 1.0, in PyTorch."""

import torch

SIZES = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
VALUES = torch.cat([SIZES, -SIZES])  # of the codes 0 to 15


def encode_e2m1(numbers: torch.Tensor) -> torch.Tensor:
    size = numbers.abs().clamp(max=6)
    above_2 = torch.where(size < 4, 2 + size.round(), 4 + (size / 2).round())  # steps of 1, of 2
    code = torch.where(size < 2, (2 * size).round(), above_2)  # steps of a half
    return code.to(torch.uint8) | torch.signbit(numbers).to(torch.uint8) << 3


def quantize_mxfp4(x: torch.Tensor, block_size: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    if x.shape[-1] % block_size:
        raise ValueError("block_size must divide the length of a row")
    blocks = x.unflatten(-1, (-1, block_size)).double()  # [..., blocks, block_size]
    largest = blocks.abs().amax(dim=-1)  # [..., blocks]
    exponent = torch.frexp(largest).exponent - 1  # [..., blocks], floor(log2(largest))
    shared = torch.where(largest == 0, -127, exponent - 2).clamp(-127, 127)  # [..., blocks]
    codes = encode_e2m1(torch.ldexp(blocks, -shared[..., None]))  # [..., blocks, block_size]
    return codes.flatten(-2), (shared + 127).to(torch.uint8)


def dequantize_mxfp4(codes: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    values = VALUES.to(codes.device)[codes.int()].double()  # [..., n]
    values = values.unflatten(-1, (scales.shape[-1], -1))  # [..., blocks, block_size]
    exponent = scales[..., None].int() - 127  # [..., blocks, 1]
    return torch.ldexp(values, exponent).flatten(-2).float()  # [..., n]
