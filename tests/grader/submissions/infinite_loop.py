"""Never returns."""


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    while True:
        pass
