"""Find inputs that show what is wrong with three layer norms.

A right layer_norm(x) takes from each token its mean and divides by the root of its
variance plus EPS = 0.00001, as in the kata `layer_norm`, here with gamma 1 and beta 0.
Three functions do something else:

    def whole(x):
        centred = x - x.mean()
        return centred / np.sqrt(x.var() + EPS)

    def sample(x):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt(x.var(-1, keepdims=True, ddof=1) + EPS)

    def outside(x):
        centred = x - x.mean(-1, keepdims=True)
        return centred / (x.std(-1, keepdims=True) + EPS)

Replace each `...` by an input on which this function and a right one differ by more
than 1 % of the largest result: a dict of the argument by name, such as {"x": [[1.0,
2.0, 6.0]]}. x has two axes, [tokens, features], with two features or more, from -1,000
to 1,000. An input may have 12 numbers in all; try fewer. Each input is one point.

Source: Ba, Kiros and Hinton 2016, "Layer Normalization", section 3.
"""

# An input on which whole is wrong.
WHOLE = ...

# An input on which sample is wrong.
SAMPLE = ...

# An input on which outside is wrong.
OUTSIDE = ...
