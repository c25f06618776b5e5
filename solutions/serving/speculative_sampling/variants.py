"""Right answers to speculative_sampling in other styles."""

import torch
from torch.nn import functional as F


class as_gpt_fast_does:
    """All acceptances at once, the first refusal by nonzero; searchsorted draws."""

    @staticmethod
    def _draw(probs, u):
        return torch.searchsorted(probs.cumsum(0), u.reshape(1), right=True).clamp(max=len(probs) - 1)

    @staticmethod
    def speculative_step(target_probs, draft_probs, draft_ids, uniforms):
        """p is the draft and q the target."""
        k = draft_ids.shape[0]
        p = draft_probs[torch.arange(k), draft_ids]
        q = target_probs[torch.arange(k), draft_ids]
        accept_draft_prob = torch.minimum(torch.ones(()), q / p)
        rejected = (uniforms[:k] > accept_draft_prob).nonzero()
        if rejected.shape[0] == 0:
            return torch.cat([draft_ids, as_gpt_fast_does._draw(target_probs[-1], uniforms[k])])
        accept_length = int(rejected[0])
        new = target_probs[accept_length] - draft_probs[accept_length]
        new = torch.where(new > 0, new, 0.0)
        token = as_gpt_fast_does._draw(new / new.sum(), uniforms[k])
        return torch.cat([draft_ids[:accept_length], token])

    @staticmethod
    def speculative_generate(target, draft, prompt, max_new_tokens, num_draft, uniforms):
        """A buffer that is filled from the left, and one more run of the draft in each round."""
        start, end = len(prompt), len(prompt) + max_new_tokens
        seq = torch.empty(end + num_draft + 1, dtype=torch.int64)
        seq[:start] = prompt
        r = 0
        while start < end:
            probs = []
            for i in range(num_draft):
                probs.append(draft(seq[: start + i])[-1])
                seq[start + i] = as_gpt_fast_does._draw(probs[-1], uniforms[r, i])
            draft(seq[: start + num_draft])
            checked = target(seq[: start + num_draft])[-(num_draft + 1) :]
            ids, rest = seq[start : start + num_draft].clone(), uniforms[r, num_draft:]
            new = as_gpt_fast_does.speculative_step(checked, torch.stack(probs), ids, rest)
            seq[start : start + len(new)] = new
            start, r = start + len(new), r + 1
        return seq[:end]


class python_numbers:
    """Lists and Python's own floats; the ratio is multiplied out."""

    @staticmethod
    def _draw(probs, uniform):
        total = 0.0
        for token, prob in enumerate(probs):
            total += prob
            if total > uniform:
                return token
        return len(probs) - 1

    @staticmethod
    def speculative_step(target_probs, draft_probs, draft_ids, uniforms):
        """Token by token."""
        *checks, last = uniforms.tolist()
        tokens = []
        rows = zip(target_probs.tolist(), draft_probs.tolist(), draft_ids.tolist(), checks, strict=False)
        for p, q, token, uniform in rows:
            if uniform * q[token] < p[token]:
                tokens.append(token)
                continue
            rest = [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
            return torch.tensor([*tokens, python_numbers._draw([x / sum(rest) for x in rest], last)])
        return torch.tensor([*tokens, python_numbers._draw(target_probs[-1].tolist(), last)])

    @staticmethod
    def speculative_generate(target, draft, prompt, max_new_tokens, num_draft, uniforms):
        """A list of ids; the draft's rows are read again from one more run at the end."""
        text = prompt.tolist()
        for row in uniforms:
            if len(text) >= len(prompt) + max_new_tokens:
                break
            ids = list(text)
            for uniform in row[:num_draft].tolist():
                ids.append(python_numbers._draw(draft(torch.tensor(ids))[-1].tolist(), uniform))
            whole = torch.tensor(ids)
            p, q = target(whole)[len(text) - 1 :], draft(whole)[len(text) - 1 : -1]
            text += python_numbers.speculative_step(p, q, whole[len(text) :], row[num_draft:]).tolist()
        return torch.tensor(text[: len(prompt) + max_new_tokens])


def counts_by_cumprod(target_probs, draft_probs, draft_ids, uniforms):
    """The number accepted is a cumulative product; a row of zeros behind the draft makes one rule of two."""
    at = draft_ids.unsqueeze(-1)
    ratios = target_probs[:-1].gather(-1, at) / draft_probs.gather(-1, at)
    accepted = int((uniforms[:-1] < ratios.squeeze(-1)).long().cumprod(0).sum())
    rest = F.relu(target_probs - F.pad(draft_probs, (0, 0, 0, 1)))[accepted]
    token = (rest.cumsum(0) / rest.sum() > uniforms[-1]).int().argmax()
    return torch.cat((draft_ids[:accepted], token[None]))


def weighs_the_uniform(target_probs, draft_probs, draft_ids, uniforms):
    """The rest is not divided; the uniform is multiplied by its sum."""
    tokens = torch.empty(len(draft_ids) + 1, dtype=torch.long)
    for i in range(len(draft_ids)):
        token = draft_ids[i].item()
        if uniforms[i] > target_probs[i][token] / draft_probs[i][token]:
            weights = torch.maximum(target_probs[i] - draft_probs[i], torch.zeros_like(draft_probs[i]))
            break
        tokens[i] = token
    else:
        i, weights = len(draft_ids), target_probs[len(draft_ids)]
    sums = torch.cumsum(weights, dim=0)
    tokens[i] = torch.nonzero(sums > uniforms[len(draft_ids)] * sums[-1])[0, 0]
    return tokens[: i + 1]


def inline_rounds(target, draft, prompt, max_new_tokens, num_draft, uniforms):
    """The step is written out in the loop, in float64; gradients are off."""
    with torch.no_grad():
        ids, new, r = prompt.clone(), 0, 0
        while new < max_new_tokens:
            stream = uniforms[r].double()
            r += 1
            guesses, q = ids, []
            for j in range(num_draft):
                q.append(draft(guesses)[-1].double())
                guess = torch.sum(torch.cumsum(q[j], 0) <= stream[j])
                guesses = torch.hstack([guesses, guess])
            p = target(guesses).double()[len(ids) - 1 :]
            n = 0
            while (
                n < num_draft
                and stream[num_draft + n] * q[n][guesses[len(ids) + n]] < p[n][guesses[len(ids) + n]]
            ):
                n += 1
            weights = p[n] if n == num_draft else (p[n] - q[n]).relu()
            last = torch.sum(torch.cumsum(weights / weights.sum(), 0) <= stream[-1])
            ids = torch.hstack([guesses[: len(ids) + n], last])
            new += n + 1
        return ids[: len(prompt) + max_new_tokens]
