"""Right answers to batched_generate in other styles."""

import torch
import torch.nn.functional as F


def grows_the_tensors(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """As Hugging Face writes it: tensors grow by a column a step, ended rows get pad_id, positions by
    cumsum."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[pad_id] * (longest - len(p)) + p for p in prompts])
    mask = torch.tensor([[False] * (longest - len(p)) + [True] * len(p) for p in prompts])
    unfinished = torch.ones(len(prompts), dtype=torch.bool)
    lengths = [len(p) for p in prompts]
    for _ in range(max_new_tokens):
        position_ids = mask.long().cumsum(-1) - 1
        position_ids.masked_fill_(mask == 0, 1)
        new = model(ids, mask, position_ids).argmax(dim=-1)
        new = torch.where(unfinished, new, pad_id)
        ids = torch.cat([ids, new[:, None]], dim=-1)
        mask = torch.cat([mask, mask.new_ones((len(prompts), 1))], dim=-1)
        lengths = [n + int(u) for n, u in zip(lengths, unfinished, strict=True)]
        if eos_id is not None:
            unfinished = unfinished & (new != eos_id)
        if not unfinished.any():
            break
    return [ids[i, longest - len(p) :][: lengths[i]].tolist() for i, p in enumerate(prompts)]


def preallocates_one_buffer(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """A buffer for the longest possible text, a window of it shown; ended rows stay as they are."""
    longest, batch = max(len(p) for p in prompts), len(prompts)
    buffer = torch.full((batch, longest + max_new_tokens), pad_id, dtype=torch.int64)
    start = torch.tensor([longest - len(p) for p in prompts]).unsqueeze(1)
    for row, prompt in enumerate(prompts):
        buffer[row, longest - len(prompt) : longest] = torch.tensor(prompt)
    end = [None] * batch
    for stop in range(longest, longest + max_new_tokens):
        columns = torch.arange(stop).expand(batch, stop)
        mask = columns.ge(start)
        chosen = model(buffer[:, :stop], mask, torch.where(mask, columns - start, 0)).max(dim=1).indices
        buffer[:, stop] = chosen
        for row in range(batch):
            if end[row] is None and eos_id is not None and chosen[row].item() == eos_id:
                end[row] = stop + 1
        if all(e is not None for e in end):
            break
    stop = longest + max_new_tokens
    return [buffer[r, int(start[r]) : (end[r] or stop)].tolist() for r in range(batch)]


def longest_first(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Rows sorted by length, flipped tensors padded by the library, results put back in order."""
    order = sorted(range(len(prompts)), key=lambda i: -len(prompts[i]))
    new = {i: [] for i in order}
    live = order if max_new_tokens > 0 else []
    while live:
        texts = [torch.tensor((prompts[i] + new[i])[::-1]) for i in live]
        ids = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=pad_id).flip(1)
        mask = torch.nn.utils.rnn.pad_sequence([torch.ones_like(t) for t in texts], True).flip(1).bool()
        tokens = model(ids, mask, (mask.cumsum(1) - 1).clamp_min(0)).argmax(1)
        for i, token in zip(live, tokens, strict=True):
            new[i].append(int(token))
        live = [i for i in live if new[i][-1] != eos_id and len(new[i]) < max_new_tokens]
    return [[*prompt, *new[i]] for i, prompt in enumerate(prompts)]


def pads_one_column_too_many(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """F.pad row by row to a fixed length; positions at padding are the columns; a flag for each row."""
    length = max(map(len, prompts)) + max_new_tokens
    rows, done = [torch.tensor(p, dtype=torch.long) for p in prompts], [False] * len(prompts)
    for _ in range(max_new_tokens):
        ids = torch.stack([F.pad(row, (length - len(row), 0), value=pad_id) for row in rows])
        mask = torch.stack([torch.arange(length) >= length - len(row) for row in rows])
        shift = torch.tensor([[length - len(row)] for row in rows])
        positions = torch.arange(length)[None] - shift * mask
        chosen = model(ids, mask, positions).argmax(-1)
        for i, token in enumerate(chosen):
            if not done[i]:
                rows[i] = torch.cat([rows[i], token[None]])
                done[i] = eos_id is not None and int(token) == eos_id
        if all(done):
            break
    return [row.tolist() for row in rows]


def leaves_ended_rows_in(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Python lists alone; ended rows are shown as padding but for one token."""
    texts = [[int(token) for token in prompt] for prompt in prompts]
    ended = [False for _ in texts]
    step = 0
    while step < max_new_tokens and not all(ended):
        shown = [text[-1:] if over else text for text, over in zip(texts, ended, strict=True)]
        width = max(len(text) for text in shown)
        ids, mask, positions = [], [], []
        for text in shown:
            missing = width - len(text)
            ids.append([pad_id for _ in range(missing)] + text)
            mask.append([False] * missing + [True] * len(text))
            positions.append([0] * missing + list(range(len(text))))
        scores = model(torch.LongTensor(ids), torch.BoolTensor(mask), torch.LongTensor(positions)).tolist()
        for i, row in enumerate(scores):
            if not ended[i]:
                texts[i].append(row.index(max(row)))
                ended[i] = texts[i][-1] == eos_id
        step += 1
    return texts
