"""Raises an error whose message has a million characters, each on its own line."""


def softmax(x, axis=-1):
    raise ValueError("\n".join("x" * 500_000))
