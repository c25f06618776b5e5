"""Right answers to expert_capacity in other styles."""

import torch


class token_by_token:
    """Loops with a counter for each expert, as the statement says it."""

    @staticmethod
    def expert_capacity(num_tokens, num_experts, top_k, factor):
        whole = int(factor * num_tokens * top_k / num_experts)
        return whole if whole == factor * num_tokens * top_k / num_experts else whole + 1

    @staticmethod
    def route_tokens(scores, bias, top_k, capacity):
        if top_k < 1 or top_k > len(bias):
            raise ValueError("top_k must lie between 1 and the number of experts")
        taken = [0] * len(bias)
        all_experts, all_slots, all_weights = [], [], []
        for row, sums in zip(scores, (scores + bias).tolist(), strict=True):
            experts = sorted(range(len(sums)), key=lambda e: (-sums[e], e))[:top_k]
            total = sum(row[e] for e in experts)
            slots, weights = [], []
            for e in experts:
                free = taken[e] < capacity
                slots.append(taken[e] if free else -1)
                weights.append(row[e] / total if free else torch.zeros_like(total))
                taken[e] += free
            all_experts.append(experts)
            all_slots.append(slots)
            all_weights.append(torch.stack(weights))
        device = scores.device
        experts, slots = (torch.tensor(x, device=device) for x in (all_experts, all_slots))
        return experts, slots, torch.stack(all_weights)

    @staticmethod
    def update_bias(bias, experts, rate):
        picks = experts.flatten().tolist()
        mean = len(picks) / len(bias)
        moved = bias.clone()
        for e in range(len(bias)):
            load = picks.count(e)
            if load != mean:
                moved[e] += rate if load < mean else -rate
        return moved


class by_sorting_the_picks:
    """Another way: sort all picks by their expert; a place is the distance to the first of this expert."""

    @staticmethod
    def expert_capacity(num_tokens, num_experts, top_k, factor):
        return int(-(-factor * num_tokens * top_k // num_experts))

    @staticmethod
    def route_tokens(scores, bias, top_k, capacity):
        if top_k not in range(1, scores.shape[1] + 1):
            raise ValueError(f"top_k={top_k} of {scores.shape[1]} experts")
        experts = torch.argsort(-(scores + bias[None]), dim=1, stable=True)[:, :top_k]
        flat = experts.reshape(-1)
        by_expert = flat.argsort(stable=True)
        loads = torch.zeros(scores.shape[1], dtype=torch.int64, device=scores.device)
        loads = loads.scatter_add(0, flat, torch.ones_like(flat))
        starts = loads.cumsum(0) - loads
        places = torch.arange(len(flat), device=scores.device) - starts[flat[by_expert]]
        slots = torch.empty_like(flat).scatter(0, by_expert, places).view(experts.shape)
        kept = slots < capacity
        picked = torch.take_along_dim(scores, experts, dim=1)
        weights = kept * (picked / picked.sum(1, keepdim=True))
        return experts, torch.where(kept, slots, -torch.ones_like(slots)), weights

    @staticmethod
    def update_bias(bias, experts, rate):
        loads = torch.zeros_like(bias)
        loads = loads.index_add(0, experts.reshape(-1), bias.new_ones(experts.numel()))
        return bias + rate * torch.sign(loads.mean() - loads)


class one_pick_after_the_other:
    """The largest sum that is left, k times; all picks as a mask of experts."""

    @staticmethod
    def expert_capacity(num_tokens, num_experts, top_k, factor):
        room = 1
        while room * num_experts < factor * num_tokens * top_k:
            room += 1
        return room

    @staticmethod
    def route_tokens(scores, bias, top_k, capacity):
        num_experts = scores.shape[1]
        if not 0 < top_k <= num_experts:
            raise ValueError("no such top_k")
        left, index = scores + bias, torch.arange(num_experts, device=scores.device)
        masks = []
        for _ in range(top_k):
            largest = left == left.max(dim=1, keepdim=True).values
            first = torch.where(largest, index, num_experts).min(dim=1, keepdim=True).values
            masks.append(index == first)
            left = left.masked_fill(masks[-1], float("-inf"))
        picks = torch.stack(masks, dim=1)
        asked = picks.any(dim=1)
        place = asked.long().cumsum(0) - 1
        kept = asked & (place < capacity)
        shares = scores * asked / (scores * asked).sum(dim=1, keepdim=True)
        zero = torch.zeros_like(place)
        slots = torch.where(kept, place, zero - 1)[:, None].expand(picks.shape)
        experts = (picks * index).sum(-1)
        return experts, (picks * slots).sum(-1), (picks * (shares * kept)[:, None]).sum(-1)

    @staticmethod
    def update_bias(bias, experts, rate):
        index = torch.arange(len(bias), device=bias.device)
        loads = (experts[..., None] == index).sum(dim=(0, 1))
        above, below = loads * len(bias) > experts.numel(), loads * len(bias) < experts.numel()
        return bias - rate * above.to(bias.dtype) + rate * below.to(bias.dtype)
