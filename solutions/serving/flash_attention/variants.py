"""Right answers to flash_attention in other styles."""

import math

import torch


def keys_in_the_outer_loop(q, k, v, block_size, causal=False):
    """Version 1 of the paper: keys outside, queries inside, the running values of all rows in place."""
    tq, tk = q.size(-2), k.size(-2)
    if causal:
        assert tk >= tq, "fewer keys than queries"
    out = torch.zeros(*q.shape[:-1], v.size(-1), dtype=q.dtype, device=q.device)
    row_sums = torch.zeros(*q.shape[:-1], 1, dtype=q.dtype, device=q.device)
    row_maxes = torch.full_like(row_sums, -torch.finfo(q.dtype).max)
    pieces = [t.split(block_size, dim=-2) for t in (q, out, row_sums, row_maxes)]
    for k_index, (kc, vc) in enumerate(
        zip(k.split(block_size, dim=-2), v.split(block_size, dim=-2), strict=True)
    ):
        for q_index, (qc, oc, sums, maxes) in enumerate(zip(*pieces, strict=True)):
            gap = q_index * block_size + tk - tq - k_index * block_size
            if causal and gap + qc.size(-2) <= 0:
                continue
            weights = torch.einsum("...id,...jd->...ij", qc, kc) * q.size(-1) ** -0.5
            if causal and gap < kc.size(-2) - 1:
                hidden = torch.ones(weights.shape[-2:], dtype=torch.bool, device=q.device).triu(gap + 1)
                weights.masked_fill_(hidden, -torch.finfo(q.dtype).max)
            new_maxes = torch.maximum(weights.amax(dim=-1, keepdim=True), maxes)
            powers = torch.exp(weights - new_maxes)
            change = torch.exp(maxes - new_maxes)
            sums.mul_(change).add_(powers.sum(dim=-1, keepdim=True))
            oc.mul_(change).add_(torch.einsum("...ij,...jd->...id", powers, vc))
            maxes.copy_(new_maxes)
    return out.div_(row_sums)


def divided_at_every_block(q, k, v, block_size, causal=False):
    """The output is an average at any time; sums are kept as logarithms."""
    past = k.shape[-2] - q.shape[-2]
    if causal and past < 0:
        raise ValueError("Tk < Tq")
    results = []
    for i in range(0, q.shape[-2], block_size):
        rows = q[..., i : i + block_size, :]
        log_sum, mean = None, None
        for j in range(0, k.shape[-2], block_size):
            if causal and j > past + i + rows.shape[-2] - 1:
                break
            scores = rows @ k[..., j : j + block_size, :].transpose(-1, -2) / math.sqrt(q.shape[-1])
            if causal:
                at = torch.arange(past + i, past + i + rows.shape[-2], device=q.device).unsqueeze(1)
                to = torch.arange(j, j + scores.shape[-1], device=q.device).unsqueeze(0)
                scores = torch.where(to <= at, scores, torch.tensor(-1e30, dtype=q.dtype, device=q.device))
            here, own = scores.logsumexp(-1, keepdim=True), scores.softmax(-1) @ v[..., j : j + block_size, :]
            if log_sum is None:
                log_sum, mean = here, own
            else:
                both = torch.logaddexp(log_sum, here)
                mean = mean * (log_sum - both).exp() + own * (here - both).exp()
                log_sum = both
        results.append(mean)
    return torch.cat(results, dim=-2)


def one_head_at_a_time(q, k, v, block_size, causal=False):
    """Leading axes flattened and looped over; the keys of a block from the last one to the first."""
    (*leading, tq, width), tk = q.shape, k.shape[-2]
    if causal and tk < tq:
        raise ValueError(f"{tk} < {tq}")
    out = torch.empty(math.prod(leading), tq, v.shape[-1], dtype=q.dtype, device=q.device)
    heads = [t.reshape(-1, *t.shape[-2:]) for t in (q, k, v)]
    for index, (hq, hk, hv) in enumerate(zip(*heads, strict=True)):
        for i in range(0, tq, block_size):
            rows = hq[i : i + block_size] * width**-0.5
            end = min(tk, tk - tq + i + len(rows)) if causal else tk
            best, total, mixed = None, 0.0, 0.0
            for j in reversed(range(0, end, block_size)):
                scores = rows @ hk[j : min(j + block_size, end)].T
                if causal:
                    mask = torch.ones_like(scores, dtype=torch.bool).tril(tk - tq + i - j)
                    scores[~mask] = torch.finfo(q.dtype).min / 2
                largest = scores.max(dim=1, keepdim=True).values
                new = largest if best is None else torch.maximum(best, largest)
                change = 0.0 if best is None else torch.exp(best - new)
                powers = torch.exp(scores - new)
                total = total * change + powers.sum(1, keepdim=True)
                mixed = mixed * change + powers @ hv[j : min(j + block_size, end)]
                best = new
            out[index, i : i + block_size] = mixed / total
    return out.reshape(*leading, tq, v.shape[-1])


def two_passes(q, k, v, block_size, causal=False):
    """First the largest score and the sum of each row, then the weights, block by block."""
    tq, tk, d_k = q.shape[-2], k.shape[-2], q.shape[-1]
    if causal and tk < tq:
        raise ValueError("causal needs at least as many keys as queries")

    def blocks(i):
        end = min(tk, tk - tq + min(tq, i + block_size)) if causal else tk
        for j in range(0, end, block_size):
            block = slice(j, min(end, j + block_size))
            scores = torch.matmul(q[..., i : i + block_size, :], k[..., block, :].mT) / d_k**0.5
            if causal:
                rows = torch.arange(i, i + scores.shape[-2], device=q.device)[:, None] + (tk - tq)
                columns = torch.arange(tk, device=q.device)[block]
                scores = scores.masked_fill(rows < columns, float("-inf"))
            yield scores, v[..., block, :]

    results = []
    for i in range(0, tq, block_size):
        largest = torch.stack([scores.amax(-1) for scores, _ in blocks(i)]).amax(0).unsqueeze(-1)
        total = sum(torch.exp(scores - largest).sum(-1, keepdim=True) for scores, _ in blocks(i))
        results.append(sum(torch.exp(scores - largest) / total @ values for scores, values in blocks(i)))
    return torch.concat(results, -2)


def in_one_buffer(q, k, v, block_size, causal=False):
    """One buffer for the scores of a block, all work in place; float32 is taken as it is."""
    tq, tk = q.shape[-2], k.shape[-2]
    if causal and tk < tq:
        raise ValueError
    out = q.new_zeros(q.shape[:-1] + v.shape[-1:])
    buffer = q.new_empty(*q.shape[:-2], min(block_size, tq), min(block_size, tk))
    for i in range(0, tq, block_size):
        rows, mixed = q[..., i : i + block_size, :], out[..., i : i + block_size, :]
        n = rows.shape[-2]
        best = q.new_full((*q.shape[:-2], n, 1), -torch.inf)
        total = q.new_zeros((*q.shape[:-2], n, 1))
        for j in range(0, min(tk, tk - tq + i + n) if causal else tk, block_size):
            m = min(block_size, tk - j)
            scores = buffer[..., :n, :m]
            scores.copy_(rows @ k[..., j : j + m, :].mT)
            scores *= q.shape[-1] ** -0.5
            for row in range(n if causal else 0):
                scores[..., row, max(0, tk - tq + i + row - j + 1) :] = -torch.inf
            new = torch.maximum(best, scores.amax(-1, keepdim=True))
            best.sub_(new).exp_()
            scores.sub_(new).exp_()
            total.mul_(best).add_(scores.sum(-1, keepdim=True))
            mixed.mul_(best).add_(scores @ v[..., j : j + m, :])
            best = new
        mixed.div_(total)
    return out
