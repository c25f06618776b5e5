"""Has no entry point."""


def softmin(x, axis=-1):
    return x - axis
