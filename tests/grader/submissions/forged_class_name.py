"""Returns an object without a shape whose class has the name of a tensor class."""


class FakeTensor:
    __module__ = "torch"
    shape = "shape"
    dtype = None


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    return FakeTensor()
