"""A whole decoder block, backwards.

A model learns by its gradients, and nearly all of them are those of its blocks. The
backward pass of a block has no formula of its own. It takes the steps of the forward
pass in the opposite order, and asks of each: given the gradient of the loss by what the
step returns, what is the gradient by what the step was given? Two rules hold the parts
together. What is used twice gets two gradients, and they are added. And a weight that
all tokens share gets a gradient from each of them.

The block is that of a GPT, with a norm in front of each half (pre-norm). B is batch, T
tokens, H heads, d_head = d_model / H:

    a        layer norm of x by norm1_gamma, norm1_beta           [B, T, d_model]
    q, k, v  a w_q, a w_k, a w_v, cut into heads                  [B, H, T, d_head]
    scores   q kᵀ / sqrt(d_head)                                  [B, H, T, T]
    weights  softmax over the keys that are not later             [B, H, T, T]
    heads    weights v, heads side by side again                  [B, T, d_model]
    h        x + heads w_o                                        [B, T, d_model]
    c        layer norm of h by norm2_gamma, norm2_beta           [B, T, d_model]
    hidden   max(0, c w1 + b1)                                    [B, T, d_ff]
    out      h + hidden w2 + b2                                   [B, T, d_model]

Head i owns the i-th block of d_head neighbouring columns of w_q, w_k and w_v. The mask
is causal: token t reads the tokens 0 ... t. Layer norm is that of the kata
`layer_norm`: (row - mean) / sqrt(variance + 1e-5), with the biased variance, then gamma
and beta.

`dout` is the gradient of the loss by out. Return dx and the gradient by each of the
twelve weights: those of the number sum(dout * out), where dout is constant. What comes
back through the steps, each in the shape of what it belongs to:

    y = z w          dz = dy wᵀ, and dw = zᵀ dy added up over batch and tokens
    y = z + b        dz = dy, and db = dy added up over batch and tokens
    y = max(0, z)    dz = dy where z is above 0, and 0 elsewhere
    y = z + f(z)     dz = dy + what comes back through f
    out = weights v  dweights = dout vᵀ                           [B, H, T, T]
                     dv = weightsᵀ dout                           [B, H, T, d_head]
    softmax          dscores = weights * (dweights - r), r the sum of weights * dweights
                     of each row                                  [B, H, T, T]
    scores           dq = dscores k / sqrt(d_head), dk = dscoresᵀ q / sqrt(d_head)
    layer norm       with normal = (row - mean) / s, s = sqrt(variance + 1e-5) and
                     g = dy * gamma: dz = (g - average of g - normal * average of
                     (g * normal)) / s, the averages over each row; dgamma = dy * normal
                     and dbeta = dy, added up over batch and tokens

Example: one token x = [[[1, 2, 0, 1]]], one head, all six matrices the 4x4 identity,
b1 = [0.5, 0.5, 0.5, 0.5], b2 = 0, gammas 1, betas 0, and dout = [[[0, 1, 0, 0]]].

    a = [0, 1.414, -1.414, 0]               h = [1, 3.414, -1.414, 1]
    c = [0, 1.414, -1.414, 0]               hidden = [0.5, 1.914, 0, 0.5]
    gradient by c   [0, 1, 0, 0]            dw2: column 1 is [0.5, 1.914, 0, 0.5]
    gradient by h   [0, 1, 0, 0]            the residual path
                    + [-0.146, 0.146, 0.146, -0.146]             through the norm
    gradient by a   that by h, since one token has the weight 1
    dx              [-0.146, 1.146, 0.146, -0.146]               the residual path
                    + [-0.561, 0.561, 0.561, -0.561]             through the norm
                    = [-0.707, 1.707, 0.707, -0.707]

Elsewhere: autograd keeps the forward pass's tensors; here the backward pass gets x and
the weights, and computes them again. llm.c writes the same backward pass in C, and adds
to gradients that are there already; here new arrays are returned.

What goes wrong: a residual path without its gradient; the attention half gets dout,
where h also passed through the second half; gradients by a through v alone; bias and
gamma summed over the batch and not over the tokens; matrices that are not turned, which
square ones hide; averages over the batch.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, scores beyond 88 in size, a single token.

Source: the rule is that of Rumelhart, Hinton and Williams 1986, "Learning
representations by back-propagating errors"; the parts are from Vaswani et al. 2017,
"Attention Is All You Need", and Ba, Kiros and Hinton 2016, "Layer Normalization"; the
norms stand as in Xiong et al. 2020, "On Layer Normalization in the Transformer
Architecture".
"""

import numpy as np


def block_backward(
    dout: np.ndarray,
    x: np.ndarray,
    params: dict[str, np.ndarray],
    num_heads: int,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the gradients (dx, gradients) of a pre-norm decoder block.

    dout:      [B, T, d_model], the gradient of the loss with respect to the result.
    x:         [B, T, d_model], the input of the forward pass.
    params:    w_q, w_k, w_v, w_o [d_model, d_model]
               w1 [d_model, d_ff]    b1 [d_ff]    w2 [d_ff, d_model]    b2 [d_model]
               norm1_gamma, norm1_beta, norm2_gamma, norm2_beta [d_model]
    num_heads: H; it divides d_model.
    returns:   dx [B, T, d_model], and a dict with the names of `params`, which holds
               the gradient by each weight in the weight's shape; all in the dtype of
               the arrays, which is the same for all.

    Neither the arrays nor `params` itself are changed.
    """
    raise NotImplementedError
