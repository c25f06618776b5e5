"""Right answers to mixture_of_experts in other styles."""

import torch
import torch.nn.functional as F
from torch import nn


class _Parameters(nn.Module):
    """The parameters; the styles differ in what they do with them."""

    def __init__(self, d_model, d_ff, num_experts, top_k):
        super().__init__()
        if top_k < 1 or top_k > num_experts:
            raise ValueError("top_k must be between 1 and num_experts")
        self.num_experts, self.top_k = num_experts, top_k
        self.router = nn.Linear(d_model, num_experts, bias=False)
        self.experts = nn.ModuleList(
            [
                nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
                for _ in range(num_experts)
            ]
        )


class one_hot_and_index_add(_Parameters):
    """Mixtral's code in Hugging Face's library, in other words: a softmax over all, renormalised; a one-hot
    mask of the choices; index_add_ in place."""

    def forward(self, x):
        batch, tokens, d_model = x.shape
        rows = x.reshape(-1, d_model)
        probabilities = F.softmax(self.router(rows), dim=1)
        weights, selected = torch.topk(probabilities, self.top_k, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        output = torch.zeros((batch * tokens, d_model), dtype=x.dtype, device=x.device)
        mask = F.one_hot(selected, num_classes=self.num_experts).permute(2, 1, 0)
        for e in range(self.num_experts):
            slot, row = torch.where(mask[e])
            if row.numel() == 0:
                continue
            output.index_add_(0, row, self.experts[e](rows[row]) * weights[row, slot, None])
        share = mask.to(x.dtype).sum(dim=(1, 2)) / (batch * tokens * self.top_k)
        return output.reshape(batch, tokens, d_model), self.num_experts * share @ probabilities.mean(0)


class token_by_token(_Parameters):
    """Every token and every choice by itself, in Python's loops; sort in place of topk."""

    def forward(self, x):
        outputs, counts, total = [], [0] * self.num_experts, 0
        for row in x.flatten(0, 1):
            logits = self.router.weight @ row
            order = logits.argsort(descending=True)[: self.top_k].tolist()
            weights = torch.stack([logits[e] for e in order]).softmax(0)
            outputs.append(sum(w * self.experts[e](row) for w, e in zip(weights, order, strict=True)))
            total = total + logits.softmax(0)
            for e in order:
                counts[e] += 1
        shares = x.new_tensor(counts) / sum(counts)
        loss = (shares * total / len(outputs)).sum() * self.num_experts
        return torch.stack(outputs).view_as(x), loss


class sorted_by_expert(_Parameters):
    """Another way: sort the choices by expert, run the pieces, and undo the sort.

    The choices sorted by expert, cut into pieces, run, and put back by the inverse order.
    """

    def forward(self, x):
        rows = x.reshape(-1, x.size(-1))
        logits = F.linear(rows, self.router.weight)
        top, chosen = logits.topk(self.top_k, sorted=False)
        order = chosen.flatten().argsort()
        sizes = chosen.flatten().bincount(minlength=self.num_experts).tolist()
        pieces = rows[order // self.top_k].split(sizes)
        given = torch.cat([expert(piece) for expert, piece in zip(self.experts, pieces, strict=True)])
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order), device=x.device)
        shared = given[back].view(*chosen.shape, -1)
        output = torch.einsum("nk,nkd->nd", top.softmax(-1), shared).view(x.shape)
        counts = torch.tensor(sizes, dtype=x.dtype, device=x.device)
        return output, self.num_experts * torch.dot(counts / len(order), logits.softmax(-1).mean(0))


class gathered_weights(_Parameters):
    """The chosen experts' matrices gathered for each token; batched products; no loop over tokens."""

    def forward(self, x):
        logits = self.router(x)
        lowest = logits.topk(self.top_k, dim=-1).values[..., -1:]
        probabilities = logits.masked_fill(logits < lowest, -torch.inf).softmax(-1)
        weights, chosen = probabilities.topk(self.top_k, dim=-1)
        w1, b1, w2, b2 = (
            torch.stack([getattr(expert[i], name) for expert in self.experts])[chosen]
            for i, name in ((0, "weight"), (0, "bias"), (2, "weight"), (2, "bias"))
        )
        hidden = torch.relu((w1 @ x[:, :, None, :, None]).squeeze(-1) + b1)
        given = (w2 @ hidden[..., None]).squeeze(-1) + b2
        counts = torch.zeros(self.num_experts, dtype=x.dtype, device=x.device)
        counts = counts.scatter_add(
            0, chosen.flatten(), torch.ones_like(x[..., :1]).expand_as(chosen).flatten()
        )
        even = logits.softmax(-1).mean((0, 1))
        return (weights.unsqueeze(-1) * given).sum(-2), (
            counts * even
        ).sum() * self.num_experts / chosen.numel()


class in_place_on_slices(_Parameters):
    """A boolean mask for each expert and slot, written into in place; float64 inside the loss."""

    def __init__(self, d_model: int, d_ff: int, num_experts: int, top_k: int) -> None:
        assert 1 <= top_k <= num_experts
        super().__init__(d_model, d_ff, num_experts, top_k)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = x.contiguous().view(-1, x.shape[2])
        logits = self.router(rows)
        top, chosen = torch.topk(logits, self.top_k)
        weights = (top - top.logsumexp(-1, keepdim=True)).exp()
        output, shares = rows.new_zeros(rows.shape), []
        for e, expert in enumerate(self.experts):
            hits = chosen == e
            shares.append(hits.double().mean())
            for slot in range(self.top_k):
                mask = hits[:, slot]
                if mask.any():
                    output[mask] += weights[mask, slot].unsqueeze(-1) * expert(rows[mask])
        even = logits.double().log_softmax(-1).exp().mean(0)
        loss = sum(share * even[e] for e, share in enumerate(shares)) * self.num_experts
        return output.view_as(x), loss.to(x.dtype)
