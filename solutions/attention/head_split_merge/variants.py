"""Right answers in other styles."""

import numpy as np


class cuts_and_joins_columns:
    """Another way: cut the columns into blocks and stack them; to merge, join the blocks again.

    np.split and np.concatenate along the columns; np.split raises the ValueError.
    """

    @staticmethod
    def split_heads(x: np.ndarray, num_heads: int) -> np.ndarray:
        return np.stack(np.split(x, num_heads, axis=-1), axis=1)

    @staticmethod
    def merge_heads(x: np.ndarray) -> np.ndarray:
        return np.concatenate(list(np.moveaxis(x, 1, 0)), axis=-1)


class swaps_axes:
    """swapaxes, with -1 left to reshape and an assertion in place of the ValueError."""

    @staticmethod
    def split_heads(x: np.ndarray, num_heads: int) -> np.ndarray:
        assert x.shape[-1] % num_heads == 0, "d_model must be divisible by num_heads"
        return np.ascontiguousarray(x.reshape(*x.shape[:-1], num_heads, -1).swapaxes(1, 2))

    @staticmethod
    def merge_heads(x: np.ndarray) -> np.ndarray:
        return np.swapaxes(x, -3, -2).reshape(x.shape[0], x.shape[2], -1)


class leaves_the_error_to_reshape:
    """The very shape asked for, so that reshape itself raises the ValueError; rollaxis."""

    @staticmethod
    def split_heads(x: np.ndarray, num_heads: int) -> np.ndarray:
        batch, tokens, d_model = x.shape
        return np.rollaxis(np.reshape(x, (batch, tokens, num_heads, d_model // num_heads)), 2, 1)

    @staticmethod
    def merge_heads(x: np.ndarray) -> np.ndarray:
        return np.rollaxis(x, 1, 3).reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])


class copies_head_by_head:
    """Loops that fill in arrays of the same dtype."""

    @staticmethod
    def split_heads(x: np.ndarray, num_heads: int) -> np.ndarray:
        d_head, rest = divmod(x.shape[2], num_heads)
        if rest:
            raise ValueError("d_model must be divisible by num_heads")
        heads = np.empty((x.shape[0], num_heads, x.shape[1], d_head), dtype=x.dtype)
        for head in range(num_heads):
            heads[:, head] = x[:, :, head * d_head : (head + 1) * d_head]
        return heads

    @staticmethod
    def merge_heads(x: np.ndarray) -> np.ndarray:
        batch, num_heads, tokens, d_head = x.shape
        merged = np.zeros((batch, tokens, num_heads * d_head), dtype=x.dtype)
        for head in range(num_heads):
            merged[..., head * d_head : (head + 1) * d_head] = x[:, head]
        return merged


class names_the_axes:
    """np.einsum as a transpose by name."""

    @staticmethod
    def split_heads(x: np.ndarray, num_heads: int) -> np.ndarray:
        if x.shape[-1] % num_heads:
            raise ValueError(f"{x.shape[-1]} columns for {num_heads} heads")
        return np.einsum("bthd->bhtd", x.reshape(x.shape[0], x.shape[1], num_heads, -1))

    @staticmethod
    def merge_heads(x: np.ndarray) -> np.ndarray:
        return np.einsum("bhtd->bthd", x).reshape(x.shape[0], x.shape[2], -1)


class picks_columns_by_index:
    """Integer indices for columns, heads and places within a head."""

    @staticmethod
    def split_heads(x: np.ndarray, num_heads: int) -> np.ndarray:
        columns = np.arange(x.shape[2])
        if len(columns) % num_heads:
            raise ValueError("d_model must be divisible by num_heads")
        return x[:, :, columns.reshape(num_heads, -1)].transpose(0, 2, 1, 3)

    @staticmethod
    def merge_heads(x: np.ndarray) -> np.ndarray:
        columns = np.arange(x.shape[1] * x.shape[3])
        return x[:, columns // x.shape[3], :, columns % x.shape[3]].transpose(1, 2, 0)
