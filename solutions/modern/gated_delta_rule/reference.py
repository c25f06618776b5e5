"""Yang, Kautz and Hatamizadeh 2025: the three forms of the gated delta rule."""

import torch


def gated_delta_step(q, k, v, gate, beta, state=None):
    """One token after those that the state has seen."""
    state = empty_state(k, v) if state is None else state  # [B, H, d_v, d_k]
    faded = gate[..., None, None] * state  # [B, H, d_v, d_k]
    held = (faded @ k[..., None]).squeeze(-1)  # [B, H, d_v]
    write = beta[..., None] * (v - held)  # [B, H, d_v]
    state = faded + write[..., None] * k[..., None, :]  # [B, H, d_v, d_k]
    return (state @ q[..., None]).squeeze(-1), state  # [B, H, d_v]


def gated_delta_parallel(q, k, v, gate, beta):
    """All tokens at once: one triangular system."""
    decay = decays(gate)  # [B, H, T, T]
    erased = (beta[..., None] * decay * (k @ k.mT)).tril(-1)  # [B, H, T, T]
    writes = solve(erased, beta[..., None] * v)  # [B, H, T, d_v]
    return (decay * (q @ k.mT)) @ writes  # [B, H, T, d_v]


def gated_delta_chunked(q, k, v, gate, beta, chunk_size, state=None):
    """A triangular system within each chunk, the state from chunk to chunk."""
    state = empty_state(k, v) if state is None else state  # [B, H, d_v, d_k]
    results = []
    for start in range(0, q.shape[-2], chunk_size):
        part = slice(start, start + chunk_size)
        rows, keys, values = q[..., part, :], k[..., part, :], v[..., part, :]  # [B, H, C, d]
        gates, rates = gate[..., part, None], beta[..., part, None]  # [B, H, C, 1]
        total, decay = gates.cumprod(dim=-2), decays(gates[..., 0])  # [B, H, C, 1], [B, H, C, C]
        erased = (rates * decay * (keys @ keys.mT)).tril(-1)  # [B, H, C, C]
        held = total * (keys @ state.mT)  # [B, H, C, d_v]
        writes = solve(erased, rates * (values - held))  # [B, H, C, d_v]
        before = total * (rows @ state.mT)  # [B, H, C, d_v]
        results.append(before + (decay * (rows @ keys.mT)) @ writes)  # [B, H, C, d_v]
        kept = decay[..., -1, :, None] * keys  # [B, H, C, d_k]
        state = total[..., -1:, :] * state + writes.mT @ kept  # [B, H, d_v, d_k]
    return torch.cat(results, dim=-2), state  # [B, H, T, d_v]


def decays(gate):
    """How much of what token j wrote is left at token i, zero for later tokens."""
    total = gate.log().cumsum(dim=-1)  # [B, H, C]
    spans = total[..., :, None] - total[..., None, :]  # [B, H, C, C]
    return spans.tril().exp().tril()  # [B, H, C, C]


def solve(lower, right):
    """The solution of (I + lower) x = right."""
    return torch.linalg.solve_triangular(lower, right, upper=False, unitriangular=True)  # as right


def empty_state(k, v):
    """The state before the first token."""
    return k.new_zeros(*k.shape[:2], v.shape[-1], k.shape[-1])  # [B, H, d_v, d_k]
