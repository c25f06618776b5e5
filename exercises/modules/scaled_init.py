"""GPT-2's initialisation: small normal weights, and smaller ones into the stream.

Every block adds twice to the residual stream, once after its attention and once after
its feed-forward network. With N layers these are 2N sums, and variances of independent
numbers add up: if each contribution had the variance s², the stream would end with 2N
s². So the matrices that write to the stream are made smaller by sqrt(2N), and a deep
stack starts as calm as a shallow one.

    weights of linear and embedding layers    normal, mean 0, standard deviation std
    weights of residual projections           normal, mean 0, standard deviation
                                              std / sqrt(2 * num_layers)
    biases of linear layers                   0
    layer norms                               left as they are

A residual projection is a linear layer whose full parameter name, as
`model.named_parameters()` gives it, ends in `.out.weight`, `.out_proj.weight`,
`.mlp.2.weight` or `.ffn.2.weight`. The dots belong to it:
`blocks.0.attn.checkout.weight` is none. A matrix that is tied to an embedding is an
embedding weight, by whatever name it goes.

The model is changed in place. Optimisers hold on to Parameters, and tied layers to each
other, so they must be the very same Parameters afterwards, with new numbers in them.

Example: num_layers 8, std 0.02, so that std / sqrt(2 * num_layers) is 0.005.

    tok_emb.weight            0.02        blocks.0.attn.out.weight  0.005
    blocks.0.attn.qkv.weight  0.02        blocks.0.mlp.2.weight     0.005
    blocks.0.mlp.0.weight     0.02        blocks.0.mlp.0.bias       0
    blocks.0.ln1.weight       left alone  head.weight               0.02

A tensor's own methods do all of it: `tensor.normal_(mean, std)` and `tensor.zero_()`
work in place, inside torch.no_grad(), and so do the functions of torch.nn.init.

What goes wrong: the first loss is far above log V (weights too large); training has no
effect (the optimiser still holds the old Parameters); a tied head is drawn twice, the
second time with the wrong size.

Edge cases with their own checks: tied weights, names that look alike, subclasses of
nn.Linear, trained layer norms, a second call.

Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners",
section 2.3 (residual layers scaled by 1/sqrt(N)); std 0.02, and N as the number of
residual sums, from the code published with it and its reimplementations.
"""

from torch import nn


def scaled_init_(model: nn.Module, num_layers: int, std: float = 0.02) -> None:
    """Draw the weights of `model` anew, in place.

    num_layers: N in std / sqrt(2 * N), for the residual projections.
    std:        standard deviation of all other weights.
    """
    raise NotImplementedError
