"""Returns a list that contains itself."""


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    endless = []
    endless.append(endless)
    return endless
