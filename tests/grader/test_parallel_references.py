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
