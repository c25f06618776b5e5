"""Gradients of any computation, by a graph of numbers.

Backward passes by hand have to be written anew for every model. Autograd writes none of
them: while a computation runs, each number remembers from which others it was made.
Afterwards one walk from the result to the inputs gives all gradients, whatever was
computed. This is reverse mode; backpropagation is its use for neural networks.

A `Value` is a number, a node of the graph. Arithmetic with Values makes new Values, and
`gradients(output, inputs)` returns the derivative of `output` by each of the inputs.

    made by       derivative by x    and by y
    x + y         1                  1
    x - y         1                  -1
    x * y         y                  x
    x / y         1 / y              -x / y²
    -x            -1
    x ** n        n x^(n - 1)                          n is an int or a float
    x.exp()       e^x
    x.tanh()      1 - tanh(x)²
    x.relu()      1 where x is above 0, else 0         max(0, x)

In + - * and / one side may be an int or a float, on the left too: 2 * x, x + 1, 1 - x
and 2 / x are Values. Such a constant has no derivative.

By the chain rule each node passes its own derivative on, times those of the table. A
node that is used several times gets several parts, and they are added up: in x * x both
factors are x. It passes the sum on when it has the parts of all its uses, so each node
comes after all nodes that were made from it. Such an order is called topological.

Example: x = 2, y = 3, u = x * y = 6, v = u + x = 8, output = u * v = 48.

    output   1
    v        u = 6
    u        v + 6 = 14          from output, and from v; only now does it pass on
    x        6 + 14 y = 48       from v, and from u
    y        14 x = 28

    gradients(output, [x, y]) = [48, 28]
    gradients(output, [v, u]) = [6, 14]

In inputs may stand any Values, such as u, which was made on the way: its derivative is
that of output by u. The derivative of output by itself is 1, by a Value that it was not
made from 0.

`gradients` may be called several times, for one output or for several that have nodes
in common. Each call begins anew: it adds nothing to what an earlier call has found.

The graph may be deep: a chain of 5,000 nodes has its gradients, where Python ends a
recursion after about 1,000 calls. And each node is worked on once, however many paths
lead to it: twenty times x = x * x make twenty nodes and a million paths. (Arithmetic is
counted, by numbers that count it: a subclass of float stands in the Value then. For n
nodes there may be 10 n operations on such numbers in a call of gradients.)

Elsewhere: in micrograd and in PyTorch, `backward()` adds to what the attribute `grad`
holds already, so a second call doubles it unless it is set to 0 before. Here gradients
are returned, as `torch.autograd.grad` and JAX do.

What goes wrong: x * x has the derivative of one factor (the second part overwrites the
first, or a set holds x once); a node passes on what it has before all parts are there;
every path is walked by itself; a derivative that an earlier call left behind; 1 - x
computed as x - 1; tanh by exp, which overflows.

Edge cases with their own checks: differences, quotients and -x; constants on the left;
inputs that were made on the way; the ReLU of exactly 0; tanh of large numbers
(tanh(1000) is 1, its derivative 0).

Not graded: division by 0, powers that are not defined, exp of more than 700, exponents
that are Values, and whether constants become nodes.

Use plain Python; `math` has exp and tanh.

Source: Baydin, Pearlmutter, Radul and Siskind 2018, "Automatic Differentiation in
Machine Learning: a Survey", on reverse mode.
"""


class Value:
    """A number that remembers from which other Values it was made."""

    def __init__(self, data: float) -> None:
        """Make a Value that is made from no others."""
        raise NotImplementedError

    def item(self) -> float:
        """Return the number."""
        raise NotImplementedError

    def __add__(self, other: "Value | float") -> "Value":
        """Return self + other."""
        raise NotImplementedError

    def __radd__(self, other: float) -> "Value":
        """Return other + self. Python calls this for 1 + x."""
        raise NotImplementedError

    def __sub__(self, other: "Value | float") -> "Value":
        """Return self - other."""
        raise NotImplementedError

    def __rsub__(self, other: float) -> "Value":
        """Return other - self."""
        raise NotImplementedError

    def __mul__(self, other: "Value | float") -> "Value":
        """Return self * other."""
        raise NotImplementedError

    def __rmul__(self, other: float) -> "Value":
        """Return other * self."""
        raise NotImplementedError

    def __truediv__(self, other: "Value | float") -> "Value":
        """Return self / other."""
        raise NotImplementedError

    def __rtruediv__(self, other: float) -> "Value":
        """Return other / self."""
        raise NotImplementedError

    def __neg__(self) -> "Value":
        """Return -self."""
        raise NotImplementedError

    def __pow__(self, exponent: float) -> "Value":
        """Return self ** exponent."""
        raise NotImplementedError

    def exp(self) -> "Value":
        """Return e to the power of self."""
        raise NotImplementedError

    def tanh(self) -> "Value":
        """Return the hyperbolic tangent of self."""
        raise NotImplementedError

    def relu(self) -> "Value":
        """Return self if it is above 0, else 0."""
        raise NotImplementedError


def gradients(output: Value, inputs: list[Value]) -> list[float]:
    """Return the derivative of `output` by each Value of `inputs`, in their order.

    No Value's number is changed.
    """
    raise NotImplementedError
