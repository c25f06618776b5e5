"""What goes wrong in rotary_embedding: one function a mistake, its docstring what the student is told."""

import numpy as np

from grader.mistakes import crude, subtle

_SEEN = {}


def _require_pairs(x):
    if x.shape[-1] % 2:
        raise ValueError("d_head is odd")


def _angles(d_head, positions, base):
    return np.asarray(positions)[:, None] * base ** (-np.arange(0, d_head, 2) / d_head)


def _turn(x, angles):
    """The right turn by a table of angles, tokens by pairs."""
    _require_pairs(x)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    return _in_turn(first * cos - second * sin, first * sin + second * cos)


def _in_turn(first, second):
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)


def _right(x, positions, base=10000.0):
    return _turn(x, _angles(x.shape[-1], positions, base))


def _coordinates(x, positions, base):
    """First and second coordinates, with cosines and sines of their angles."""
    _require_pairs(x)
    angles = _angles(x.shape[-1], positions, base)
    return x[..., 0::2], x[..., 1::2], np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)


def pairs_the_halves(x, positions, base=10000.0):
    """With d_head = 2 all is right, with more the numbers are turned with the wrong partners: column i is
    paired with column i + d_head/2. Here pairs are neighbours, 0 with 1, 2 with 3; check the slices."""
    _require_pairs(x)
    angles, half = _angles(x.shape[-1], positions, base), x.shape[-1] // 2
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


def pairs_the_halves_with_angles_of_neighbours(x, positions, base=10000.0):
    """Position 0 is right. The angles are in pairs of neighbours, each twice in a row, and the numbers are
    turned in pairs (i, i + d_head/2): two conventions in one formula. Here neighbours form a pair; which
    numbers does your rotation exchange?"""
    _require_pairs(x)
    angles, half = _angles(x.shape[-1], positions, base).repeat(2, axis=-1), x.shape[-1] // 2
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    return x * cos + np.concatenate([-x[..., half:], x[..., :half]], axis=-1) * sin


def leaves_the_coordinates_in_halves(x, positions, base=10000.0):
    """Every number is right and stands in the wrong column: all first coordinates come before all second
    ones. They were taken in turn, and have to be put back in turn."""
    first, second, cos, sin = _coordinates(x, positions, base)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


def turns_the_other_way(x, positions, base=10000.0):
    """Position 1 takes (1, 0) to (0.54, -0.84): the sign of the angle is turned. Scores would still depend on
    distances; the formula says which of the two sines has the minus."""
    _require_pairs(x)
    return _turn(x, -_angles(x.shape[-1], positions, base))


def swaps_sine_and_cosine(x, positions, base=10000.0):
    """Position 0 changes the vectors: sine and cosine have changed places. At the angle 0 the cosine is 1 and
    the sine 0, and the vector stays as it is."""
    first, second, cos, sin = _coordinates(x, positions, base)
    return _in_turn(first * sin - second * cos, first * cos + second * sin)


def mirrors_the_pairs(x, positions, base=10000.0):
    """Position 0 turns the sign of every second column: the minus stands in the second line of the formula
    and not in the first. That is a reflection; two of them are no turn."""
    first, second, cos, sin = _coordinates(x, positions, base)
    return _in_turn(first * cos + second * sin, first * sin - second * cos)


def adds_where_it_must_subtract(x, positions, base=10000.0):
    """Pairs grow and shrink as positions change: both lines of the formula have a plus. The minus of the
    first line is what makes it a turn."""
    first, second, cos, sin = _coordinates(x, positions, base)
    return _in_turn(first * cos + second * sin, first * sin + second * cos)


@crude
def turns_no_number_with_its_partner(x, positions, base=10000.0):
    """Every number is scaled by cos + sin or cos - sin of its angle, and its partner has no part in it. Each
    new coordinate needs both old ones; check which column meets the sine."""
    first, second, cos, sin = _coordinates(x, positions, base)
    return _in_turn(first * (cos - sin), second * (sin + cos))


def reads_what_it_has_overwritten(x, positions, base=10000.0):
    """Even columns are right and odd ones wrong: when the second coordinate is computed, the first one has
    been replaced by its new value. Both need the old pair; make the results in a new array."""
    first, second, cos, sin = _coordinates(x, positions, base)
    first = first * cos - second * sin
    return _in_turn(first, first * sin + second * cos)


def turns_all_pairs_alike(x, positions, base=10000.0):
    """With d_head = 2 all is right; with more, later pairs turn too fast: every pair has the frequency 1. It
    falls from pair to pair; check where i enters."""
    _require_pairs(x)
    return _turn(x, _angles(x.shape[-1], positions, base)[:, :1])


def halves_the_exponent(x, positions, base=10000.0):
    """The first pair is right, later ones turn too fast: the exponent is i / d_head for pair i. The formula
    has 2i, so that the last pairs come near 1 / base."""
    _require_pairs(x)
    return _turn(x, np.asarray(positions)[:, None] * base ** (-np.arange(x.shape[-1] // 2) / x.shape[-1]))


def doubles_the_exponent(x, positions, base=10000.0):
    """The first pair is right, later ones turn too slowly: the exponent is divided by the number of pairs
    with a 2i above it. It is 2i over d_head; a step of two in the range has made the 2 already."""
    _require_pairs(x)
    pairs = x.shape[-1] // 2
    return _turn(x, np.asarray(positions)[:, None] * base ** (-2 * np.arange(pairs) / pairs))


def counts_pairs_from_one(x, positions, base=10000.0):
    """Even the first pair turns too slowly: pairs are counted from 1. The first pair has i = 0 and turns by
    one radian a position."""
    _require_pairs(x)
    exponents = np.arange(2, x.shape[-1] + 2, 2) / x.shape[-1]
    return _turn(x, np.asarray(positions)[:, None] * base**-exponents)


def runs_the_frequencies_backwards(x, positions, base=10000.0):
    """The last pair turns fastest: the frequencies stand in the opposite order. The first pair has the
    frequency 1."""
    _require_pairs(x)
    return _turn(x, _angles(x.shape[-1], positions, base)[:, ::-1])


def turns_faster_from_pair_to_pair(x, positions, base=10000.0):
    """The first pair is right, later ones spin: the sign of the exponent is lost, and the angle is the
    position times a power of base. Frequencies fall from 1 towards 1 / base."""
    _require_pairs(x)
    return _turn(x, np.asarray(positions)[:, None] * base ** (np.arange(0, x.shape[-1], 2) / x.shape[-1]))


def counts_the_tokens_instead(x, positions, base=10000.0):  # noqa: ARG001 - the mistake
    """Right as long as positions are 0, 1, 2, …; a token behind a cache is turned as if it came first. The
    argument `positions` is not used; check where the angles come from."""
    return _right(x, np.arange(x.shape[-2]), base)


@subtle
def takes_the_first_position_for_the_start(x, positions, base=10000.0):
    """Right where positions follow each other; with gaps, or in another order, only the first token is right:
    the others are counted on from it. Each token brings its own position."""
    return _right(x, int(positions[0]) + np.arange(x.shape[-2]), base)


def counts_from_the_first_position(x, positions, base=10000.0):
    """Right where the first position is 0; a cache makes no difference: the first position was subtracted
    from all. Distances within one call survive that, those to cached keys do not."""
    return _right(x, np.asarray(positions) - int(positions[0]), base)


def counts_positions_from_one(x, positions, base=10000.0):
    """Position 0 turns the vectors by one step: 1 was added to every position. The first position is 0, and
    leaves its vector as it is."""
    return _right(x, np.asarray(positions).astype(np.int64) + 1, base)


@subtle
def sorts_the_positions(x, positions, base=10000.0):
    """Right where positions rise; in another order, tokens are turned for each other's positions. The order
    of `positions` is that of the tokens."""
    return _right(x, np.sort(positions), base)


@subtle
def ignores_the_base_given(x, positions, base=10000.0):  # noqa: ARG001 - the mistake
    """Right where base is left out; another base changes nothing: the number 10000 is written into the code.
    Check that the argument is what the frequencies use."""
    return _right(x, positions)


def has_another_default(x, positions, base=1000.0):
    """Right where base is given; without it, all pairs but the first turn too fast. The default of base is
    not the 10000 of the statement. Check the signature."""
    return _right(x, positions, base)


@crude
def adds_the_waves(x, positions, base=10000.0):
    """Vectors of zeros come out as sines and cosines: they were added, as for sinusoidal positions. Here
    nothing is added; the vectors are turned."""
    first, second, cos, sin = _coordinates(x, positions, base)
    return _in_turn(first + sin, second + cos)


def turns_the_first_half_alone(x, positions, base=10000.0):
    """The later pairs are as they came: only the first half of the pairs is turned, as some models do. Here
    all d_head numbers take part."""
    angles = _angles(x.shape[-1], positions, base)
    angles[:, (x.shape[-1] // 2 + 1) // 2 :] = 0
    return _turn(x, angles)


@subtle
def reads_positions_along_the_first_axis(x, positions, base=10000.0):
    """Right without axes in front of the tokens, and where the first axis happens to be as long: the
    positions were given to the first axis. Tokens are the last axis but one."""
    _require_pairs(x)
    if x.ndim == 2 or x.shape[0] != len(positions):
        return _right(x, positions, base)
    return np.swapaxes(_right(np.swapaxes(x, 0, -2), positions, base), 0, -2)


@subtle
def expects_batch_and_heads(x, positions, base=10000.0):
    """Anything but four axes raises: the shape is unpacked into batch, heads, tokens and d_head. Any axes may
    stand in front of the tokens, or none."""
    _batch, _heads, _tokens, _d_head = x.shape
    return _right(x, positions, base)


@subtle
def accepts_an_odd_width(x, positions, base=10000.0):
    """An odd d_head is answered, its last number left as it is, and no error: the check is missing. A number
    without a partner cannot be turned; a clear ValueError says so."""
    if x.shape[-1] % 2 == 0:
        return _right(x, positions, base)
    return np.concatenate([_right(x[..., :-1], positions, base), x[..., -1:]], axis=-1)


@subtle
def keeps_the_table_of_an_earlier_call(x, positions, base=10000.0):
    """The first call is right; later ones of the same shape are turned by its angles, for whichever
    positions. A table that is kept must be kept by position and by base. Check what outlives the call."""
    _require_pairs(x)
    return _turn(x, _SEEN.setdefault(x.shape[-2:], _angles(x.shape[-1], positions, base)))


@subtle
def overwrites_x(x, positions, base=10000.0):
    """The caller's x is turned after the call: the results were written into the argument. Make a new array,
    which also keeps the old pair until both new numbers are made."""
    x[...] = _right(x, positions, base)
    return x


@subtle
def ends_the_table_at_249(x, positions, base=10000.0):
    """Position 250 is turned as 249: the table of angles is one row short. Positions count from 0: 251 rows
    are due."""
    return _right(x, np.minimum(positions, 249), base)


@subtle
def takes_a_small_base_for_ten(x, positions, base=10000.0):
    """Right for large bases; one below 10 is raised to it. Any base above 1 is as good."""
    return _right(x, positions, max(base, 10.0))
