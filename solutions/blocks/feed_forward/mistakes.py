"""What people write instead, and what to tell them."""

import math

import numpy as np

from grader.mistakes import crude, subtle


def _relu(h):
    return np.maximum(h, 0)


def _plain(h):
    return h


def _feed(x, w1, b1, w2, b2, *, before=_plain, activate=_relu, after=_plain):
    return after(activate(before(x) @ w1 + b1) @ w2 + b2)


@crude
def forgets_the_relu(x, w1, b1, w2, b2):
    """The network is linear: two matrices without anything between them are one. Negative hidden numbers
    reach the second product. Check what happens between the two products."""
    return _feed(x, w1, b1, w2, b2, activate=_plain)


def puts_the_relu_at_the_end(x, w1, b1, w2, b2):
    """No result is negative, and the two products are one linear map: the ReLU stands behind the second
    product. It belongs between the two; check what it is given."""
    return _feed(x, w1, b1, w2, b2, activate=_plain, after=_relu)


def cuts_the_result_off_too(x, w1, b1, w2, b2):
    """No result is negative. The hidden layer is right, but a second ReLU stands at the end, and the layer
    could then only ever add to the residual stream. Check the last line."""
    return _feed(x, w1, b1, w2, b2, after=_relu)


def puts_the_relu_before_both(x, w1, b1, w2, b2):
    """Negative numbers of x have no effect, and what follows is linear: the ReLU is applied to the input. It
    belongs between the two products; check what it is given."""
    return _feed(x, w1, b1, w2, b2, before=_relu, activate=_plain)


def adds_b1_after_the_relu(x, w1, b1, w2, b2):
    """Right where b1 is zero. The ReLU was taken of x w1 alone, so b1 cannot move the point at which a unit
    wakes up. Check the order of the addition and the ReLU."""
    return (_relu(x @ w1) + b1) @ w2 + b2


def forgets_b1(x, w1, b1, w2, b2):
    """Right where b1 is zero. The first product has no bias. Check both lines for their own bias."""
    return _feed(x, w1, np.zeros_like(b1), w2, b2)


def forgets_b2(x, w1, b1, w2, b2):
    """Right where b2 is zero; a token whose hidden units are all cut off gets zero and not b2. Check both
    lines for their own bias."""
    return _feed(x, w1, b1, w2, np.zeros_like(b2))


def takes_the_gelu(x, w1, b1, w2, b2):
    """Negative hidden numbers leave a little behind and small positive ones lose some: this is GELU, as in
    GPT. The Transformer of 2017 cuts at zero and leaves the rest as it is. Check the activation."""
    error = np.vectorize(math.erf, otypes=[x.dtype])
    return _feed(x, w1, b1, w2, b2, activate=lambda h: h * (1 + error(h / math.sqrt(2))) / 2)


def lets_a_little_through(x, w1, b1, w2, b2):
    """Negative hidden numbers still reach the result, a hundredth of them: this is a leaky ReLU. Here they
    become 0. Check the activation."""
    return _feed(x, w1, b1, w2, b2, activate=lambda h: np.where(h > 0, h, h * x.dtype.type(0.01)))


def takes_the_size(x, w1, b1, w2, b2):
    """Negative hidden numbers come back with the other sign: their absolute value was taken. A unit that is
    below zero is silent. Check the activation."""
    return _feed(x, w1, b1, w2, b2, activate=np.abs)


@subtle
def cuts_off_at_six(x, w1, b1, w2, b2):
    """Large hidden numbers are lost: the activation is bounded from above as well (ReLU6). There is one
    bound, 0, from below. Check the activation with an input of 100."""
    return _feed(x, w1, b1, w2, b2, activate=lambda h: np.clip(h, 0, 6))


@subtle
def cuts_off_at_a_hundred(x, w1, b1, w2, b2):
    """Activations above 100 come out as 100: they are clipped at both ends. ReLU has one bound, 0, from
    below; check what clips the activations."""
    return _feed(x, w1, b1, w2, b2, activate=lambda h: np.clip(h, 0, 100))


def marks_the_awake_units(x, w1, b1, w2, b2):
    """The size of the hidden numbers is lost: the hidden layer holds ones and zeros, the answer to "is it
    above 0?". That answer is to be multiplied by the number itself."""
    return _feed(x, w1, b1, w2, b2, activate=lambda h: (h > 0).astype(h.dtype))


def takes_the_maximum_over_an_axis(x, w1, b1, w2, b2):
    """Tokens get each other's hidden numbers: np.max(hidden, 0) is the largest along axis 0, and no
    comparison with zero. For each number by itself there is np.maximum."""
    return _feed(x, w1, b1, w2, b2, activate=lambda h: np.broadcast_to(np.max(h, 0), h.shape))


def silences_whole_tokens(x, w1, b1, w2, b2):
    """Negative hidden numbers survive in some tokens and positive ones vanish in others: the sum of a token
    decides for all of its units. ReLU looks at each number by itself."""
    return _feed(x, w1, b1, w2, b2, activate=lambda h: h * (h.sum(axis=-1, keepdims=True) > 0))


def transposes_the_tokens(x, w1, b1, w2, b2):
    """Right for [T, d_model], wrong with a batch in front: `.T` reverses all axes, so batch and tokens change
    places. Tokens stand in rows; check whether x needs a transpose at all."""
    return (w2.T @ _relu(w1.T @ x.T + b1[(..., *[None] * (x.ndim - 1))])).T + b2


def transposes_the_matrices(x, w1, b1, w2, b2):
    """The shapes fit only where d_ff equals d_model, and the numbers are others. The matrices are
    [inputs, outputs] here; it is nn.Linear that stores them the other way round. Check both products for
    a transpose."""
    return _feed(x, w1.T, b1, w2.T, b2)


def narrows_with_the_first_matrix(x, w1, b1, w2, b2):  # noqa: ARG001 - the mistake
    """w2 has no effect: the way back goes through w1 transposed. The two matrices are learnt separately.
    Check which one the second product takes."""
    return _feed(x, w1, b1, w1.T, b2)


def joins_the_leading_axes(x, w1, b1, w2, b2):
    """The numbers are right, the shape is [rows, d_model]: batch and tokens were joined and never parted
    again. The result has the shape of x; check it with a batch and with a single vector."""
    return _feed(x.reshape(-1, x.shape[-1]), w1, b1, w2, b2)


@subtle
def expects_three_axes_at_most(x, w1, b1, w2, b2):
    """Right for one vector, for tokens and for a batch. With one more axis in front, the result has lost it:
    leading axes are joined. The product works on the last axis, whatever stands in front."""
    rows = x.reshape(-1, *x.shape[-2:]) if x.ndim > 3 else x
    return _feed(rows, w1, b1, w2, b2)


def adds_the_residual(x, w1, b1, w2, b2):
    """x itself is in the result. The residual connection is right in a layer, but it is the layer that adds
    it; the network returns its own part only."""
    return x + _feed(x, w1, b1, w2, b2)


def normalises_the_input(x, w1, b1, w2, b2):
    """Twice as large an input gives the same result: x was layer-normed on the way in. The norm belongs to
    the layer around this network. Check the first line."""

    def norm(rows):
        spread = np.sqrt(rows.var(axis=-1, keepdims=True) + x.dtype.type(1e-5))
        return (rows - rows.mean(axis=-1, keepdims=True)) / spread

    return _feed(x, w1, b1, w2, b2, before=norm)


@subtle
def keeps_the_first_weights(x, w1, b1, w2, b2):
    """The first call is right; later ones of the same widths work with its weights. Every call brings its
    own. Check what outlives the call."""
    weights = _WEIGHTS.setdefault((w1.shape, w1.dtype), (w1, b1, w2, b2))
    return _feed(x, *weights)


_WEIGHTS = {}


@subtle
def overwrites_x(x, w1, b1, w2, b2):
    """The caller's x holds the result after the call, and the residual connection still needs what was
    there. Check assignments into `x[...]`, `+=` and `out=`."""
    x[...] = _feed(x, w1, b1, w2, b2)
    return x
