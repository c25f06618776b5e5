"""Returns lists nested ten thousand levels deep."""


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    nest = x
    for _ in range(10_000):
        nest = [nest]
    return nest
