"""Has a required parameter that no call passes."""


def softmax(x, axis, temperature):
    return x / temperature + axis
