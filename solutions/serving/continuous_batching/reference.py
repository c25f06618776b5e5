"""Iteration-level scheduling (Yu et al. 2022) with a budget and chunks (Agrawal et al. 2024)."""


def continuous_batching(model, requests, token_budget, eos_id=None):
    """Make a batch for each step: decodes first, then prompts in order of arrival."""
    if token_budget < 1:
        raise ValueError(f"a step must process at least one token, and token_budget is {token_budget}")
    order = sorted(range(len(requests)), key=lambda r: requests[r][0])  # equal arrivals keep their order
    texts, done, ends = [[] for _ in requests], [0] * len(requests), [None] * len(requests)
    step = 0
    while None in ends:
        present = [r for r in order if requests[r][0] <= step and ends[r] is None]
        batch = [(r, done[r], texts[r][-1:]) for r in present if texts[r]]
        rest = token_budget - len(batch)
        for r in present:
            chunk = requests[r][1][done[r] : done[r] + rest]  # empty for a decode
            if chunk:
                batch.append((r, done[r], chunk))
                rest -= len(chunk)
        answers = model(batch) if batch else []
        for (r, _, tokens), token in zip(batch, answers, strict=True):
            done[r] += len(tokens)
            if done[r] >= len(requests[r][1]):
                texts[r].append(token)
                if token == eos_id or len(texts[r]) == requests[r][2]:
                    ends[r] = step
        step += 1
    return texts, ends
