"""What goes wrong in clip_gradients: one function a mistake, its docstring what the student is told."""

import math

import numpy as np

from grader.mistakes import crude, subtle

_SEEN = {}


def _squares(gradients):
    """The sum of each array's squares, in float64."""
    return [float((g.astype(np.float64) ** 2).sum()) for g in gradients if g is not None]


def _norm(gradients):
    return math.sqrt(sum(_squares(gradients)))


def _require(norm, max_norm):
    """Raise where the contract says so."""
    if max_norm <= 0 or not math.isfinite(norm):
        raise ValueError(f"norm {norm}, max_norm {max_norm}")


def _scaled(gradients, factor):
    return [None if g is None else g * float(factor) for g in gradients]


def _clip(gradients, max_norm, *, norm_of=_norm, require=_require, scale=_scaled):
    """Right, but for the part that is given."""
    norm = norm_of(gradients)
    require(norm, max_norm)
    return (scale(gradients, max_norm / norm) if norm > max_norm else list(gradients)), norm


def clips_each_array_by_itself(gradients, max_norm):
    """Each array is clipped by its own norm: small arrays keep their length while large ones shrink, and the
    direction of the step changes. Measure all arrays first; all share one factor."""
    norm = _norm(gradients)
    _require(norm, max_norm)
    return [None if g is None else _clip([g], max_norm)[0][0] for g in gradients], norm


@crude
def cuts_entries_at_the_bound(gradients, max_norm):
    """Entries above max_norm become max_norm and the others stay: this is clipping by value. The norm of all
    entries together is to be bounded, by one factor."""
    norm = _norm(gradients)
    _require(norm, max_norm)
    return [None if g is None else np.clip(g, -max_norm, max_norm) for g in gradients], norm


@crude
def brings_every_norm_to_the_bound(gradients, max_norm):
    """Short gradients grow until their norm is max_norm: they are scaled whatever their norm is. Scale only
    where it exceeds the bound."""
    norm = _norm(gradients)
    _require(norm, max_norm)
    return _scaled(gradients, max_norm / (norm or 1.0)), norm


@crude
def divides_by_the_norm_alone(gradients, max_norm):
    """What is clipped has the norm 1, whatever max_norm says: it was divided by its norm and not multiplied
    by the bound."""
    return _clip(gradients, max_norm, scale=lambda arrays, factor: _scaled(arrays, factor / max_norm))


@crude
def multiplies_by_the_bound(gradients, max_norm):
    """With a max_norm of 1 nothing is ever clipped: the factor is max_norm itself. What factor brings a
    vector of length norm to the length max_norm?"""
    return _clip(gradients, max_norm, scale=lambda arrays, _: _scaled(arrays, max_norm))


@crude
def scales_the_wrong_way(gradients, max_norm):
    """Gradients above the bound become larger still: the factor is norm / max_norm, upside down."""
    return _clip(gradients, max_norm, scale=lambda arrays, factor: _scaled(arrays, 1 / factor))


def takes_the_square_of_the_norm(gradients, max_norm):
    """The norm returned is too large (or too small below 1), and what is clipped is too short: the sum of the
    squares was taken for the norm. The root is missing."""
    return _clip(gradients, max_norm, norm_of=lambda arrays: sum(_squares(arrays)))


def compares_the_square_with_the_bound(gradients, max_norm):
    """The norm is right; some gradients below the bound change, or some above it stay: the sum of the squares
    is compared with max_norm. Take the root before the comparison."""
    norm = _norm(gradients)
    _require(norm, max_norm)
    return (_scaled(gradients, max_norm / norm) if norm**2 > max_norm else list(gradients)), norm


def adds_the_norms_up(gradients, max_norm):
    """Right for a single array; with several the norm is too large: the norms of the arrays were added. Their
    squares add up, and the root comes at the end."""
    return _clip(gradients, max_norm, norm_of=lambda arrays: sum(map(math.sqrt, _squares(arrays))))


def takes_the_largest_of_the_norms(gradients, max_norm):
    """Right for a single array; with several the norm is too small: it is the largest of the arrays' norms.
    All entries of all arrays form one vector."""
    return _clip(gradients, max_norm, norm_of=lambda arrays: math.sqrt(max(_squares(arrays), default=0.0)))


def averages_the_norms(gradients, max_norm):
    """Right for a single array; with several the norm is too small: the arrays' norms were averaged. Their
    squares add up, and the root comes at the end."""

    def norm_of(arrays):
        norms = [math.sqrt(square) for square in _squares(arrays)]
        return sum(norms) / max(len(norms), 1)

    return _clip(gradients, max_norm, norm_of=norm_of)


def averages_the_squares(gradients, max_norm):
    """The norm is too small, the more so the more entries there are: the squares were averaged (root mean
    square). A norm adds them up."""

    def norm_of(arrays):
        return _norm(arrays) / math.sqrt(max(sum(g.size for g in arrays if g is not None), 1))

    return _clip(gradients, max_norm, norm_of=norm_of)


def adds_the_sizes_up(gradients, max_norm):
    """The norm is too large: the sizes of the entries were added, where their squares are due."""

    def norm_of(arrays):
        return float(sum(np.abs(g.astype(np.float64)).sum() for g in arrays if g is not None))

    return _clip(gradients, max_norm, norm_of=norm_of)


def takes_the_largest_entry(gradients, max_norm):
    """The norm is too small: it is the largest size of an entry. The root of the sum of all squares is
    due."""

    def norm_of(arrays):
        sizes = [float(np.abs(g).max()) for g in arrays if g is not None]
        return math.nan if any(map(math.isnan, sizes)) else max(sizes, default=0.0)

    return _clip(gradients, max_norm, norm_of=norm_of)


def takes_the_spectral_norm(gradients, max_norm):
    """Right for vectors; a matrix counts too little: `numpy.linalg.norm(matrix, 2)` is its largest singular
    value. The entries of an array are to be taken as a vector."""

    def norm_of(arrays):
        return math.sqrt(sum(_spectral(g) ** 2 for g in arrays if g is not None))

    return _clip(gradients, max_norm, norm_of=norm_of)


def _spectral(array):
    wide = array.astype(np.float64)
    plain = wide.ndim != 2 or not np.isfinite(wide).all()
    return math.sqrt((wide**2).sum()) if plain else float(np.linalg.norm(wide, 2))


def measures_the_first_array_alone(gradients, max_norm):
    """Right for a single array; later arrays do not count in the norm. Check what the loop adds up."""
    first = next((g for g in gradients if g is not None), None)
    return _clip(
        gradients,
        max_norm,
        norm_of=lambda arrays: _norm([first]) if _norm(arrays) < math.inf else _norm(arrays),
    )


def stops_at_the_first_none(gradients, max_norm):
    """Arrays behind a None do not count in the norm: the loop ends there. It has to go on to the next one."""

    def norm_of(arrays):
        places = [i for i, g in enumerate(arrays) if g is None]
        return _norm(arrays[: places[0]] if places and math.isfinite(_norm(arrays)) else arrays)

    return _clip(gradients, max_norm, norm_of=norm_of)


def drops_none(gradients, max_norm):
    """The list comes back shorter where a gradient is None, and all behind it move up to the wrong
    parameters. None keeps its place."""
    return _clip([g for g in gradients if g is not None], max_norm)


def puts_zeros_for_none(gradients, max_norm):
    """A place that was None comes back as an array of zeros: an optimiser then decays that parameter and
    moves it by its momentum. None stays None."""
    clipped, norm = _clip(gradients, max_norm)
    return [np.zeros(1, np.float32) if g is None else g for g in clipped], norm


def returns_the_norm_of_the_result(gradients, max_norm):
    """The norm never exceeds max_norm: it is that of the clipped arrays. The one before clipping is asked
    for, since it shows how wild a batch was."""
    clipped, _ = _clip(gradients, max_norm)
    return clipped, _norm(clipped)


def returns_the_factor(gradients, max_norm):
    """The second result is the factor and not the norm. It is 1 where nothing is clipped."""
    clipped, norm = _clip(gradients, max_norm)
    return clipped, min(1.0, max_norm / (norm or math.inf))


@crude
def returns_the_list_alone(gradients, max_norm):
    """Only the list comes back. The norm belongs to the result: (clipped, norm)."""
    return _clip(gradients, max_norm)[0]


@crude
def returns_the_norm_first(gradients, max_norm):
    """The two results come in the other order: the list stands before the norm."""
    return _clip(gradients, max_norm)[::-1]


def flattens_the_arrays(gradients, max_norm):
    """The entries are right and each array has one axis: they were flattened for the norm and not given their
    shapes again."""
    clipped, norm = _clip(gradients, max_norm)
    return [None if g is None else g.reshape(-1) for g in clipped], norm


def adds_a_large_eps(gradients, max_norm):
    """What is clipped is a little too short, most where the norm is small: a number such as 0.01 stands
    beside the norm. Five digits are compared, so it may be 1e-6 at most."""
    norm = _norm(gradients)
    _require(norm, max_norm)
    return _scaled(gradients, min(1.0, max_norm / (norm + 0.01))), norm


@subtle
def changes_short_gradients_a_little(gradients, max_norm):
    """Gradients below the bound come back with other last digits: they were divided by the norm and
    multiplied by it again. Up to max_norm nothing is computed."""
    norm = _norm(gradients)
    _require(norm, max_norm)
    if not norm:
        return list(gradients), norm
    target = np.float32(min(norm, max_norm))
    return [None if g is None else (g / np.float32(norm) * target).astype(g.dtype) for g in gradients], norm


@subtle
def divides_by_a_norm_of_zero(gradients, max_norm):
    """Gradients of zero become NaN: the factor is max_norm / norm before anything asks whether it is needed,
    and 0 times infinity is NaN. Where the norm is 0 nothing is to be done."""
    norm = _norm(gradients)
    _require(norm, max_norm)
    factor = float(np.float64(max_norm) / norm) if norm else math.nan
    return _scaled(gradients, factor if not factor > 1 else 1.0), norm


@subtle
def fails_without_arrays(gradients, max_norm):
    """Right as soon as there is one array; an empty list, or one with nothing but None, ends in an error: a
    concatenation or a maximum of nothing. The norm is 0 there."""
    np.concatenate([g.ravel() for g in gradients if g is not None])
    return _clip(gradients, max_norm)


@subtle
def skips_single_numbers(gradients, max_norm):
    """A gradient without an axis does not count in the norm and is not scaled: it was taken for something
    that is no array (`len`, `if g.shape`, `ndim > 0`). Any shape takes part."""
    numbers = {i: g for i, g in enumerate(gradients) if g is not None and not g.shape}
    clipped, norm = _clip([None if i in numbers else g for i, g in enumerate(gradients)], max_norm)
    return [numbers.get(i, g) for i, g in enumerate(clipped)], norm


@subtle
def goes_on_with_a_bad_norm(gradients, max_norm):
    """Where an entry is NaN or infinite the call returns, and every array is spoilt or none is clipped. That
    is what PyTorch does by default; here it is an error. Look at the norm before scaling."""

    def require(_, bound):
        _require(0.0, bound)

    return _clip(gradients, max_norm, require=require)


@subtle
def looks_for_nan_alone(gradients, max_norm):
    """NaN is refused; an infinite entry passes, and becomes NaN when it is multiplied by 0. Ask whether the
    norm is finite."""

    def require(norm, bound):
        _require(norm if math.isnan(norm) else 0.0, bound)

    return _clip(gradients, max_norm, require=require)


@subtle
def returns_zeros_for_a_bad_norm(gradients, max_norm):
    """Where an entry is NaN or infinite zeros come back, so that the step is skipped and nobody hears of it.
    A ValueError is due."""
    norm = _norm(gradients)
    if math.isfinite(norm):
        return _clip(gradients, max_norm)
    return [None if g is None else np.zeros_like(g) for g in gradients], norm


@subtle
def accepts_a_bound_of_zero(gradients, max_norm):
    """A max_norm of 0 makes all gradients zero, and a negative one turns them round. Both must be refused."""

    def require(norm, _):
        _require(norm, 1.0)

    return _clip(gradients, max_norm, require=require)


@subtle
def scales_in_place(gradients, max_norm):
    """The caller's gradients are clipped after the call: `*=` writes into the arrays, or the places of the
    list were written. PyTorch works so; here new arrays in a new list are due."""

    def scale(arrays, factor):
        for array in arrays:
            if array is not None:
                array *= array.dtype.type(factor)
        return list(arrays)

    return _clip(gradients, max_norm, scale=scale)


@subtle
def widens_to_float64(gradients, max_norm):
    """float32 comes back as float64, twice the memory: the factor is float64, and not a Python float (in
    NumPy a scalar widens an array as well). Make it a Python float, or cast."""
    clipped, norm = _clip(gradients, max_norm)
    return [None if g is None else g * np.float64(1) for g in clipped], norm


def returns_the_first_norm_again(gradients, max_norm):
    """The first call is right; a later one with as many arrays is clipped by the norm of the first: something
    outlives the call. Check what is kept between calls."""

    def norm_of(arrays):
        key = len(arrays), max_norm
        return _SEEN.setdefault(key, _norm(arrays)) if math.isfinite(_norm(arrays)) else _norm(arrays)

    return _clip(gradients, max_norm, norm_of=norm_of)


@subtle
def accepts_any_bound_where_the_norm_is_zero(gradients, max_norm):
    """A max_norm of 0 is accepted where there is nothing to clip: zeros and None are returned before max_norm
    was looked at. Which of the two questions comes first?"""
    return (list(gradients), 0.0) if _norm(gradients) == 0 else _clip(gradients, max_norm)


@subtle
def looks_for_the_largest_of_no_entries(gradients, max_norm):
    """An array without entries raises: it has no largest entry. It adds nothing to the norm."""

    def require(norm, bound):
        for gradient in gradients:
            if gradient is not None:
                np.abs(gradient).max()
        _require(norm, bound)

    return _clip(gradients, max_norm, require=require)


@subtle
def adds_zero_to_short_gradients(gradients, max_norm):
    """A negative zero comes back as a positive one where nothing is clipped. Up to max_norm arrays come back
    as they came, to the bit; return them without computing anything.
    """
    clipped, norm = _clip(gradients, max_norm)
    return [None if g is None else g + g.dtype.type(0) for g in clipped], norm
