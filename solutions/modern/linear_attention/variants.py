"""Right answers to linear_attention in other styles."""

import torch


class by_einsum:
    """Sums by their axes; the feature map by its two cases."""

    @staticmethod
    def linear_attention_parallel(q, k, v):
        weights = torch.einsum("bhid,bhjd->bhij", _map(q), _map(k))
        weights = weights * torch.ones(weights.shape[-2:], dtype=v.dtype, device=v.device).tril()
        return torch.einsum("bhij,bhjv->bhiv", weights / weights.sum(-1, keepdim=True), v)

    @staticmethod
    def linear_attention_step(q, k, v, state=None):
        q, k = _map(q), _map(k)
        s, z = torch.einsum("bhd,bhv->bhdv", k, v), k
        if state is not None:
            s, z = s + state[0], z + state[1]
        below = torch.einsum("bhd,bhd->bh", q, z)
        return torch.einsum("bhd,bhdv->bhv", q, s) / below[..., None], (s, z)

    @staticmethod
    def linear_attention_chunked(q, k, v, chunk_size, state=None):
        parts = []
        for a, b, c in zip(*(x.split(chunk_size, dim=2) for x in (q, k, v)), strict=True):
            a, b = _map(a), _map(b)
            weights = torch.einsum("bhid,bhjd->bhij", a, b).tril_()
            above, below = torch.einsum("bhij,bhjv->bhiv", weights, c), weights.sum(-1)
            s, z = torch.einsum("bhjd,bhjv->bhdv", b, c), b.sum(2)
            if state is not None:
                above = above + torch.einsum("bhid,bhdv->bhiv", a, state[0])
                below = below + torch.einsum("bhid,bhd->bhi", a, state[1])
                s, z = s + state[0], z + state[1]
            parts.append(above / below.unsqueeze(-1))
            state = s, z
        return torch.cat(parts, 2), state


def _map(x):
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


class with_a_column_of_ones:
    """Another way: give the values a column of ones, whose result is the denominator."""

    @staticmethod
    def linear_attention_parallel(q, k, v):
        both = (_map(q) @ _map(k).transpose(-1, -2)).tril() @ _with_ones(v)
        return both[..., :-1] / both[..., -1:]

    @staticmethod
    def linear_attention_step(q, k, v, state=None):
        result, state = with_a_column_of_ones.linear_attention_chunked(
            q.unsqueeze(2), k.unsqueeze(2), v.unsqueeze(2), 1, state
        )
        return result.squeeze(2), state

    @staticmethod
    def linear_attention_chunked(q, k, v, chunk_size, state=None):
        joined = q.new_zeros(*q.shape[:2], q.shape[-1], v.shape[-1] + 1)
        if state is not None:
            joined = torch.cat([state[0], state[1].unsqueeze(-1)], dim=-1)
        results = q.new_empty(v.shape)
        for i in range(0, q.shape[2], chunk_size):
            part = slice(i, i + chunk_size)
            a, b, c = _map(q[:, :, part]), _map(k[:, :, part]), _with_ones(v[:, :, part])
            both = (a @ b.mT).tril() @ c + a @ joined
            results[:, :, part] = both[..., :-1] / both[..., -1:]
            joined = joined + b.mT @ c
        return results, (joined[..., :-1].clone(), joined[..., -1].clone())


def _with_ones(v):
    return torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)


class loops_in_the_parallel_form:
    """Query by query where all are asked for at once; states of all chunks first, then all results."""

    @staticmethod
    def linear_attention_parallel(q, k, v):
        q, k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
        rows = []
        for i in range(q.shape[2]):
            weights = (k[:, :, : i + 1] * q[:, :, i : i + 1]).sum(-1, keepdim=True)
            rows.append((weights * v[:, :, : i + 1]).sum(2) / weights.sum(2))
        return torch.stack(rows, dim=2)

    @staticmethod
    def linear_attention_step(q, k, v, state=None):
        q, k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
        if state is None:
            state = (torch.zeros(*k.shape, v.shape[-1], dtype=k.dtype, device=k.device), torch.zeros_like(k))
        s = state[0] + k.unsqueeze(-1) @ v.unsqueeze(-2)
        z = state[1].add(k)
        return torch.matmul(q.unsqueeze(-2), s)[..., 0, :] / torch.sum(q * z, -1, keepdim=True), (s, z)

    @staticmethod
    def linear_attention_chunked(q, k, v, chunk_size, state=None):
        q, k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
        if state is None:
            state = (
                k.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1]),
                k.new_zeros(*k.shape[:2], k.shape[-1]),
            )
        chunks = [*zip(q.split(chunk_size, 2), k.split(chunk_size, 2), v.split(chunk_size, 2), strict=True)]
        states = [state]
        for _, b, c in chunks:
            states.append((states[-1][0] + b.mT @ c, states[-1][1] + b.sum(2)))
        results = []
        for (a, b, c), (s, z) in zip(chunks, states, strict=False):
            weights = torch.tril(a @ b.mT)
            below = weights.sum(3, keepdim=True) + (a * z[:, :, None]).sum(3, keepdim=True)
            results.append((weights @ c + a @ s) / below)
        return torch.cat(results, dim=2), states[-1]
