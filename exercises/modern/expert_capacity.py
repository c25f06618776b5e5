"""Expert capacity: experts with a fixed number of places, and a bias that fills them.

On accelerators each expert of a mixture often gets a buffer of fixed size. A token that
finds the buffer of its expert full is dropped there: this expert does nothing for it,
and the residual connection carries it on. So tokens have to be spread evenly.
DeepSeek-V3 does this without a loss: a bias for each expert is added to the scores when
experts are picked, and after each batch it moves a little towards an even load.

Write the three parts. N is the number of tokens, E of experts, k is top_k.

    expert_capacity    factor * N * k / E, rounded up to a whole number

    route_tokens       sums     = scores + bias                              [N, E]
                       experts  = the k experts with a token's largest sums  [N, k]
                       slots    = the place of the token at each of them     [N, k]
                       weights  = the scores of its experts, each divided by the sum of
                                  these k scores                             [N, k]

    update_bias        load_e   = how many of the N * k picks are expert e   [E]
                       bias_e   + rate  where load_e is below N * k / E
                                - rate  where it is above
                                as it was where it is equal

The bias moves the picks and not the weights: weights come from the scores alone. The
experts of a token stand in the order of their sums, the largest first. Of equal sums
the one with the lower index comes first. torch.topk does not promise that; a stable
sort does.

Every expert has `capacity` places, 0 to capacity - 1. Tokens take them in the order in
which they stand in the batch, whatever their weights are and whether the expert is
their first pick or their last. Where all places are taken the pick is dropped: its slot
is -1 and its weight 0. The other weights of the token stay as they are, so they sum to
less than 1. A dropped pick is not sent to another expert, and it counts in the load.

Example: four tokens, three experts, k = 2 and factor 0.75 give the capacity
0.75 * 4 * 2 / 3 = 2. The bias is [0, 0, 0.25].

    scores              sums                experts   slots      weights
    0.75 0.50 0.25      0.75 0.50 0.50      0 1        0  0      0.6   0.4
    0.50 0.25 0.25      0.50 0.25 0.50      0 2        1  0      0.667 0.333
    0.75 0.25 0.50      0.75 0.25 0.75      0 2       -1  1      0     0.4
    0.25 0.50 0.50      0.25 0.50 0.75      2 1       -1  1      0     0.5

    loads 3, 2, 3; the mean is 8 / 3; with rate 0.125 the bias is [-0.125, 0.125, 0.125]

Elsewhere: Switch has k = 1 and takes a probability as the weight; some code rounds the
capacity down. GShard serves all first picks before all second ones, and Megatron can
keep the largest weights in place of the first tokens. DeepSeek-V3 drops no token; it
picks among groups of experts first and multiplies the weights by a constant.

What goes wrong: the bias gets into the weights; first and second picks are counted
apart, so that an expert gets more than its capacity; weights are made to sum to 1 again
after picks were dropped.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, equal sums, another device than the CPU.

Scores are above 0 and at most 1; biases have any sign. Not graded: gradients; factors
for which rounding errors decide the capacity.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Fedus, Zoph and Shazeer 2022, "Switch Transformers", section 2.2; DeepSeek-AI
2024, "DeepSeek-V3 Technical Report", section 2.1.2.
"""

import torch


def expert_capacity(
    num_tokens: int,
    num_experts: int,
    top_k: int,
    factor: float,
) -> int:
    """How many tokens an expert takes at most.

    num_tokens, num_experts, top_k: at least 1.
    factor:  above 0; 1 is enough if all experts get the same.
    returns: a whole number, at least 1.
    """
    raise NotImplementedError


def route_tokens(
    scores: torch.Tensor,
    bias: torch.Tensor,
    top_k: int,
    capacity: int,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Give each token its experts, its places there, and its weights.

    scores:   [N, E], float32 or float64.
    bias:     [E], in the dtype of scores.
    top_k:    how many experts a token gets.
    capacity: how many tokens an expert takes, at least 1; may exceed N.
    returns:  experts and slots, int64 [N, top_k]; weights [N, top_k], in the dtype of
              scores.

    Raises ValueError unless 1 <= top_k <= E.
    """
    raise NotImplementedError


def update_bias(bias: torch.Tensor, experts: torch.Tensor, rate: float) -> torch.Tensor:
    """Move each bias by `rate` towards an even load.

    bias:    [E], float32 or float64.
    experts: int64 [N, top_k], the picks of a batch; some experts may have none.
    rate:    above 0.
    returns: [E], in the dtype of bias. The argument is not changed.
    """
    raise NotImplementedError
