"""Padding masks by broadcasting, in PyTorch."""

import torch


def padding_mask(ids: torch.Tensor, pad_id: int) -> torch.Tensor:
    return ids != pad_id  # [B, T]


def decoder_self_mask(ids: torch.Tensor, pad_id: int) -> torch.Tensor:
    tokens = ids.shape[1]
    causal = torch.ones(tokens, tokens, dtype=torch.bool, device=ids.device).tril()  # [T, T]
    return cross_mask(ids, ids, pad_id) & causal  # [B, 1, T, T]


def cross_mask(tgt_ids: torch.Tensor, src_ids: torch.Tensor, pad_id: int) -> torch.Tensor:
    queries = padding_mask(tgt_ids, pad_id)[:, None, :, None]  # [B, 1, T_tgt, 1]
    keys = padding_mask(src_ids, pad_id)[:, None, None, :]  # [B, 1, 1, T_src]
    return queries & keys  # [B, 1, T_tgt, T_src]
