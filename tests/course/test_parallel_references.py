"""The references of the track `parallel` give what one machine gives, by another implementation."""

from pathlib import Path

import numpy as np
import pytest

from grader.course.catalog import load_file
from grader.ranks import Ranks

SOLUTIONS = Path(__file__).parents[2] / "solutions" / "parallel"


def reference(kata, function):
    return getattr(load_file(f"reference_of_{kata}", SOLUTIONS / kata / "reference.py"), function)


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_tensor_parallel_is_the_layer_and_its_gradients_by_autograd(size):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    rng, ranks = np.random.default_rng(size), Ranks(size)
    x, w1, b1, w2, b2, grad = (
        rng.standard_normal(shape) for shape in ((5, 4), (4, 6), (6,), (6, 4), (4,), (5, 4))
    )
    own = zip(ranks.scatter(w1, 1), ranks.scatter(b1), ranks.scatter(w2), strict=True)
    arguments = [{"x": x, "w1": a, "b1": b, "w2": c, "b2": b2, "grad": grad} for a, b, c in own]
    answers = ranks.run(reference("tensor_parallel", "mlp_rank"), arguments, "all_reduce")
    leaves = [torch.tensor(array, requires_grad=True) for array in (x, w1, b1, w2, b2)]
    output = torch.relu(leaves[0] @ leaves[1] + leaves[2]) @ leaves[3] + leaves[4]
    output.backward(torch.tensor(grad))
    for answer in answers:
        np.testing.assert_allclose(answer[0], output.detach(), atol=1e-12)
        np.testing.assert_allclose(answer[1], leaves[0].grad, atol=1e-12)
        np.testing.assert_allclose(answer[5], leaves[4].grad, atol=1e-12)
    for index, axis, leaf in ((2, 1, 1), (3, 0, 2), (4, 0, 3)):
        joined = np.concatenate([answer[index] for answer in answers], axis)
        np.testing.assert_allclose(joined, leaves[leaf].grad, atol=1e-12)


@pytest.mark.parametrize(("size", "entries"), [(1, 5), (2, 6), (3, 7), (4, 5)])
def test_zero_step_is_adamw_of_pytorch_on_the_mean_gradient(size, entries):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    rng, zero_step = np.random.default_rng(size), reference("zero_step", "zero_step")
    options = {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1}
    theirs = torch.nn.Parameter(torch.tensor(rng.standard_normal(entries)))
    optimizer = torch.optim.AdamW([theirs], **options)
    length = -(-entries // size)
    copies = [theirs.detach().numpy().copy() for _ in range(size)]
    states = [(np.zeros(length), np.zeros(length)) for _ in range(size)]
    for step in range(1, 5):
        gradients, ranks = rng.standard_normal((size, entries)), Ranks(size)
        arguments = [
            {"parameter": copies[r], "gradient": gradients[r], "m": states[r][0], "v": states[r][1]}
            | {"step": step, "rank": r, "size": size, **options}
            for r in range(size)
        ]
        answers = ranks.run(zero_step, arguments, "reduce_scatter", "all_gather")
        copies, states = [answer[0] for answer in answers], [answer[1:] for answer in answers]
        theirs.grad = torch.tensor(gradients.mean(0))
        optimizer.step()
        for copy in copies:
            np.testing.assert_allclose(copy, theirs.detach(), atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_ring_attention_is_the_attention_of_pytorch(size, causal):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    rng, ranks = np.random.default_rng(size), Ranks(size)
    q, k, v = (rng.standard_normal((6, width)) for width in (4, 4, 3))
    own = zip(*map(ranks.scatter, (q, k, v)), strict=True)
    arguments = [
        {"q": a, "k": b, "v": c, "rank": rank, "size": size, "causal": causal}
        for rank, (a, b, c) in enumerate(own)
    ]
    answers = ranks.run(reference("ring_attention", "ring_attention"), arguments, "shift")
    whole = torch.nn.functional.scaled_dot_product_attention(
        *(torch.tensor(array) for array in (q, k, v)), is_causal=causal
    )
    np.testing.assert_allclose(np.concatenate(answers), whole, atol=1e-12)


def test_merging_pairs_sums_their_exponentials():
    rng, merge = np.random.default_rng(0), reference("ring_attention", "merge")
    outputs, sums = rng.standard_normal((2, 5, 3)), rng.standard_normal((2, 5, 1))
    sums[0, 1] = sums[1, 2] = sums[0, 3] = sums[1, 3] = -np.inf
    outputs[0, 1] = outputs[1, 2] = outputs[0, 3] = outputs[1, 3] = 0
    output, log_sum = merge((outputs[0], sums[0]), (outputs[1], sums[1]))
    for row in (0, 1, 2, 4):
        total = np.exp(sums[:, row]).sum()
        np.testing.assert_allclose(log_sum[row], np.log(total))
        np.testing.assert_allclose(output[row], (np.exp(sums[:, row]) * outputs[:, row]).sum(0) / total)
    assert (output[3].tolist(), log_sum[3].tolist()) == ([0.0] * 3, [-np.inf])
