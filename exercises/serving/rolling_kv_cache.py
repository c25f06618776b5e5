"""A rolling cache: keys and values of the last tokens, in memory that does not grow.

A model with sliding-window attention looks at the last `window` tokens only, so older
keys and values can be forgotten. Forgetting is easy; the hard part is to forget in
time. A piece of several tokens needs the tokens before it as well: its first token
still sees window - 1 older ones, although its last does not. And as columns go, the
cache has to know where in the sequence each one stands.

    f, l   = positions of the piece's first and last token: f = len(cache) before append
    append returns keys, values and positions. Among them the positions
           max(0, f - window + 1) ... l stand once each. Older ones may be there too, up
           to window + T_new columns in all, in any order.
    query  at position p sees the keys at j with p - window < j <= p: `window` tokens,
           its own among them
    result = softmax(q k^T / sqrt(d_head)) v over these

However a sequence is cut into pieces, and however long a piece is, the results are the
same.

Memory: after 8 * window steps of one token the cache holds at most 2 * window + 2
tokens' keys and values, and the next step makes no larger tensor. What append returns
is read before the next call, and may be a view of the cache.

Example: window 2, three appends of one token. The third returns columns for the
positions 1 and 2 (0 may be among them), and len(cache) is 3. A first piece of five
tokens returns all five positions.

Elsewhere: Mistral's ring writes position p to slot p mod window; Hugging Face keeps the
last window - 1 tokens and returns them with the new ones. Either passes. Mistral's
first code and the paper's sentence let a query see one key further; here it sees
`window` keys.

What goes wrong: one-token steps are right and a long piece is not (its early tokens
find their keys gone); everything is right until the sequence is longer than the window
(columns are taken for positions); the text is right and memory grows (a view keeps the
whole history alive).

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, extreme scores, another device than the CPU.

First solve `kv_cache`: this kata waits until that one passes.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Jiang et al. 2023, "Mistral 7B", section 2 (rolling buffer cache).
"""

import torch


class RollingKVCache:
    """The keys and values of the last tokens of one attention layer; empty at first.

    ValueError for window < 1.
    """

    def __init__(self, window: int) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        """The number of tokens ever appended, which is the position of the next."""
        raise NotImplementedError

    def append(
        self,
        k: torch.Tensor,
        v: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Add new tokens, and return what they may attend to.

        k:       [B, H, T_new, d_head].
        v:       [B, H, T_new, d_v].
        returns: keys [B, H, n, d_head] and values [B, H, n, d_v], as they were given;
                 positions, int64 [n], the place of each column in the sequence, counted
                 from 0; all on the device of k.
        """
        raise NotImplementedError


def rolling_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cache: RollingKVCache
) -> torch.Tensor:
    """Append k and v, and attend with q to the last `window` tokens.

    q, k:    [B, H, T_new, d_head].
    v:       [B, H, T_new, d_v].
    cache:   a RollingKVCache of yours; it holds what earlier pieces left.
    returns: [B, H, T_new, d_v], in the dtype of q. Right for large scores too.
    """
    raise NotImplementedError
