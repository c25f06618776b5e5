"""Returns an integer of 5001 digits."""


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    return 10**5000
