"""Imports a module with a name that no file of the course can have."""

exec("import " + "a" * 400)


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    return x
