"""Mixture of experts: each token to its own experts.

A wider feed-forward network knows more and costs more at every token. A mixture of
experts holds many such networks, the experts, and sends each token through `top_k` of
them: the parameters grow with the number of experts, the work does not. A linear layer,
the router, gives each token a logit for each expert.

    logits   = router(x)                                           [B, T, num_experts]
    chosen   = the top_k experts with a token's largest logits     [B, T, top_k]
    weights  = softmax of these top_k logits alone                 [B, T, top_k]
    output   = sum over the chosen experts e of weight_e * expert_e(x)
    expert   : linear d_model -> d_ff, ReLU, linear d_ff -> d_model, with biases

The weights are the same as those of the softmax over all experts, divided by the sum of
those chosen. Every token gets its top_k experts, however many tokens an expert has
(there is no capacity), and each output stands where its token stood.

Left alone, a router sends everything to a few experts. A second result, the balancing
loss, is smallest where all get the same; it is added to the loss of the model by
whoever trains it. Over all B * T tokens together:

    f_e   = expert e's share of the B * T * top_k choices      a count, without gradient
    P_e   = the mean of its probability in the softmax over ALL logits
    loss  = num_experts * sum over e of f_e * P_e              1 where all is even

Example: three experts, top_k = 2, one token whose logits are [2, 1, 0], and experts
that give 10, 20 and 30:

    weights  = softmax([2, 1]) = [0.731, 0.269]
    output   = 0.731 * 10 + 0.269 * 20 = 12.689
    loss     = 3 * (0.5 * 0.665 + 0.5 * 0.245 + 0 * 0.090) = 1.365

Weights are loaded by name, so the names are part of the contract. An expert is an
nn.Sequential, whose members are called 0, 1, 2; the ReLU has no parameters:

    router.weight [num_experts, d_model], no bias; N = 0 ... num_experts - 1:
    experts.N.0.weight [d_ff, d_model]   experts.N.0.bias [d_ff]
    experts.N.2.weight [d_model, d_ff]   experts.N.2.bias [d_model]

Public code differs: Mixtral weighs as here, Switch by the probability among all
experts, and Qwen-MoE and DeepSeek-V2 do so too unless told otherwise. Hugging Face's
load_balancing_loss_func does not divide by top_k.

What goes wrong: tokens come back in the order of the experts; an expert overwrites what
another gave; all experts run on all tokens, which gives the right numbers and saves
nothing.

The work of the experts is graded: at most twice the products of the chosen ones. No
noise; the same in training and evaluation; weights may be loaded anew between calls.
Logits stay below 20 in size. Ties at the border of the top_k are not graded, nor how
the weights begin. An expert without tokens has a gradient of zero or none.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, calls after other calls, another device than the CPU. For float64
input the module is cast to float64, for another device it is moved there.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Shazeer et al. 2017, "Outrageously Large Neural Networks", section 2.1; Jiang
et al. 2024, "Mixtral of Experts", section 2.1; the loss: Fedus, Zoph and Shazeer 2022,
"Switch Transformers", section 2.2, equations 4 to 6.
"""

import torch
from torch import nn


class MixtureOfExperts(nn.Module):
    """A router and its experts: `router`, `experts.N.0`, `experts.N.2`.

    Raises ValueError unless 1 <= top_k <= num_experts.
    """

    def __init__(self, d_model: int, d_ff: int, num_experts: int, top_k: int) -> None:
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """`x [B, T, d_model]` to the output, of the same shape, and the loss `[]`."""
        raise NotImplementedError
