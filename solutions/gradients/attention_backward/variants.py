"""Right answers to attention_backward in other styles."""

import torch


def keys_in_the_outer_loop(dout, q, k, v, out, lse, block_size, causal=False):
    """As in the paper: keys outside, dk and dv of a block complete before the next one."""
    past = k.size(-2) - q.size(-2)
    scaled = q * q.size(-1) ** -0.5
    delta = torch.einsum("...d,...d->...", dout, out)
    dq, dks, dvs = torch.zeros_like(q), [], []
    for j, (kc, vc) in enumerate(zip(k.split(block_size, dim=-2), v.split(block_size, dim=-2), strict=True)):
        dkc, dvc = torch.zeros_like(kc), torch.zeros_like(vc)
        for i, (qc, doc) in enumerate(
            zip(scaled.split(block_size, dim=-2), dout.split(block_size, dim=-2), strict=True)
        ):
            low, high = i * block_size, i * block_size + qc.size(-2)
            gap = past + low - j * block_size
            if causal and gap + qc.size(-2) <= 0:
                continue
            p = torch.exp(torch.einsum("...id,...jd->...ij", qc, kc) - lse[..., low:high].unsqueeze(-1))
            if causal and gap < kc.size(-2) - 1:
                p = p.tril(gap)
            dvc += torch.einsum("...ij,...id->...jd", p, doc)
            ds = p * (torch.einsum("...id,...jd->...ij", doc, vc) - delta[..., low:high].unsqueeze(-1))
            dkc += torch.einsum("...ij,...id->...jd", ds, qc)
            dq[..., low:high, :] += torch.einsum("...ij,...jd->...id", ds, kc)
        dks.append(dkc)
        dvs.append(dvc)
    return dq * q.size(-1) ** -0.5, torch.cat(dks, dim=-2), torch.cat(dvs, dim=-2)


def one_pass_for_each_side(dout, q, k, v, out, lse, block_size, causal=False):
    """Another way: two passes, in which nothing is added to what another block has written.

    First dq, with queries outside; then dk and dv, with keys outside. The scores are computed twice.
    """
    d = q.shape[-1] ** 0.5
    offset = k.shape[-2] - q.shape[-2]
    delta = (dout * out).sum(-1)

    def block(i, j):
        rows, columns = slice(i, i + block_size), slice(j, j + block_size)
        logits = q[..., rows, :] @ k[..., columns, :].transpose(-1, -2) / d
        p = torch.exp(logits - lse[..., rows].unsqueeze(-1))
        if causal:
            r = torch.arange(i, i + logits.shape[-2], device=q.device).view(-1, 1) + offset
            c = torch.arange(j, j + logits.shape[-1], device=q.device).view(1, -1)
            p = torch.where(c <= r, p, torch.zeros_like(p))
        gap = dout[..., rows, :] @ v[..., columns, :].transpose(-1, -2) - delta[..., rows].unsqueeze(-1)
        return p, p * gap / d, rows, columns

    def visible(i, j):
        return not causal or j <= min(i + block_size, q.shape[-2]) - 1 + offset

    dq, dk, dv = [], [], []
    for i in range(0, q.shape[-2], block_size):
        total = 0
        for j in range(0, k.shape[-2], block_size):
            if visible(i, j):
                _, ds, _, columns = block(i, j)
                total = total + ds @ k[..., columns, :]
        dq.append(total)
    for j in range(0, k.shape[-2], block_size):
        for_k, for_v = torch.zeros_like(k[..., j : j + block_size, :]), 0 * v[..., j : j + block_size, :]
        for i in range(0, q.shape[-2], block_size):
            if visible(i, j):
                p, ds, rows, _ = block(i, j)
                for_k, for_v = for_k + ds.mT @ q[..., rows, :], for_v + p.mT @ dout[..., rows, :]
        dk.append(for_k)
        dv.append(for_v)
    return tuple(torch.cat(parts, dim=-2) for parts in (dq, dk, dv))


def flat_and_in_place(dout, q, k, v, out, lse, block_size, causal=False):
    """All leading axes joined; bmm, baddbmm_ and one buffer that is worked on in place."""
    lead, (tq, d), (tk, dv_width) = q.shape[:-2], q.shape[-2:], v.shape[-2:]
    q3, k3, v3 = q.reshape(-1, tq, d), k.reshape(-1, tk, d), v.reshape(-1, tk, dv_width)
    do3, l3 = dout.reshape(-1, tq, dv_width), lse.reshape(-1, tq, 1)
    dsum = (do3 * out.reshape(-1, tq, dv_width)).sum(2, keepdim=True)
    gq, gk, gv = torch.zeros_like(q3), torch.zeros_like(k3), torch.zeros_like(v3)
    for a in range(0, tq, block_size):
        b = min(a + block_size, tq)
        for c in range(0, tk, block_size):
            e = min(c + block_size, tk)
            if causal and c > b - 1 + tk - tq:
                break
            p = torch.bmm(q3[:, a:b], k3[:, c:e].transpose(1, 2)).mul_(1 / d**0.5).sub_(l3[:, a:b])
            if causal:
                p.add_(torch.full_like(p[0], -torch.inf).triu_(a + tk - tq - c + 1))
            p.exp_()
            gv[:, c:e].add_(torch.bmm(p.transpose(1, 2), do3[:, a:b]))
            dp = torch.bmm(do3[:, a:b], v3[:, c:e].transpose(1, 2)).sub_(dsum[:, a:b])
            p.mul_(dp)
            gq[:, a:b].add_(torch.bmm(p, k3[:, c:e]), alpha=1 / d**0.5)
            gk[:, c:e].add_(torch.bmm(p.transpose(1, 2), q3[:, a:b]), alpha=1 / d**0.5)
    return [g.reshape(*lead, *g.shape[1:]) for g in (gq, gk, gv)]
