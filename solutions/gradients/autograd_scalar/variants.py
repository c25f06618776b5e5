"""Right answers to autograd_scalar in other styles."""

import heapq
import math


class closures_that_add:
    """Another way: each node has a function that adds to `grad`; all grads are set to 0 first."""

    class Value:
        def __init__(self, data):
            self.data, self.grad, self.children, self.push = float(data), 0.0, (), lambda: None

        @classmethod
        def lift(cls, other):
            return other if isinstance(other, cls) else cls(other)

        @classmethod
        def join(cls, data, children, push):
            result = cls(data)
            result.children, result.push = children, lambda: push(result.grad)
            return result

        def item(self):
            return self.data

        def __add__(self, other):
            other = self.lift(other)

            def push(grad):
                self.grad += grad
                other.grad += grad

            return self.join(self.data + other.data, (self, other), push)

        def __mul__(self, other):
            other = self.lift(other)

            def push(grad):
                self.grad += other.data * grad
                other.grad += self.data * grad

            return self.join(self.data * other.data, (self, other), push)

        def __pow__(self, exponent):
            def push(grad):
                self.grad += exponent * self.data ** (exponent - 1) * grad

            return self.join(self.data**exponent, (self,), push)

        def exp(self):
            power = math.exp(self.data)

            def push(grad):
                self.grad += power * grad

            return self.join(power, (self,), push)

        def tanh(self):
            t = math.tanh(self.data)

            def push(grad):
                self.grad += (1 - t * t) * grad

            return self.join(t, (self,), push)

        def relu(self):
            def push(grad):
                self.grad += (self.data > 0) * grad

            return self.join(self.data if self.data > 0 else 0.0, (self,), push)

        def __neg__(self):
            return self * -1

        def __sub__(self, other):
            return self + -self.lift(other)

        def __rsub__(self, other):
            return -self + other

        def __truediv__(self, other):
            return self * self.lift(other) ** -1

        def __rtruediv__(self, other):
            return self.lift(other) * self**-1

        __radd__, __rmul__ = __add__, __mul__

    def gradients(output, inputs):
        order, seen, waiting = [], set(), [(output, iter(output.children))]
        while waiting:
            value, left = waiting[-1]
            child = next(left, None)
            if child is None:
                waiting.pop()
                order.append(value)
            elif child not in seen:
                seen.add(child)
                waiting.append((child, iter(child.children)))
        for value in [*order, *inputs]:
            value.grad = 0.0
        output.grad = 1.0
        for value in reversed(order):
            value.push()
        return [value.grad for value in inputs]


class counts_the_uses:
    """Another way: each node counts the uses that have not passed on yet, and goes when none is left."""

    class Value:
        __slots__ = ("number", "parts")

        def __init__(self, data):
            self.number, self.parts = data, ()

        def item(self):
            return self.number

        def _made(self, number, *parts):
            value = type(self)(number)
            value.parts = parts
            return value

        def _other(self, other):
            return (other.number, other) if type(other) is type(self) else (other, None)

        def __add__(self, other):
            y, node = self._other(other)
            return self._made(self.number + y, (self, 1.0), *([(node, 1.0)] if node else []))

        def __radd__(self, other):
            return self.__add__(other)

        def __sub__(self, other):
            y, node = self._other(other)
            return self._made(self.number - y, (self, 1.0), *([(node, -1.0)] if node else []))

        def __rsub__(self, other):
            return self._made(other - self.number, (self, -1.0))

        def __mul__(self, other):
            y, node = self._other(other)
            return self._made(self.number * y, (self, y), *([(node, self.number)] if node else []))

        def __rmul__(self, other):
            return self.__mul__(other)

        def __truediv__(self, other):
            y, node = self._other(other)
            q = self.number / y
            return self._made(q, (self, 1 / y), *([(node, -q / y)] if node else []))

        def __rtruediv__(self, other):
            q = other / self.number
            return self._made(q, (self, -q / self.number))

        def __neg__(self):
            return self._made(-self.number, (self, -1.0))

        def __pow__(self, exponent):
            return self._made(self.number**exponent, (self, exponent * self.number ** (exponent - 1)))

        def exp(self):
            return self._made(math.exp(self.number), (self, math.exp(self.number)))

        def tanh(self):
            slope = 0.0 if abs(self.number) > 300 else 1 / math.cosh(self.number) ** 2
            return self._made(math.tanh(self.number), (self, slope))

        def relu(self):
            return self._made(self.number, (self, 1.0)) if self.number > 0 else self._made(0.0, (self, 0.0))

    def gradients(output, inputs):
        uses, stack = {id(output): 0}, [output]
        while stack:
            for source, _ in stack.pop().parts:
                if id(source) not in uses:
                    uses[id(source)] = 0
                    stack.append(source)
                uses[id(source)] += 1
        totals, free = dict.fromkeys(uses, 0.0), [output]
        totals[id(output)] = 1.0
        while free:
            value = free.pop()
            for source, slope in value.parts:
                totals[id(source)] += totals[id(value)] * slope
                uses[id(source)] -= 1
                if not uses[id(source)]:
                    free.append(source)
        return tuple(totals.get(id(value), 0.0) for value in inputs)


class numbered_nodes:
    """Another way: nodes have the number of their making, and a heap gives the latest one first."""

    _made = iter(range(10**9))

    class Value:
        def __init__(self, data):
            self.data, self.at, self.rule = data, next(numbered_nodes._made), ()

        def item(self):
            return self.data

        def __lt__(self, other):
            return self.at > other.at

        def _new(self, data, *rule):
            value = numbered_nodes.Value(data)
            value.rule = rule
            return value

        def __add__(self, other):
            x, y = self, numbered_nodes.constant(other)
            return self._new(x.data + y.data, (x, lambda g: g), (y, lambda g: g))

        def __sub__(self, other):
            x, y = self, numbered_nodes.constant(other)
            return self._new(x.data - y.data, (x, lambda g: g), (y, lambda g: -g))

        def __mul__(self, other):
            x, y = self, numbered_nodes.constant(other)
            return self._new(x.data * y.data, (x, lambda g: g * y.data), (y, lambda g: g * x.data))

        def __truediv__(self, other):
            x, y = self, numbered_nodes.constant(other)
            return self._new(
                x.data / y.data, (x, lambda g: g / y.data), (y, lambda g: -g * x.data / (y.data * y.data))
            )

        def __radd__(self, other):
            return numbered_nodes.constant(other) + self

        def __rsub__(self, other):
            return numbered_nodes.constant(other) - self

        def __rmul__(self, other):
            return numbered_nodes.constant(other) * self

        def __rtruediv__(self, other):
            return numbered_nodes.constant(other) / self

        def __neg__(self):
            return 0.0 - self

        def __pow__(self, n):
            return self._new(self.data**n, (self, lambda g: g * n * self.data ** (n - 1)))

        def exp(self):
            result = self._new(math.e**self.data)
            result.rule = ((self, lambda g: g * result.data),)
            return result

        def tanh(self):
            t = math.tanh(self.data)
            return self._new(t, (self, lambda g: g * (1 - t) * (1 + t)))

        def relu(self):
            return self._new(max(0.0, self.data), (self, lambda g: g if self.data > 0 else 0.0))

    def constant(other):
        return other if isinstance(other, numbered_nodes.Value) else numbered_nodes.Value(other)

    def gradients(output, inputs):
        heap, sums = [output], {output: 1.0}
        while heap:
            value = heapq.heappop(heap)
            for source, back in value.rule:
                if source not in sums:
                    sums[source] = 0.0
                    heapq.heappush(heap, source)
                sums[source] += back(sums[value])
        return [sums.get(value, 0.0) for value in inputs]
