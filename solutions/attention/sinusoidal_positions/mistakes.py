"""What goes wrong in sinusoidal_positions: one function a mistake, its docstring what the student is told."""

import numpy as np

from grader.mistakes import crude, subtle


def _pairs(d_model):
    """The 2i of each column."""
    column = np.arange(d_model)
    return column - column % 2


def _table(positions, exponents, base=10000.0):
    """Sine and cosine in turn, of positions over the base to the power of each column's exponent."""
    angles = np.asarray(positions)[:, None] / base ** np.asarray(exponents, dtype=np.float64)
    return np.where(np.arange(angles.shape[1]) % 2 == 0, np.sin(angles), np.cos(angles))


def _right(seq_len, d_model):
    return _table(np.arange(seq_len), _pairs(d_model) / d_model)


def gives_every_column_its_own_angle(seq_len, d_model):
    """Sine and cosine of a pair do not belong together: the exponent is the column's own number over
    d_model. Both columns of a pair take that of the even one.
    """
    return _table(np.arange(seq_len), np.arange(d_model) / d_model)


def forgets_the_two_in_the_exponent(seq_len, d_model):
    """The hands slow down half as fast as they should: the exponent is i / d_model, with i the number of
    the pair. It is 2i / d_model.
    """
    return _table(np.arange(seq_len), _pairs(d_model) / 2 / d_model)


def doubles_the_exponent(seq_len, d_model):
    """The hands slow down twice as fast as they should: the columns 0, 2, 4 are already 2i, and are
    multiplied by 2 once more.
    """
    return _table(np.arange(seq_len), 2 * _pairs(d_model) / d_model)


def reaches_the_base_in_the_last_pair(seq_len, d_model):
    """The exponents run from 0 to 1, the last pair included: they are divided by one pair too few, as in
    some implementations. In the paper they are 2i / d_model and stay below 1.
    """
    pairs = (d_model + 1) // 2
    return _table(np.arange(seq_len), _pairs(d_model) / 2 / max(pairs - 1, 1))


def divides_in_whole_numbers(seq_len, d_model):
    """All hands turn alike: 2i // d_model is 0 in whole numbers, so every exponent is. Divide as floats."""
    return _table(np.arange(seq_len), _pairs(d_model) // d_model)


def multiplies_by_the_power(seq_len, d_model):
    """The hands turn faster from pair to pair, and late ones look like noise: the position is multiplied
    by the power of 10000. It is divided by it.
    """
    return _table(np.arange(seq_len), -_pairs(d_model) / d_model)


def uses_another_base(seq_len, d_model):
    """The slow hands are too fast: the base is 1000. It is 10000."""
    return _table(np.arange(seq_len), _pairs(d_model) / d_model, base=1000.0)


def puts_all_sines_first(seq_len, d_model):
    """Sines fill the left half and cosines the right: the halves are joined, as in tensor2tensor. Here
    sine and cosine of an angle stand side by side, in columns 2i and 2i + 1.
    """
    table = _right(seq_len, d_model)
    return np.concatenate([table[:, 0::2], table[:, 1::2]], axis=1)


def begins_with_the_cosine(seq_len, d_model):
    """Sine and cosine are exchanged: row 0 is 1, 0, 1, 0. The sine stands in the even columns, so it is
    0, 1, 0, 1.
    """
    angles = np.arange(seq_len)[:, None] / 10000.0 ** (_pairs(d_model) / d_model)
    return np.where(np.arange(d_model) % 2 == 0, np.cos(angles), np.sin(angles))


@crude
def takes_sines_only(seq_len, d_model):
    """The odd columns hold sines too, so pairs tell no direction, and row 0 is all 0. They hold the
    cosine.
    """
    return np.sin(np.arange(seq_len)[:, None] / 10000.0 ** (_pairs(d_model) / d_model))


def counts_positions_from_one(seq_len, d_model):
    """Every row is the one that belongs to the position after it: positions are counted from 1. Row 0 has
    the angle 0 in every pair.
    """
    return _table(np.arange(1, seq_len + 1), _pairs(d_model) / d_model)


def divides_positions_by_the_length(seq_len, d_model):
    """A longer text changes every row: positions are divided by the length, or spread over an interval.
    The row of a position depends on that position alone.
    """
    return _table(np.arange(seq_len) / seq_len, _pairs(d_model) / d_model)


def measures_angles_in_degrees(seq_len, d_model):
    """The first hand hardly moves: angles are taken for degrees and converted. NumPy's sine takes
    radians, which is what the formula gives.
    """
    return _table(np.deg2rad(np.arange(seq_len)), _pairs(d_model) / d_model)


@subtle
def rounds_an_odd_width_up(seq_len, d_model):
    """Right for an even d_model; with an odd one, the exponents are divided by d_model + 1: the table of
    the next even width was cut. The formula divides by d_model itself.
    """
    return _right(seq_len, d_model + d_model % 2)[:, :d_model]


@subtle
def rounds_an_odd_width_down(seq_len, d_model):
    """Right for an even d_model; with an odd one, the exponents are divided by d_model - 1, or by twice
    the number of whole pairs. The formula divides by d_model itself.
    """
    return _table(np.arange(seq_len), _pairs(d_model) / max(d_model - d_model % 2, 1))


@subtle
def drops_the_last_odd_column(seq_len, d_model):
    """With an odd d_model a column is missing: only whole pairs are made. The last sine stands alone."""
    return _right(seq_len, d_model)[:, : max(d_model - d_model % 2, 1)]


@subtle
def adds_a_column_to_an_odd_width(seq_len, d_model):
    """With an odd d_model there is a column too many: the last pair is complete. The table has d_model
    columns, so the last sine stands alone.
    """
    return _table(np.arange(seq_len), _pairs(d_model + d_model % 2) / d_model)


@subtle
def fails_for_an_odd_width(seq_len, d_model):
    """An odd d_model raises an error: there is one column fewer for cosines than for sines, and as many
    cosines as sines are written. Cut their angles to the columns there are.
    """
    angles = np.arange(seq_len)[:, None] / 10000.0 ** (np.arange(0, d_model, 2) / d_model)
    table = np.zeros((seq_len, d_model))
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table


@subtle
def returns_float32(seq_len, d_model):
    """The table is float32: half of the digits are gone. float64 is asked for."""
    return _right(seq_len, d_model).astype(np.float32)


@subtle
def computes_angles_in_float32(seq_len, d_model):
    """Entries differ in the seventh digit, more so in late rows: positions or angles are float32,
    whatever the result. In float32 the angle of position 500 is known to 0.00003 only.
    """
    power = np.float32(10000) ** (_pairs(d_model) / d_model).astype(np.float32)
    angles = np.arange(seq_len, dtype=np.float32)[:, None] / power
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angles), np.cos(angles)).astype(np.float64)


@subtle
def counts_positions_in_bytes(seq_len, d_model):
    """Right up to row 255; then the table begins again: positions are integers of 8 bits, which wrap round.
    Check the dtype of the positions.
    """
    return _table(np.arange(seq_len).astype(np.uint8), _pairs(d_model) / d_model)


def puts_positions_in_columns(seq_len, d_model):
    """The table is [d_model, seq_len]: rows and columns are exchanged. A position is a row."""
    return np.ascontiguousarray(_right(seq_len, d_model).T)


def adds_a_batch_axis(seq_len, d_model):
    """The table is [1, seq_len, d_model]: an axis for the batch was added. Broadcasting needs none."""
    return _right(seq_len, d_model)[None]


@subtle
def keeps_an_earlier_table(seq_len, d_model):
    """A second call gets rows that are missing, or columns of another width: the first table is kept and
    cut. Nothing may be left over from one call to the next.
    """
    return _EARLIER.setdefault(d_model, _right(seq_len, d_model))[:seq_len]


_EARLIER: dict = {}


@subtle
def computes_the_powers_in_float32(seq_len, d_model):
    """The table is float64 and right to some 7 digits: the powers of 10000 are float32, and what they lost
    does not come back. Make the exponents float64 before anything is computed from them.
    """
    powers = np.float32(10000) ** (_pairs(d_model) / d_model).astype(np.float32)
    angles = np.arange(seq_len)[:, None] / powers.astype(np.float64)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angles), np.cos(angles))


def takes_another_base(seq_len, d_model):
    """All columns but the first two are off a little: the base of the powers is not 10000. Check the number,
    and what was added to it.
    """
    return _table(np.arange(seq_len), _pairs(d_model) / d_model, base=10001.0)
