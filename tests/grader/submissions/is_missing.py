"""Does not define the entry point."""


def softmin(x, axis=-1):
    return x - axis
