"""Returns a dict of integer keys that all have the same hash."""


def softmax(x, axis=-1):
    return {i * (2**61 - 1): 1 for i in range(20_000)}
