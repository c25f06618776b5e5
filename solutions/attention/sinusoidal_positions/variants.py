"""Right answers in other styles."""

import math

import numpy as np


def goes_through_logarithms(seq_len: int, d_model: int) -> np.ndarray:
    """Frequencies as exp of a multiple of -log(10000), as in The Annotated Transformer."""
    frequency = np.exp(np.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    angles = np.outer(np.arange(seq_len), frequency)
    table = np.zeros((seq_len, d_model), dtype=np.float64)
    table[:, ::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)[:, : table[:, 1::2].shape[1]]
    return table


def loops_over_entries(seq_len: int, d_model: int) -> np.ndarray:
    """Entry by entry with math.sin and math.cos, from nested lists."""

    def entry(position: int, column: int) -> float:
        angle = position / math.pow(10000, (column - column % 2) / d_model)
        return math.cos(angle) if column % 2 else math.sin(angle)

    return np.array([[entry(position, column) for column in range(d_model)] for position in range(seq_len)])


def interleaves_pairs(seq_len: int, d_model: int) -> np.ndarray:
    """Sines and cosines stacked on a last axis, flattened and cut to the width; a view."""
    exponents = 2 * np.arange((d_model + 1) // 2) / d_model
    angles = np.arange(seq_len, dtype=np.float64)[:, np.newaxis] * 10000.0**-exponents
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(seq_len, -1)[:, :d_model]


def shifts_the_sine(seq_len: int, d_model: int) -> np.ndarray:
    """The cosine as a sine a quarter turn ahead; columns computed at once, memory transposed."""
    column = np.arange(d_model)[:, None]
    angles = np.arange(seq_len) / np.power(10000.0, 2 * (column // 2) / d_model)
    return np.sin(angles + (column % 2) * (np.pi / 2)).T


def turns_complex_numbers(seq_len: int, d_model: int) -> np.ndarray:
    """Another way: take exp of an imaginary angle; its two parts are cosine and sine.

    exp(i * angle), whose imaginary part is the sine.
    """
    hands = np.exp(1j * np.arange(seq_len)[:, None] / 100.0 ** (2 * np.arange(0, d_model, 2) / d_model))
    pairs = np.dstack([hands.imag, hands.real])
    return np.ascontiguousarray(pairs.reshape(seq_len, -1)[:, :d_model])


_TABLES: dict[int, np.ndarray] = {}


def cuts_rows_from_a_kept_table(seq_len: int, d_model: int) -> np.ndarray:
    """One table for each width, made anew when it is too short; a copy of its rows."""
    if len(_TABLES.get(d_model, ())) < seq_len:
        _TABLES[d_model] = goes_through_logarithms(2 * seq_len, d_model)
    return _TABLES[d_model][:seq_len].copy()
