"""Baydin, Pearlmutter, Radul and Siskind 2018: reverse mode on a graph of scalars."""

import math


class Value:
    """A number, with the Values it was made from and the derivative by each."""

    def __init__(self, data):
        self.data = data
        self.made_from = []  # pairs of a Value and the derivative by it

    def item(self):
        return self.data

    def __add__(self, other):
        return made(self.data + number(other), (self, 1.0), (other, 1.0))

    def __radd__(self, other):
        return self + other

    def __sub__(self, other):
        return made(self.data - number(other), (self, 1.0), (other, -1.0))

    def __rsub__(self, other):
        return made(other - self.data, (self, -1.0))

    def __mul__(self, other):
        return made(self.data * number(other), (self, number(other)), (other, self.data))

    def __rmul__(self, other):
        return self * other

    def __truediv__(self, other):
        x, y = self.data, number(other)
        return made(x / y, (self, 1 / y), (other, -x / y**2))

    def __rtruediv__(self, other):
        return made(other / self.data, (self, -other / self.data**2))

    def __neg__(self):
        return made(-self.data, (self, -1.0))

    def __pow__(self, exponent):
        return made(self.data**exponent, (self, exponent * self.data ** (exponent - 1)))

    def exp(self):
        power = math.exp(self.data)
        return made(power, (self, power))

    def tanh(self):
        result = math.tanh(self.data)
        return made(result, (self, 1 - result**2))

    def relu(self):
        return made(max(self.data, 0.0), (self, 1.0 if self.data > 0 else 0.0))


def number(value):
    """The number of a Value, or the constant itself."""
    return value.data if isinstance(value, Value) else value


def made(data, *pairs):
    """A Value that was made from others; constants are left out."""
    value = Value(data)
    value.made_from = [(source, slope) for source, slope in pairs if isinstance(source, Value)]
    return value


def gradients(output, inputs):
    """From the output to the inputs, each node after all that were made from it."""
    found = {id(output): 1.0}
    for value in reversed(in_order(output)):
        for source, slope in value.made_from:
            found[id(source)] = found.get(id(source), 0.0) + slope * found[id(value)]
    return [found.get(id(value), 0.0) for value in inputs]


def in_order(output):
    """All nodes of the graph, each after those that it was made from."""
    order, seen, stack = [], set(), [(output, False)]
    while stack:
        value, is_ready = stack.pop()
        if is_ready:
            order.append(value)
        elif id(value) not in seen:
            seen.add(id(value))
            stack.append((value, True))
            stack.extend((source, False) for source, _ in value.made_from)
    return order
