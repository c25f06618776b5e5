"""Right answers to gated_delta_rule in other styles."""

import torch


class by_einsum:
    """Writes each sum with einsum, multiplies the gates row by row, and inverts the matrix of a chunk."""

    @staticmethod
    def gated_delta_step(q, k, v, gate, beta, state=None):
        if state is None:
            state = v.new_zeros(*v.shape, k.shape[-1])
        state = torch.einsum("bh,bhvk->bhvk", gate, state)
        missing = v - torch.einsum("bhvk,bhk->bhv", state, k)
        state = state + torch.einsum("bh,bhv,bhk->bhvk", beta, missing, k)
        return torch.einsum("bhvk,bhk->bhv", state, q), state

    @staticmethod
    def gated_delta_parallel(q, k, v, gate, beta):
        nothing = v.new_zeros(*v.shape[:2], v.shape[-1], k.shape[-1])
        return by_einsum._chunk(q, k, v, gate, beta, nothing)[0]

    @staticmethod
    def gated_delta_chunked(q, k, v, gate, beta, chunk_size, state=None):
        if state is None:
            state = v.new_zeros(*v.shape[:2], v.shape[-1], k.shape[-1])
        parts = []
        for chunk in zip(*(x.split(chunk_size, dim=2) for x in (q, k, v, gate, beta)), strict=True):
            result, state = by_einsum._chunk(*chunk, state)
            parts.append(result)
        return torch.cat(parts, 2), state

    @staticmethod
    def _chunk(q, k, v, gate, beta, state):
        rows = []
        for i in range(gate.shape[2]):
            left = torch.zeros_like(gate) if not rows else rows[-1] * gate[:, :, i, None]
            rows.append(left.index_fill(2, torch.tensor([i], device=gate.device), 1.0))
        decay, total = torch.stack(rows, 2), gate.cumprod(2)
        meets = torch.einsum("bhid,bhjd->bhij", k, k) * decay * beta[..., None]
        system = torch.eye(k.shape[2], dtype=k.dtype, device=k.device) + meets.tril(-1)
        asked = v - total[..., None] * torch.einsum("bhvk,bhik->bhiv", state, k)
        writes = torch.einsum("bhij,bhjv->bhiv", torch.linalg.inv(system), beta[..., None] * asked)
        reads = torch.einsum("bhid,bhjd->bhij", q, k) * decay
        result = total[..., None] * torch.einsum("bhvk,bhik->bhiv", state, q)
        result = result + torch.einsum("bhij,bhjv->bhiv", reads, writes)
        state = total[:, :, -1, None, None] * state
        return result, state + torch.einsum("bhj,bhjv,bhjk->bhvk", decay[:, :, -1], writes, k)


class with_w_and_u:
    """Another way: as in the paper, solve once for keys and values together, before the state is known."""

    @staticmethod
    def gated_delta_step(q, k, v, gate, beta, state=None):
        fresh = beta[..., None, None] * v.unsqueeze(-1) * k.unsqueeze(-2)
        if state is not None:
            turn = torch.eye(k.shape[-1], dtype=k.dtype, device=k.device)
            turn = turn - beta[..., None, None] * k.unsqueeze(-1) * k.unsqueeze(-2)
            fresh = fresh + gate[..., None, None] * (state @ turn)
        return (fresh * q.unsqueeze(-2)).sum(-1), fresh

    @staticmethod
    def gated_delta_parallel(q, k, v, gate, beta):
        return with_w_and_u.gated_delta_chunked(q, k, v, gate, beta, q.shape[2])[0]

    @staticmethod
    def gated_delta_chunked(q, k, v, gate, beta, chunk_size, state=None):
        state = torch.zeros_like(v[:, :, 0, :, None] * k[:, :, 0, None, :]) if state is None else state
        out = torch.empty_like(v)
        for i in range(0, q.shape[2], chunk_size):
            at = slice(i, i + chunk_size)
            rows, keys, rates = q[:, :, at], k[:, :, at], beta[:, :, at, None]
            spans = gate[:, :, at].log().cumsum(-1).unsqueeze(-1)
            later = torch.ones(keys.shape[2], keys.shape[2], dtype=torch.bool, device=k.device).triu(1)
            decay = (spans - spans.mT).masked_fill(later, float("-inf")).exp()
            system = (rates * (decay * (keys @ keys.mT))).tril(-1)
            both = rates * torch.cat([spans.exp() * keys, v[:, :, at]], dim=-1)
            both = torch.linalg.solve_triangular(system, both, upper=False, unitriangular=True)
            w, u = both.split([k.shape[-1], v.shape[-1]], dim=-1)
            writes = u - w @ state.mT
            out[:, :, at] = spans.exp() * (rows @ state.mT) + ((rows @ keys.mT) * decay) @ writes
            state = spans[:, :, -1:].exp() * state + (writes * decay[:, :, -1, :, None]).mT @ keys
        return out, state


class row_by_row:
    """Each token of a chunk is solved after those before it; states of earlier chunks are read once."""

    @staticmethod
    def gated_delta_step(q, k, v, gate, beta, state=None):
        if state is None:
            state = torch.zeros(*v.shape, k.shape[-1], dtype=v.dtype, device=v.device)
        kept = state * gate.unsqueeze(-1).unsqueeze(-1)
        error = torch.matmul(kept, k.unsqueeze(-1)) - v.unsqueeze(-1)
        new = kept - beta.unsqueeze(-1).unsqueeze(-1) * error * k.unsqueeze(-2)
        return torch.matmul(new, q.unsqueeze(-1)).squeeze(-1), new

    @staticmethod
    def gated_delta_parallel(q, k, v, gate, beta):
        writes = []
        for i in range(q.shape[2]):
            held = torch.zeros_like(v[:, :, i])
            for j, write in enumerate(writes):
                left = gate[:, :, j + 1 : i + 1].prod(-1) * (k[:, :, i] * k[:, :, j]).sum(-1)
                held = held + left[..., None] * write
            writes.append(beta[:, :, i, None] * (v[:, :, i] - held))
        results = []
        for i in range(q.shape[2]):
            result = torch.zeros_like(v[:, :, i])
            for j in range(i + 1):
                left = gate[:, :, j + 1 : i + 1].prod(-1) * (q[:, :, i] * k[:, :, j]).sum(-1)
                result = result + left[..., None] * writes[j]
            results.append(result)
        return torch.stack(results, 2)

    @staticmethod
    def gated_delta_chunked(q, k, v, gate, beta, chunk_size, state=None):
        if state is None:
            state = torch.zeros(*v.shape[:2], v.shape[3], k.shape[3], dtype=v.dtype, device=v.device)
        results = []
        for start in range(0, q.shape[2], chunk_size):
            end = min(start + chunk_size, q.shape[2])
            writes = v.new_zeros(*v.shape[:2], 0, v.shape[3])
            left = gate.new_ones(*gate.shape[:2], 0)
            total = torch.ones_like(gate[:, :, 0])
            for i in range(start, end):
                total, left = total * gate[:, :, i], left * gate[:, :, i, None]
                key, query = k[:, :, i, None], q[:, :, i, None]
                held = total[..., None, None] * (key @ state.mT)
                held = held + (left[:, :, None] * (key @ k[:, :, start:i].mT)) @ writes
                writes = torch.cat([writes, beta[:, :, i, None, None] * (v[:, :, i, None] - held)], 2)
                left = torch.cat([left, torch.ones_like(total)[..., None]], 2)
                near = (left[:, :, None] * (query @ k[:, :, start : i + 1].mT)) @ writes
                results.append((total[..., None, None] * (query @ state.mT) + near)[:, :, 0])
            state = total[..., None, None] * state + (left[..., None] * writes).mT @ k[:, :, start:end]
        return torch.stack(results, 2), state
