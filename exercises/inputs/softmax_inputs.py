"""Find inputs that show what is wrong with three softmaxes.

A right softmax(x, axis) turns the scores x into probabilities along an axis, as in the
kata `softmax`: no slice along the axis depends on another one, and no score is too
large. Three functions do something else:

    def no_shift(x, axis):
        powers = np.exp(x)
        return powers / powers.sum(axis=axis, keepdims=True)

    def one_sum(x, axis):
        powers = np.exp(x - x.max(axis=axis, keepdims=True))
        return powers / powers.sum()

    def one_shift(x, axis):
        powers = np.exp(x - x.max())
        return powers / powers.sum(axis=axis, keepdims=True)

Replace each `...` by an input on which this function and a right one differ: a dict of
the arguments by name, such as {"x": [[1.0, 2.0], [0.0, 3.0]], "axis": 0}. A list
becomes an array. x has one or two axes and holds scores from -10,000 to 10,000. An
input may have 12 numbers in all; try fewer. Each input is one point.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1; Goodfellow,
Bengio and Courville 2016, "Deep Learning", section 4.1.
"""

# An input on which no_shift is wrong.
NO_SHIFT = ...

# An input on which one_sum is wrong.
ONE_SUM = ...

# An input on which one_shift is wrong.
ONE_SHIFT = ...
