"""What goes wrong in int8_linear: one function or class a mistake, its docstring what the student is told."""

import numpy as np

from grader.mistakes import crude, subtle

_SEEN = {}
_BUFFERS = {}


def _scale(x, axis=-1):
    return np.abs(x).max(axis=axis, keepdims=True) / 127


def _steps(x, scale):
    return x / np.where(scale == 0, 1, scale)


def _quantize(x, scale=None, rounded=np.rint):
    scale = _scale(x) if scale is None else scale
    return rounded(_steps(x, scale)).astype(np.int8), scale.astype(x.dtype)


def _sums(q, w_q):
    return q.astype(np.int32) @ w_q.astype(np.int32).T


class _Layer:
    """Right answers to both functions; each mistake overrides a step of them."""

    def __init_subclass__(cls):
        answer = cls()
        cls.quantize_rows = staticmethod(lambda x: answer.quantize(x))
        cls.int8_linear = staticmethod(lambda x, w_q, w_scale: answer.linear(x, w_q, w_scale))

    def quantize(self, x):
        return _quantize(x)

    def linear(self, x, w_q, w_scale):
        q, scale = self.quantize(x)
        return (_sums(q, w_q) * scale * w_scale[:, 0]).astype(x.dtype)


class takes_the_largest_without_its_sign(_Layer):
    """Rows whose largest number in size is negative come out wrong, beyond -127 or wrapped round: the maximum
    is taken of the numbers as they are. It is the size that counts; check a row of negative numbers."""

    def quantize(self, x):
        return _quantize(x, np.abs(x.max(axis=-1, keepdims=True)) / 127)


class takes_one_scale_for_all_rows(_Layer):
    """A single row is right; in a batch, rows of small numbers become zeros: one largest number is taken for
    the whole array. Each row has a scale of its own."""

    def quantize(self, x):
        return _quantize(x, np.broadcast_to(np.abs(x).max() / 127, (*x.shape[:-1], 1)))


class returns_one_scale_for_all_rows(_Layer):
    """A single row is right; a batch gets one scale, of the shape [1, ..., 1], and rows of small numbers
    become zeros: the maximum is taken along all axes. Each row has a scale of its own, [..., 1]."""

    def quantize(self, x):
        return _quantize(x, _scale(x, axis=None))


@crude
class quantises_by_columns(_Layer):
    """The scales belong to the features: the maximum runs along the first axis. It runs along the last one,
    so that each token has its scale."""

    def quantize(self, x):
        rows = x.reshape(-1, x.shape[-1])
        q, _ = _quantize(rows, _scale(rows, axis=0))
        return q.reshape(x.shape), _scale(x).astype(x.dtype)


@crude
class loses_the_axis_of_the_scale(_Layer):
    """The scale has the shape [...], and with several rows it meets the wrong numbers: the maximum has
    dropped its axis. The scale is [..., 1]."""

    def quantize(self, x):
        q, scale = _quantize(x)
        return q, scale[..., 0]

    def linear(self, x, w_q, w_scale):
        q, scale = _quantize(x)
        return (_sums(q, w_q) * scale * w_scale[:, 0]).astype(x.dtype)


@crude
class returns_the_factor(_Layer):
    """The scale is turned round: it is 127 over the largest number, as the paper writes it, and the layer
    divides by it. Here the scale is what q is multiplied by."""

    def quantize(self, x):
        q, scale = _quantize(x)
        return q, 1 / np.where(scale == 0, 1, scale)

    def linear(self, x, w_q, w_scale):
        q, factor = self.quantize(x)
        return (_sums(q, w_q) / factor * w_scale[:, 0]).astype(x.dtype)


@crude
class returns_the_largest_as_the_scale(_Layer):
    """The scale is 127 times too large: it is the largest number itself, as some libraries keep it. Here q
    times scale gives the row back."""

    def quantize(self, x):
        q, scale = _quantize(x)
        return q, scale * np.asarray(127, x.dtype)

    def linear(self, x, w_q, w_scale):
        q, largest = self.quantize(x)
        return (_sums(q, w_q) * largest / 127 * w_scale[:, 0]).astype(x.dtype)


@crude
class multiplies_by_the_scale(_Layer):
    """q is nearly all zeros, or wraps round: x was multiplied by the scale. It is divided by it; the way back
    multiplies."""

    def quantize(self, x):
        scale = _scale(x)
        return np.rint(x * scale).astype(np.int64).astype(np.int8), scale.astype(x.dtype)


class divides_by_128(_Layer):
    """The largest number of a row becomes 128, which int8 does not have, and comes out as -128: the scale is
    the largest over 128. On the positive side int8 ends at 127."""

    def quantize(self, x):
        scale = np.abs(x).max(axis=-1, keepdims=True) / 128
        return np.rint(_steps(x, scale)).astype(np.int64).astype(np.int8), scale.astype(x.dtype)


class divides_by_128_and_clips(_Layer):
    """The largest number of a row is off by a whole scale, and all others are less exact than they could be:
    the scale is the largest over 128, and 128 is clipped to 127. Divide by 127, and nothing has to be
    clipped."""

    def quantize(self, x):
        scale = np.abs(x).max(axis=-1, keepdims=True) / 128
        return np.rint(_steps(x, scale)).clip(-128, 127).astype(np.int8), scale.astype(x.dtype)


class divides_by_127_and_a_half(_Layer):
    """All scales are a little too small: the largest number is divided by 127.5, half of the 255 steps
    between the ends. The ends are -127 and 127."""

    def quantize(self, x):
        scale = np.abs(x).max(axis=-1, keepdims=True) / np.asarray(127.5, x.dtype)
        return np.rint(_steps(x, scale)).clip(-127, 127).astype(np.int8), scale.astype(x.dtype)


@crude
class scales_to_one(_Layer):
    """q is -1, 0 or 1: x was divided by its largest number alone. It is brought to 127 before it is
    rounded."""

    def quantize(self, x):
        return _quantize(x, _scale(x) * np.asarray(127, x.dtype))


class uses_seven_bits(_Layer):
    """No entry of q is beyond 63 in size, and every error is twice what it must be: the largest number
    becomes 63. int8 reaches 127."""

    def quantize(self, x):
        return _quantize(x, np.abs(x).max(axis=-1, keepdims=True) / 63)


@crude
class spreads_between_the_ends(_Layer):
    """q uses all of int8 for rows that are not even around 0, and q times scale does not give x back: the
    scale is taken from the smallest to the largest number, and q is moved by a zero point. Here 0 becomes
    0."""

    def quantize(self, x):
        low, high = x.min(axis=-1, keepdims=True), x.max(axis=-1, keepdims=True)
        scale = (high - low) / 255
        return np.rint(_steps(x - low, scale) - 128).astype(np.int8), scale.astype(x.dtype)


class cuts_off_and_does_not_round(_Layer):
    """Numbers are off by up to a whole scale, always towards 0: the cast to int8 cuts off what is behind the
    point. Round before the cast."""

    def quantize(self, x):
        return _quantize(x, rounded=np.trunc)


class rounds_down(_Layer):
    """Numbers are off by up to a whole scale, always downwards: floor takes the next lower step. Take the
    nearest."""

    def quantize(self, x):
        return _quantize(x, rounded=np.floor)


@subtle
class rounds_halves_up(_Layer):
    """Exact halves go up, 0.5 to 1 and -2.5 to -2: one half was added and floor was taken. Halves go to the
    even neighbour; check which function of NumPy rounds like that."""

    def quantize(self, x):
        return _quantize(x, rounded=lambda steps: np.floor(steps + 0.5))


@subtle
class rounds_halves_away_from_zero(_Layer):
    """Exact halves go away from 0, 0.5 to 1 and -0.5 to -1: the size was rounded up with one half added.
    Halves go to the even neighbour; check which function of NumPy rounds like that."""

    def quantize(self, x):
        return _quantize(x, rounded=lambda steps: np.sign(steps) * np.floor(np.abs(steps) + 0.5))


@crude
class forgets_to_round_into_whole_steps(_Layer):
    """q is of floats: it was neither rounded nor cast, so nothing is saved. q is int8."""

    def quantize(self, x):
        scale = _scale(x)
        return _steps(x, scale), scale.astype(x.dtype)

    def linear(self, x, w_q, w_scale):
        return (x @ w_q.T.astype(x.dtype) * w_scale[:, 0]).astype(x.dtype)


class keeps_whole_numbers_in_floats(_Layer):
    """q holds the right numbers as floats: the cast is missing, and nothing is saved. q is int8."""

    def quantize(self, x):
        q, scale = _quantize(x)
        return q.astype(x.dtype), scale

    def linear(self, x, w_q, w_scale):
        q, scale = _quantize(x)
        return (_sums(q, w_q) * scale * w_scale[:, 0]).astype(x.dtype)


@crude
class casts_to_uint8(_Layer):
    """Negative numbers come back as 256 less their size: q was cast to uint8. int8 has a sign."""

    def quantize(self, x):
        q, scale = _quantize(x)
        return q.view(np.uint8), scale


@subtle
class gives_zeros_no_finite_scale(_Layer):
    """The scale of a row of zeros is inf, and the layer's result NaN: it was made as one over a factor, which
    is one over 0. Any finite number will do there."""

    def quantize(self, x):
        q, scale = _quantize(x)
        return q, np.where(scale == 0, np.inf, scale).astype(x.dtype)


@subtle
def breaks_on_rows_of_zeros(x, w_q, w_scale):
    """A row of zeros gives NaN: it is divided by its scale of 0. Its sums are 0, whatever it is divided by;
    check what the division meets."""
    scale = _scale(x)
    with np.errstate(all="ignore"):
        steps = np.rint(x / scale)
    return (steps @ w_q.T.astype(x.dtype) * scale * w_scale[:, 0]).astype(x.dtype)


@subtle
def adds_a_billionth_to_the_scale(x):
    """Large rows are right to seven digits: a small number was added to every scale, against a division by 0.
    Treat rows of zeros by themselves, and leave the other scales alone."""
    return _quantize(x, _scale(x) + np.asarray(1e-9, x.dtype))


@subtle
def widens_the_scale(x):
    """The scale of float32 numbers is float64: something on the way widens it. It has the dtype of x; check
    casts, and arrays that are made without a dtype (in NumPy also scalars)."""
    q, scale = _quantize(x)
    return q, scale.astype(np.float64)


@crude
def adds_up_in_int8(x, w_q, w_scale):
    """Results are wrong wherever a sum leaves -128 to 127: in NumPy the product of two int8 arrays is int8,
    and wraps round without a word. Check the dtype before the product."""
    q, scale = _quantize(x)
    return ((q @ w_q.T) * scale * w_scale[:, 0]).astype(x.dtype)


@subtle
def adds_up_in_int16(x, w_q, w_scale):
    """Results are wrong wherever a sum leaves int16, which three products of 127 and 127 do: the factors were
    cast to int16. Check how large a sum of 1,024 products can be."""
    q, scale = _quantize(x)
    return ((q.astype(np.int16) @ w_q.astype(np.int16).T) * scale * w_scale[:, 0]).astype(x.dtype)


def multiplies_in_int8_and_adds_up_wide(x, w_q, w_scale):
    """Results are wrong although the sum is wide: each product of two int8 is an int8 and has wrapped round
    before it is added up. Widen the factors, not only the sum."""
    q, scale = _quantize(x)
    sums = (q[..., None, :] * w_q).sum(axis=-1, dtype=np.int64)
    return (sums * scale * w_scale[:, 0]).astype(x.dtype)


@subtle
def adds_up_in_float16(x, w_q, w_scale):
    """Small sums are right, large ones lose their last digits or become inf: the products were summed in
    float16, which is exact up to 2,048. Sums reach 16,516,096."""
    q, scale = _quantize(x)
    with np.errstate(all="ignore"):
        sums = _sums(q, w_q).astype(np.float16).astype(x.dtype)
    return (sums * scale * w_scale[:, 0]).astype(x.dtype)


def multiplies_in_floats(x, w_q, w_scale):
    """The result is nearly right, and too good: x itself was multiplied by the weight, and is not quantised.
    The sum is one of whole numbers; the input loses what is less than half a step."""
    return (x @ (w_q * w_scale).T).astype(x.dtype)


def takes_one_scale_for_the_input(x, w_q, w_scale):
    """quantize_rows is right, and the layer mixes up its rows: the input is quantised with one scale for all
    of it. Every row has its own."""
    q, scale = _quantize(x, np.broadcast_to(np.abs(x).max() / 127, (*x.shape[:-1], 1)))
    return (_sums(q, w_q) * scale * w_scale[:, 0]).astype(x.dtype)


def forgets_the_scale_of_the_input(x, w_q, w_scale):
    """Results do not change when x is doubled: the sums are multiplied by the weight's scales alone. Each is
    multiplied by the scale of its row as well."""
    q, _ = _quantize(x)
    return (_sums(q, w_q) * w_scale[:, 0]).astype(x.dtype)


def forgets_the_scale_of_the_weight(x, w_q, w_scale):  # noqa: ARG001 - the mistake
    """Results do not depend on w_scale: the sums are multiplied by the scale of the input alone. Each is
    multiplied by the scale of its output as well."""
    q, scale = _quantize(x)
    return (_sums(q, w_q) * scale).astype(x.dtype)


@crude
def forgets_both_scales(x, w_q, w_scale):  # noqa: ARG001 - the mistake
    """The result is of whole numbers, by thousands too large: it is the sums. Multiply them by both
    scales."""
    return _sums(_quantize(x)[0], w_q).astype(x.dtype)


@crude
def adds_the_scales(x, w_q, w_scale):
    """Results are far too large: the two scales were added. A product of two quantised numbers has the
    product of their scales."""
    q, scale = _quantize(x)
    return (_sums(q, w_q) * (scale + w_scale[:, 0])).astype(x.dtype)


def takes_the_first_scale_of_the_weight(x, w_q, w_scale):
    """The first output is right, and the others have its scale: one number is used for the whole weight. Each
    output has a scale of its own."""
    q, scale = _quantize(x)
    return (_sums(q, w_q) * scale * w_scale[0, 0]).astype(x.dtype)


def rounds_the_result_to_int8(x, w_q, w_scale):
    """The result has lost most of its digits: it was quantised once more. What the layer returns is of
    floats."""
    q, scale = _quantize(x)
    return np.rint(_sums(q, w_q) * scale * w_scale[:, 0]).astype(x.dtype)


@subtle
def keeps_an_axis_for_a_single_vector(x, w_q, w_scale):
    """A batch is right, and a single vector gives [1, d_out]: the transpose of w_scale has two axes, and the
    result takes them over. Check an x of one axis."""
    q, scale = _quantize(x)
    return (_sums(q, w_q) * scale * w_scale.T).astype(x.dtype)


@subtle
def widens_the_result(x, w_q, w_scale):
    """float32 comes back as float64: something on the way widens it (in NumPy, int32 times float32 is
    float64). The result has the dtype of x."""
    q, scale = _quantize(x)
    return (_sums(q, w_q) * scale * w_scale[:, 0]).astype(np.float64)


@subtle
def computes_in_float32(x, w_q, w_scale):
    """float64 arguments get results with half of their digits: the work was done in float32. The result has
    the dtype of x, in its digits too; check casts."""
    q, scale = _quantize(x)
    result = _sums(q, w_q) * scale.astype(np.float32) * w_scale[:, 0].astype(np.float32)
    return result.astype(np.float32).astype(x.dtype)


@subtle
def trusts_the_memory_layout(x, w_q, w_scale):
    """Where an array is a transposed view the result is wrong, elsewhere right: its numbers are taken in the
    order that they have in memory. Check what becomes of it when it is cut or flattened."""
    q, scale = _quantize(x.ravel(order="K").reshape(x.shape))
    return (_sums(q, w_q.ravel(order="K").reshape(w_q.shape)) * scale * w_scale[:, 0]).astype(x.dtype)


@subtle
def overwrites_x(x):
    """The caller's x holds whole steps after the call: it was divided in place. Make a new array in the first
    step."""
    q, scale = _quantize(x)
    x /= np.where(scale == 0, 1, scale)
    return q, scale


@subtle
def answers_as_the_first_time(x, w_q, w_scale):
    """The first call is right, and later ones of the same shapes are multiplied by its weight: something
    outlives the call, such as a weight that was widened once. Check what is kept between calls."""
    q, scale = _quantize(x)
    weight = _SEEN.setdefault((x.shape, w_q.shape), w_q.astype(np.int32).T)
    return ((q.astype(np.int32) @ weight) * scale * w_scale[:, 0]).astype(x.dtype)


@subtle
def returns_one_buffer(x):
    """Each q is right, and changes the one that an earlier call returned: all are written into the same
    memory. Return an array of its own from each call."""
    q, scale = _quantize(x)
    buffer = _BUFFERS.setdefault(q.shape, np.empty(q.shape, dtype=np.int8))
    buffer[...] = q
    return buffer, scale
