def triples(x):
    """The result is three times x:
    one x too many was added."""
    return 3 * x


def takes_the_size(x):
    """Negative numbers come out positive: the sign was lost."""
    return abs(x) * 2


def forgets_the_first_row(x):
    """The first row stays as it was."""
    y = x * 2
    y[0] = x[0]
    return y
