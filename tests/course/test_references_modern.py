"""References of the track `modern` against implementations of another kind."""

from pathlib import Path

import numpy as np
import pytest

from grader.course.catalog import Course, load_file

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

COURSE = Course(Path(__file__).parents[2])


def reference_of(name):
    return load_file(f"reference_of_{name}", COURSE.solution(COURSE.katas[name], "reference"))


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def test_qk_norm_softcap_is_pytorch_s_attention_with_one_more_key():
    """PyTorch's attention takes the capped scores as its mask, and the sink as a key whose value is 0."""
    q, k, v = normal(2, 3, 4, 5), normal(2, 3, 6, 5), normal(2, 3, 6, 7)
    gamma_q, gamma_k, sink = normal(5), normal(5, seed=1), np.array([0.5, -np.inf, 3.0])
    result = reference_of("qk_norm_softcap").qk_norm_softcap(q, k, v, gamma_q, gamma_k, 1.5, sink)

    unit_q, unit_k = (
        torch.nn.functional.rms_norm(torch.from_numpy(x), (5,), torch.from_numpy(gamma), 1e-6)
        for x, gamma in ((q, gamma_q), (k, gamma_k))
    )
    scores = 1.5 * torch.tanh(torch.einsum("bhid,bhjd->bhij", unit_q, unit_k) / 5**0.5 / 1.5)
    scores = scores.masked_fill(~torch.ones(4, 6).tril(2).bool(), -torch.inf)
    extra = torch.from_numpy(sink)[None, :, None, None].expand(2, 3, 4, 1)
    expected = torch.nn.functional.scaled_dot_product_attention(
        torch.zeros(2, 3, 4, 5).double(),
        torch.zeros(2, 3, 7, 5).double(),
        torch.cat([torch.from_numpy(v), torch.zeros(2, 3, 1, 7).double()], dim=2),
        attn_mask=torch.cat([scores, extra], dim=-1),
    )
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-12)


def test_linear_attention_is_attention_whose_scores_are_logarithms():
    """The softmax of the logarithms of the weights gives each weight over the sum of all."""
    reference = reference_of("linear_attention")
    q, k, v = (torch.from_numpy(normal(2, 3, 7, width, seed=width)) for width in (4, 4, 5))
    weights = torch.einsum("bhid,bhjd->bhij", torch.nn.ELU()(q) + 1, torch.nn.ELU()(k) + 1)
    mask = weights.log().masked_fill(torch.ones(7, 7).triu(1).bool(), -torch.inf)
    nothing = torch.zeros_like(q)
    expected = torch.nn.functional.scaled_dot_product_attention(nothing, nothing, v, attn_mask=mask)

    torch.testing.assert_close(reference.linear_attention_parallel(q, k, v), expected)
    state = None
    for token in range(7):
        result, state = reference.linear_attention_step(q[:, :, token], k[:, :, token], v[:, :, token], state)
        torch.testing.assert_close(result, expected[:, :, token])
    for chunk_size in range(1, 9):
        result, last = reference.linear_attention_chunked(q, k, v, chunk_size)
        torch.testing.assert_close(result, expected)
        torch.testing.assert_close(last, state)


def test_rope_scaling_is_the_exponential_of_a_generator():
    """Each pair is turned by the exponential of a skew matrix whose frequency comes from wavelengths."""
    factor, length, positions, d_head = 8.0, 1000, [0, 3, 250], 12
    expected = torch.zeros(3, d_head, d_head, dtype=torch.float64)
    for row, position in enumerate(positions):
        generator = torch.zeros(d_head, d_head, dtype=torch.float64)
        for pair in range(d_head // 2):
            wavelength = 2 * np.pi * 10000 ** (pair / (d_head / 2))
            if length / wavelength > 32:
                slower = wavelength
            elif length / wavelength < 1:
                slower = wavelength * factor
            else:
                rest = (32 - length / wavelength) / 31
                slower = 1 / (rest / (wavelength * factor) + (1 - rest) / wavelength)
            angle = 2 * np.pi * position / slower
            generator[2 * pair, 2 * pair + 1], generator[2 * pair + 1, 2 * pair] = -angle, angle
        expected[row] = torch.linalg.matrix_exp(generator) * (1 + np.log(factor) / 10)

    x = normal(2, 3, d_head)
    result = reference_of("rope_scaling").rope_scaling(x, np.array(positions), factor, length)
    np.testing.assert_allclose(result, np.einsum("tij,btj->bti", expected.numpy(), x), atol=1e-10)


@pytest.mark.parametrize("ignore_index", [-100, 0])
def test_multi_token_loss_is_pytorch_s_cross_entropy_of_each_head(ignore_index):
    """The gradient by the logits agrees as well, which says where each head looks."""
    rng = np.random.default_rng(3)
    logits, targets = rng.standard_normal((3, 2, 5, 4)), rng.integers(0, 4, (2, 5))
    targets[0, 2] = targets[1, 4] = ignore_index
    loss = reference_of("multi_token_prediction").multi_token_loss

    rows = torch.from_numpy(logits).requires_grad_()
    heads = [
        torch.nn.functional.cross_entropy(
            rows[head, :, : 5 - head].flatten(0, 1),
            torch.from_numpy(targets)[:, head:].flatten(),
            ignore_index=ignore_index,
        )
        for head in range(3)
    ]
    expected = heads[0] + 0.7 * (heads[1] + heads[2]) / 2
    np.testing.assert_allclose(loss(logits, targets, 0.7, ignore_index), expected.item(), rtol=1e-12)

    expected.backward()
    direction = rng.standard_normal(logits.shape)
    ahead, behind = (loss(logits + step * direction, targets, 0.7, ignore_index) for step in (1e-5, -1e-5))
    slope = (rows.grad.numpy() * direction).sum()
    np.testing.assert_allclose((ahead - behind) / 2e-5, slope, rtol=1e-6)


def test_gated_delta_rule_is_a_product_of_transitions():
    """Each value reaches a result through the product of all later transition matrices."""
    reference = reference_of("gated_delta_rule")
    q, k, v = (torch.from_numpy(normal(2, 3, 7, width, seed=width)) for width in (4, 4, 5))
    k = torch.nn.functional.normalize(k, dim=-1)
    gate, beta = (torch.from_numpy(normal(2, 3, 7, seed=seed)).sigmoid() for seed in (1, 2))
    given = q, k, v, gate, beta
    keeps = gate[..., None, None] * (
        torch.eye(4) - beta[..., None, None] * torch.einsum("bhti,bhtj->bhtij", k, k)
    )
    expected = torch.zeros_like(v)
    for reader in range(7):
        for writer in range(reader + 1):
            path = torch.eye(4).double().expand(2, 3, 4, 4)
            for token in range(writer + 1, reader + 1):
                path = path @ keeps[:, :, token]
            share = torch.einsum("bhi,bhij,bhj->bh", k[:, :, writer], path, q[:, :, reader])
            expected[:, :, reader] += (beta[:, :, writer] * share)[..., None] * v[:, :, writer]

    torch.testing.assert_close(reference.gated_delta_parallel(*given), expected)
    state = None
    for token in range(7):
        result, state = reference.gated_delta_step(*(x[:, :, token] for x in given), state)
        torch.testing.assert_close(result, expected[:, :, token])
    for chunk_size in range(1, 9):
        result, last = reference.gated_delta_chunked(*given, chunk_size)
        torch.testing.assert_close(result, expected)
        torch.testing.assert_close(last, state)


def test_gated_delta_rule_steps_down_the_gradient():
    """A step is one of gradient descent on half of |S k - v|^2, at the rate beta, from the faded state."""
    q, k, v = (torch.from_numpy(normal(1, 2, width, seed=width)) for width in (3, 3, 4))
    k = torch.nn.functional.normalize(k, dim=-1)
    gate, beta = torch.tensor([[0.5, 0.9]]).double(), torch.tensor([[0.25, 1.0]]).double()
    before = torch.from_numpy(normal(1, 2, 4, 3))
    faded = (gate[..., None, None] * before).requires_grad_()
    loss = (torch.einsum("bhvk,bhk->bhv", faded, k) - v).square().sum() / 2
    (slope,) = torch.autograd.grad(loss, faded)
    expected = faded.detach() - beta[..., None, None] * slope
    result, after = reference_of("gated_delta_rule").gated_delta_step(q, k, v, gate, beta, before)
    torch.testing.assert_close(after, expected)
    torch.testing.assert_close(result, torch.einsum("bhvk,bhk->bhv", expected, q))


@pytest.mark.parametrize("capacity", [1, 2, 4, 9])
def test_expert_capacity_is_pytorch_s_topk_and_queues(capacity):
    """Without ties the picks are those of topk, and an expert serves a queue of tokens."""
    rng, reference = np.random.default_rng(capacity), reference_of("expert_capacity")
    scores, bias = torch.from_numpy(rng.random((9, 5))), torch.from_numpy(rng.normal(size=5))
    experts, slots, weights = reference.route_tokens(scores, bias, 3, capacity)
    picked = (scores + bias).topk(3).indices
    assert torch.equal(experts, picked)
    expected = torch.nn.functional.normalize(scores.gather(1, picked), p=1)
    served = torch.zeros(9, 3, dtype=torch.bool)
    for expert in range(5):
        queue = (picked == expert).nonzero()[:capacity]
        for place, (token, choice) in enumerate(queue.tolist()):
            assert slots[token, choice] == place
            served[token, choice] = True
    assert torch.equal(slots >= 0, served)
    assert torch.equal(slots == -1, ~served)
    torch.testing.assert_close(weights, expected * served)


def test_a_bias_that_is_updated_evens_out_the_load():
    """Batches whose scores prefer one expert are spread evenly in the end."""
    rng, reference = np.random.default_rng(0), reference_of("expert_capacity")
    assert reference.expert_capacity(9, 5, 3, 1.0) == 6
    bias, loads = torch.zeros(4).double(), []
    for _ in range(300):
        scores = torch.from_numpy(rng.random((64, 4)) * [1.0, 0.5, 0.5, 0.25])
        experts = reference.route_tokens(scores, bias, 2, 64)[0]
        loads.append(experts.flatten().bincount(minlength=4))
        bias = reference.update_bias(bias, experts, 0.01)
    assert loads[0].max() > 48
    assert all(abs(load - 32) < 6 for load in torch.stack(loads[-50:]).double().mean(0))
