"""Inputs that do not show what is wrong with three softmaxes; each docstring is the reason."""

from grader.mistakes import crude, subtle


@crude
class gives_small_scores:
    """Without the shift these scores give the same: exp(x) is finite for all of them. The shift changes a
    result only where exp(x) overflows, or where it is 0 for a whole slice."""

    def NO_SHIFT(**_):
        return {"x": [1.0, 2.0, 3.0], "axis": 0}


@subtle
class stays_below_the_overflow:
    """Powers of e up to about 709 are finite in float64, so nothing overflows yet, and a ratio of finite
    numbers is right. Take larger scores."""

    def NO_SHIFT(**_):
        return {"x": [700.0, 0.0], "axis": 0}


@crude
class gives_one_slice:
    """An array of one axis is one slice, so the sum of the slice is the sum of the whole array. It takes two
    slices to see the difference."""

    def ONE_SUM(**_):
        return {"x": [1.0, 2.0], "axis": 0}


@subtle
class gives_two_axes_and_one_slice:
    """There are two axes, and still one slice: along axis 1 this array has a single row. Give it a second
    row."""

    def ONE_SUM(**_):
        return {"x": [[1.0, 2.0]], "axis": 1}


@subtle
class gives_slices_that_lie_near:
    """The slices lie near each other: one maximum for both is as good as two, since only differences of
    scores within a slice count. Move a slice so far down that its powers become 0."""

    def ONE_SHIFT(**_):
        return {"x": [[1.0, 2.0], [3.0, 4.0]], "axis": 1}


@subtle
class gives_one_slice_of_distant_scores:
    """The scores lie far apart, but all in one slice, whose maximum is that of the whole array. The distance
    has to be between two slices."""

    def ONE_SHIFT(**_):
        return {"x": [[0.0, 1000.0]], "axis": 1}
