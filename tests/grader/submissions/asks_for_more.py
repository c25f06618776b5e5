"""Needs an argument that nobody gives."""


def softmax(x, axis, temperature):
    return x / temperature + axis
