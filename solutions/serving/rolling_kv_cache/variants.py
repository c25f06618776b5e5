"""Right answers to rolling_kv_cache in other styles."""

import math

import torch
import torch.nn.functional as F


class mistrals_ring:
    """Position p in slot p mod window; a piece of several tokens is joined with what was there before."""

    class RollingKVCache:
        def __init__(self, window):
            if window < 1:
                raise ValueError("the window holds at least one token")
            self.window, self.seen = window, 0
            self.ring = self.slots = None

        def __len__(self):
            return self.seen

        def append(self, k, v):
            if self.ring is None:
                self.ring = [t.new_zeros(*t.shape[:2], self.window, t.shape[3]) for t in (k, v)]
                self.slots = torch.zeros(self.window, dtype=torch.int64, device=k.device)
            filled = min(self.seen, self.window)
            new = torch.arange(self.seen, self.seen + k.shape[2], device=k.device)
            keys, values = (
                torch.cat([buffer[:, :, :filled], t], 2) for buffer, t in zip(self.ring, (k, v), strict=True)
            )
            positions = torch.cat([self.slots[:filled], new])
            for i in range(max(0, k.shape[2] - self.window), k.shape[2]):
                slot = (self.seen + i) % self.window
                self.ring[0][:, :, slot], self.ring[1][:, :, slot] = k[:, :, i], v[:, :, i]
                self.slots[slot] = self.seen + i
            self.seen += k.shape[2]
            if k.shape[2] == 1:
                filled = min(self.seen, self.window)
                return self.ring[0][:, :, :filled], self.ring[1][:, :, :filled], self.slots[:filled]
            return keys, values, positions

    @staticmethod
    def rolling_attention(q, k, v, cache):
        start = len(cache)
        keys, values, at = cache.append(k, v)
        rows = torch.arange(start, start + q.shape[2], device=q.device).unsqueeze(1)
        bias = torch.zeros(q.shape[2], at.shape[0], dtype=q.dtype, device=q.device)
        bias.masked_fill_((at.unsqueeze(0) > rows) | (at.unsqueeze(0) <= rows - cache.window), float("-inf"))
        scores = torch.matmul(q, keys.transpose(2, 3)) / math.sqrt(q.size(-1)) + bias
        return torch.matmul(torch.softmax(scores, dim=-1), values)


class like_hugging_face:
    """Keeps window - 1 tokens and returns them with the new ones, as `DynamicSlidingWindowLayer` does."""

    class RollingKVCache:
        def __init__(self, window):
            assert window > 0, "window"
            self.sliding_window = window
            self.cumulative_length = 0
            self.keys = None

        def __len__(self):
            return self.cumulative_length

        def append(self, key_states, value_states):
            if self.keys is None:
                self.keys = key_states.new_zeros(*key_states.shape[:2], 0, key_states.shape[3])
                self.values = value_states.new_zeros(*value_states.shape[:2], 0, value_states.shape[3])
            self.cumulative_length += key_states.shape[-2]
            full_keys = torch.cat([self.keys, key_states], dim=-2)
            full_values = torch.cat([self.values, value_states], dim=-2)
            kept = max(0, full_keys.shape[-2] - self.sliding_window + 1)
            self.keys, self.values = full_keys[:, :, kept:, :], full_values[:, :, kept:, :]
            first = self.cumulative_length - full_keys.shape[-2]
            positions = torch.arange(first, self.cumulative_length, dtype=torch.long, device=full_keys.device)
            return full_keys, full_values, positions

    @staticmethod
    def rolling_attention(q, k, v, cache):
        keys, values, kv_idx = cache.append(k, v)
        q_idx = torch.arange(len(cache) - q.size(2), len(cache), device=q.device).view(-1, 1)
        mask = (kv_idx <= q_idx) & (kv_idx > q_idx - cache.sliding_window)
        return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)


class buffers_of_a_module:
    """The cache is a module: keys, values and positions are buffers, which a call replaces."""

    class RollingKVCache(torch.nn.Module):
        def __init__(self, window):
            super().__init__()
            if window < 1:
                raise ValueError("the window holds at least one token")
            self.window, self.seen = window, 0
            for name in ("keys", "values", "positions"):
                self.register_buffer(name, None)

        def __len__(self):
            return self.seen

        def append(self, k, v):
            new = torch.arange(self.seen, self.seen + k.shape[2], device=k.device)
            held = [one for one in (self.keys, self.values, self.positions) if one is not None]
            keys, values, positions = (
                (
                    torch.cat([old, one], dim=-1 if one.ndim == 1 else 2)
                    for old, one in zip(held, (k, v, new), strict=True)
                )
                if held
                else (k, v, new)
            )
            self.seen += k.shape[2]
            kept = positions > self.seen - self.window
            self.keys, self.values, self.positions = keys[:, :, kept], values[:, :, kept], positions[kept]
            return keys, values, positions

    @staticmethod
    def rolling_attention(q, k, v, cache):
        first = len(cache)
        keys, values, positions = cache.append(k, v)
        rows = torch.arange(first, first + q.shape[2], device=q.device)[:, None]
        seen = (positions <= rows) & (positions > rows - cache.window)
        return F.scaled_dot_product_attention(q, keys, values, attn_mask=seen)


class one_tuple_a_token:
    """A list of (position, key, value) of single tokens, newest first; no mask but a choice of columns."""

    class RollingKVCache:
        def __init__(self, window):
            if not window >= 1:
                raise ValueError(window)
            self.window, self.tokens, self.count = window, [], 0

        def __len__(self):
            return self.count

        def append(self, k, v):
            for i in range(k.shape[2]):
                self.tokens.insert(0, (self.count, k[:, :, i].clone(), v[:, :, i].clone()))
                self.count += 1
            positions, keys, values = zip(*self.tokens[: self.window + k.shape[2] - 1], strict=True)
            del self.tokens[self.window :]
            return torch.stack(keys, 2), torch.stack(values, 2), torch.tensor(positions, device=k.device)

    @staticmethod
    def rolling_attention(q, k, v, cache):
        first = len(cache)
        keys, values, positions = cache.append(k, v)
        results = []
        for i in range(q.shape[2]):
            away = first + i - positions
            near = (away >= 0) & (away < cache.window)
            scores = torch.einsum("bhd,bhnd->bhn", q[:, :, i], keys) * q.shape[-1] ** -0.5
            scores = scores.masked_fill(~near, torch.finfo(q.dtype).min)
            results.append(torch.einsum("bhn,bhne->bhe", scores.softmax(-1), values))
        return torch.stack(results, dim=2)


class room_for_two_windows:
    """One buffer for keys and values with twice the room; when it is full, the last window moves to its
    front.
    """

    class RollingKVCache:
        def __init__(self, window):
            if window <= 0:
                raise ValueError(f"window must be positive, got {window}")
            self.window, self.width = window, None
            self.first = self.total = 0
            self.buffer = None

        def __len__(self):
            return self.total

        def append(self, k, v):
            both = torch.cat([k, v], dim=-1)
            new = both.shape[2]
            if self.buffer is None:
                self.width = k.shape[-1]
                self.buffer = both.new_empty(*both.shape[:2], 2 * self.window, both.shape[3])
            held = self.total - self.first
            if held + new > 2 * self.window:
                keep = min(held, self.window)
                last = self.buffer[:, :, held - keep : held].clone()
                self.first = self.total - keep
                if keep + new > 2 * self.window:
                    joined = torch.cat([last, both], dim=2)
                    places = torch.arange(self.first, self.total + new, device=k.device)
                    self.total += new
                    self.first = self.total - self.window
                    self.buffer[:, :, : self.window] = joined[:, :, -self.window :]
                    return joined[..., : self.width], joined[..., self.width :], places
                self.buffer[:, :, :keep] = last
                held = keep
            self.buffer[:, :, held : held + new] = both
            self.total += new
            begin = max(0, held - self.window)
            seen = self.buffer[:, :, begin : held + new]
            places = torch.arange(self.first + begin, self.total, device=k.device)
            return seen[..., : self.width], seen[..., self.width :], places

    @staticmethod
    def rolling_attention(q, k, v, cache):
        own = len(cache) + torch.arange(q.shape[-2], device=q.device)
        keys, values, at = cache.append(k, v)
        distance = own[:, None] - at[None, :]
        scores = (q / math.sqrt(q.shape[-1])) @ keys.transpose(-1, -2)
        scores = torch.where((distance < 0) | (distance >= cache.window), -1e30, scores)
        powers = torch.exp(scores - scores.max(-1, keepdim=True)[0])
        return powers @ values / powers.sum(-1, keepdim=True)


def loops_over_queries(q, k, v, cache):
    """Each query alone, over the columns that it sees, in the order in which they come."""
    past = len(cache)
    keys, values, positions = cache.append(k, v)
    window, output = cache.window, torch.empty_like(v)
    for t in range(q.shape[2]):
        columns = [n for n, p in enumerate(positions.tolist()) if past + t - window < p <= past + t]
        scores = (keys[:, :, columns] * q[:, :, t, None]).sum(-1) / math.sqrt(q.shape[-1])
        weights = torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))
        output[:, :, t] = (weights[..., None] * values[:, :, columns]).sum(2)
    return output
