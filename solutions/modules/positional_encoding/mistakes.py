"""What goes wrong in positional_encoding: one class a mistake, its docstring what the student is told."""

import math

import torch
from torch import nn

from grader.mistakes import crude, subtle


def _waves(max_len, d_model, start=0, step=1.0, sine=torch.sin, cosine=torch.cos, exponent=None):
    """The right table, but for the part that is given: [max_len, d_model]."""
    column = torch.arange(d_model)
    power = (column - column % 2) / d_model if exponent is None else exponent(column)
    angles = (torch.arange(max_len)[:, None] + start) * step * torch.pow(10000.0, -power)
    return torch.where(column % 2 == 0, sine(angles), cosine(angles))


class _Encoding(nn.Module):
    """The right module; mistakes override a part of it."""

    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self._keep(self._table(d_model, max_len)[None])

    def _table(self, d_model, max_len):
        return _waves(max_len, d_model)

    def _keep(self, table):
        self.register_buffer("pe", table)

    def forward(self, x):
        return x + self._rows(x)

    def _rows(self, x):
        return self.pe[:, : x.shape[1]]


class swaps_sine_and_cosine(_Encoding):
    """Position 0 is [1, 0, 1, 0, ...]: even columns hold the cosine and odd ones the sine. Sines come first,
    so position 0 begins with 0.
    """

    def _table(self, d_model, max_len):
        return _waves(max_len, d_model, sine=torch.cos, cosine=torch.sin)


class puts_sines_and_cosines_in_halves(_Encoding):
    """All sines come first and all cosines after them: the two are concatenated. Here they take turns,
    column by column. (Some libraries use halves; weights trained with one do not fit the other.)
    """

    def _table(self, d_model, max_len):
        table = _waves(max_len, d_model)
        return torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)


class gives_each_column_its_own_angle(_Encoding):
    """Cosines are too slow: their angle has the exponent of their own column, (2i+1) / d_model. Both columns
    of a pair have the same angle, with 2i.
    """

    def _table(self, d_model, max_len):
        return _waves(max_len, d_model, exponent=lambda column: column / d_model)


class halves_the_exponent(_Encoding):
    """The waves slow down half as fast as they must: the exponent is i / d_model, where pair i has
    2i / d_model. The range already counts in twos, or it counts pairs; check which.
    """

    def _table(self, d_model, max_len):
        return _waves(max_len, d_model, exponent=lambda column: (column // 2) / d_model)


@subtle
class divides_by_the_number_of_pairs(_Encoding):
    """For an odd d_model all columns but the first two are off: the exponent divides by twice the number of
    pairs, where it must divide by d_model. For an even one they are the same.
    """

    def _table(self, d_model, max_len):
        rounded = 2 * ((d_model + 1) // 2)
        return _waves(max_len, d_model, exponent=lambda column: (column - column % 2) / rounded)


class multiplies_by_the_rate(_Encoding):
    """Later columns turn faster where they should turn slower: the position is multiplied by
    10000^(2i/d_model). It is divided by it.
    """

    def _table(self, d_model, max_len):
        return _waves(max_len, d_model, exponent=lambda column: -(column - column % 2) / d_model)


class begins_at_position_one(_Encoding):
    """Every row stands one position too early: positions begin at 1. Row 0 is position 0, all sines 0 and
    all cosines 1.
    """

    def _table(self, d_model, max_len):
        return _waves(max_len, d_model, start=1)


class stretches_positions_to_max_len(_Encoding):
    """The same position has another row in a module with another max_len: positions are divided by it. They
    are whole numbers.
    """

    def _table(self, d_model, max_len):
        return _waves(max_len, d_model, step=1 / max_len)


@subtle
class fails_for_odd_widths(_Encoding):
    """An odd d_model raises: there is a cosine for every sine, and one column too few for it. An odd width
    ends on a sine.
    """

    def _table(self, d_model, max_len):
        table, angles = torch.zeros(max_len, d_model), _waves(max_len, d_model)[:, 0::2]
        table[:, 1::2] = angles
        return _waves(max_len, d_model)


@subtle
class ends_odd_widths_on_zero(_Encoding):
    """For an odd d_model the last column is empty: only whole pairs are filled in. The last column is a sine
    without its cosine.
    """

    def _table(self, d_model, max_len):
        table = _waves(max_len, d_model)
        table[:, d_model // 2 * 2 :] = 0.0
        return table


@crude
class reads_the_table_along_the_batch(_Encoding):
    """A token's row is chosen by its sequence's number in the batch: the table is cut to the length of
    axis 0, as for x of shape [T, B, d_model]. Here the batch comes first.
    """

    def _rows(self, x):
        return self.pe[0, : x.shape[0], None]


class adds_the_whole_table(_Encoding):
    """Only a sequence of max_len tokens fits: the whole table is added, where its first T rows are due. With
    one token broadcasting even makes max_len of it.
    """

    def _rows(self, x):  # noqa: ARG002 - the mistake
        return self.pe


class adds_the_last_rows(_Encoding):
    """The table is cut at its other end: a sequence gets the last T rows, and position 0 is not the row 0."""

    def _rows(self, x):
        return self.pe[:, -x.shape[1] :]


@crude
class returns_the_table_alone(_Encoding):
    """The result does not depend on x: the table's rows are returned, and not added to x."""

    def forward(self, x):
        return self._rows(x).expand_as(x) + 0 * x


class scales_the_input(_Encoding):
    """x comes out larger by sqrt(d_model). That factor belongs to the embedding in front of this module."""

    def forward(self, x):
        return x * math.sqrt(x.shape[-1]) + self._rows(x)


@subtle
class adds_in_place(_Encoding):
    """The caller's x is changed: `x += ...` and `add_` write into the tensor that they are given. The sum has
    to be a new tensor.
    """

    def forward(self, x):
        x += self._rows(x)
        return x


@subtle
class trains_the_table(_Encoding):
    """The table is a parameter, so that an optimiser changes it and it counts among the weights. A table that
    is computed, and not learnt, is a buffer.
    """

    def _keep(self, table):
        self.pe = nn.Parameter(table)


@subtle
class keeps_the_table_as_an_attribute(_Encoding):
    """Right on the CPU; sent to a GPU the module leaves its table behind, since a plain attribute is not
    moved. Register it as a buffer.
    """

    def _keep(self, table):
        self.pe = table


@subtle
class keeps_the_table_in_float64(_Encoding):
    """float32 comes back as float64: the table is float64, as NumPy makes it, and widens the sum. Keep it
    in float32, or cast it to the dtype of x.
    """

    def _keep(self, table):
        self.register_buffer("pe", table.double())

    def _rows(self, x):
        return super()._rows(x).double()


@subtle
class rounds_to_float32(_Encoding):
    """A float64 x loses half of its digits: it is cast to float32 on the way. The table may be float32; the
    sum has the dtype of x.
    """

    def forward(self, x):
        return (x.float() + self._rows(x).float()).to(x.dtype)


@subtle
class computes_in_half_precision(_Encoding):
    """The rows are off in the fourth digit: the table is rounded to half precision, which has three digits.
    Compute it in float32 at least, and cast it no lower.
    """

    def _table(self, d_model, max_len):
        return _waves(max_len, d_model).half().float()


@subtle
class keeps_512_positions(_Encoding):
    """A long sequence raises: the table has 512 rows at most, whatever max_len says. By default there are
    5000.
    """

    def _table(self, d_model, max_len):
        return _waves(min(max_len, 512), d_model)


@subtle
class keeps_the_table_without_a_batch_axis(_Encoding):
    """The sums are right and the buffer is [max_len, d_model]: the statement's has an axis of length 1 in
    front, and a checkpoint that holds one does not fit.
    """

    def _keep(self, table):
        self.register_buffer("pe", table[0])

    def _rows(self, x):
        return self.pe[: x.shape[1]]


@subtle
class detaches_the_input(_Encoding):
    """Every value is right, and no gradient passes: x is detached, or the sum is made under no_grad. The
    embedding in front could not learn.
    """

    def forward(self, x):
        return x.detach() + self._rows(x)


@subtle
class adds_an_unregistered_copy(_Encoding):
    """Right on the CPU, and `pe` is a buffer; on a GPU the sum raises: what is added is a second table that
    is no buffer, and so stays behind. Add the rows of `pe`.
    """

    def _keep(self, table):
        super()._keep(table)
        self.tables = {"pe": table}

    def _rows(self, x):
        return self.tables["pe"][:, : x.shape[1]]


@subtle
class adds_in_training_only(_Encoding):
    """After `eval()` the result is x as it came: the rows are added in training mode only. A model needs its
    positions in both modes.
    """

    def forward(self, x):
        return super().forward(x) if self.training else x + 0


@subtle
class keeps_the_rows_of_the_first_call(_Encoding):
    """Right until a sequence comes that is longer than the first: the rows are cut once, at the first call's
    length, and kept. Cut the whole table in every call.
    """

    def _rows(self, x):
        self.rows = getattr(self, "rows", super()._rows(x))
        return self.rows[:, : x.shape[1]]


@subtle
class keeps_rows_by_length(_Encoding):
    """A module that was float64 for one call and is float32 again gives float64: the rows of a length are
    kept in a dict, and a dict is not cast with the module. Cut the buffer in every call.
    """

    def __init__(self, d_model, max_len=5000):
        super().__init__(d_model, max_len)
        self.rows = {}

    def _rows(self, x):
        return self.rows.setdefault((x.shape[1], x.device), super()._rows(x))


@subtle
class returns_one_buffer(_Encoding):
    """Each call is right, and changes the result that an earlier one returned: all are written into the same
    memory. Return a tensor of its own from each call.
    """

    def forward(self, x):
        result = super().forward(x)
        kept = vars(self).setdefault("kept", {}).setdefault((result.shape, result.dtype), result.detach())
        result.data = kept.copy_(result.detach())
        return result


@subtle
class records_gradients_for_the_table(_Encoding):
    """Every result carries a graph, even where nothing learns: the buffer `pe` has requires_grad set, and its
    gradients pile up. The table is kept and not learnt.
    """

    def _keep(self, table):
        super()._keep(table.requires_grad_())
