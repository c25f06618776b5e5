"""Find inputs that show what is wrong with three nuclei.

A right nucleus(probs, p) returns the ids of the tokens that top-p keeps, as in the kata
`top_p`: the smallest set of the most likely tokens whose probabilities sum to at least
p. Three functions do something else:

    def drops_last(probs, p):
        order = np.argsort(-probs)
        return sorted(order[np.cumsum(probs[order]) <= p].tolist())

    def unsorted(probs, p):
        before = np.cumsum(probs) - probs
        return np.flatnonzero(before < p).tolist()

    def by_itself(probs, p):
        return np.flatnonzero(probs >= 1 - p).tolist()

Replace each `...` by an input on which this function and a right one differ: a dict of
the arguments by name, such as {"probs": [0.5, 0.3, 0.2], "p": 0.6}. probs is one row of
different numbers above 0 that sum to 1, and p lies between 0 and 1, and not at the sum
of some probabilities. An input may have 12 numbers in all; try fewer. Each input is one
point.

Source: Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration",
section 3.1.
"""

# An input on which drops_last is wrong.
DROPS_LAST = ...

# An input on which unsorted is wrong.
UNSORTED = ...

# An input on which by_itself is wrong.
BY_ITSELF = ...
