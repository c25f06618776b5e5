"""Krell et al. 2021; Dubey et al. 2024, section 3.2, in PyTorch."""

import torch


def packed_mask(document_ids: torch.Tensor) -> torch.Tensor:
    queries, keys = document_ids[:, :, None], document_ids[:, None, :]  # [B, T, 1], [B, 1, T]
    mask = (queries == keys) & (queries >= 0)  # [B, T, T]
    return mask.tril()[:, None]  # [B, 1, T, T]


def packed_positions(document_ids: torch.Tensor) -> torch.Tensor:
    places = torch.arange(document_ids.shape[1], device=document_ids.device)  # [T]
    first_places = torch.zeros(document_ids.shape, dtype=torch.int64, device=document_ids.device)  # [B, T]
    begins = document_ids[:, 1:] != document_ids[:, :-1]  # [B, T-1]
    first_places[:, 1:] = (begins * places[1:]).cummax(dim=1).values
    return places - first_places  # [B, T]


def packed_targets(ids: torch.Tensor, document_ids: torch.Tensor, ignore_index: int = -100) -> torch.Tensor:
    goes_on = (document_ids[:, 1:] == document_ids[:, :-1]) & (document_ids[:, 1:] >= 0)  # [B, T-1]
    targets = torch.full(ids.shape, ignore_index, dtype=torch.int64, device=ids.device)  # [B, T]
    targets[:, :-1] = ids[:, 1:].long().where(goes_on, ignore_index)
    return targets  # [B, T]
