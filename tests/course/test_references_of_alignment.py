"""The references for learning from rewards and preferences, against PyTorch and sums written out."""

import importlib.util
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

SOLUTIONS = Path(__file__).parents[2] / "solutions" / "training"


def reference(name):
    """Return the reference of a kata of the track as a module."""
    spec = importlib.util.spec_from_file_location(name, SOLUTIONS / name / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_answers_have_the_log_probability_of_torchs_cross_entropy():
    rng = np.random.default_rng(1)
    logits, ids = 3 * rng.standard_normal((3, 6, 5)), rng.integers(0, 5, (3, 6))
    is_answer = np.array([[0, 0, 0, 1, 1, 0], [0, 1, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0]], dtype=bool)
    labels = torch.tensor(np.where(is_answer, ids, -100))[:, 1:]
    scores = torch.tensor(logits)[:, :-1].transpose(1, 2)
    due = -F.cross_entropy(scores, labels, reduction="none").sum(dim=1)
    got = reference("dpo_loss").answer_log_probs(logits, ids, is_answer)
    np.testing.assert_allclose(got, due.numpy(), rtol=1e-12)


def test_dpo_has_the_loss_of_a_binary_cross_entropy_of_the_rewards():
    rng = np.random.default_rng(2)
    given = -20 * rng.random((4, 7))
    beta = 0.3
    margins = torch.tensor(beta * ((given[0] - given[2]) - (given[1] - given[3])))
    due = F.binary_cross_entropy_with_logits(margins, torch.ones_like(margins))
    np.testing.assert_allclose(reference("dpo_loss").dpo_loss(*given, beta), due.item(), rtol=1e-12)


def test_advantages_are_the_weighted_sum_of_all_estimates_of_n_steps():
    """Section 3: (1 - lam) times the sum of lam^(n - 1) times the estimate that looks n steps ahead."""
    rng, gamma, lam = np.random.default_rng(3), 0.9, 0.7
    rewards, values = rng.standard_normal((2, 1, 5))
    last_value, dones = rng.standard_normal(1), np.zeros((1, 5), dtype=bool)
    ahead = [*values[0], last_value[0]]
    due = []
    for t in range(5):
        estimates = [
            sum(gamma**k * rewards[0, t + k] for k in range(n)) + gamma**n * ahead[t + n] - values[0, t]
            for n in range(1, 6 - t)
        ]
        mixed = sum((1 - lam) * lam ** (n - 1) * x for n, x in enumerate(estimates[:-1], start=1))
        due.append(mixed + lam ** (len(estimates) - 1) * estimates[-1])  # all longer ones look as far
    advantages, returns = reference("gae").gae(rewards, values, dones, last_value, gamma, lam)
    np.testing.assert_allclose(advantages[0], due, rtol=1e-12)
    np.testing.assert_allclose(returns, advantages + values)


def test_two_episodes_in_a_row_have_the_advantages_of_each_alone():
    rng = np.random.default_rng(4)
    rewards, values = rng.standard_normal((2, 2, 6))
    last_value, dones = rng.standard_normal(2), np.zeros((2, 6), dtype=bool)
    dones[:, 3] = True
    gae = reference("gae").gae
    got = gae(rewards, values, dones, last_value)
    first = gae(rewards[:, :4], values[:, :4], dones[:, :4], np.zeros(2))
    second = gae(rewards[:, 4:], values[:, 4:], dones[:, 4:], last_value)
    for whole, *parts in zip(got, first, second, strict=True):
        np.testing.assert_allclose(whole, np.concatenate(parts, axis=1), rtol=1e-12)


def test_advantages_in_a_group_are_torchs_standardised_rewards():
    rewards = np.random.default_rng(5).standard_normal((3, 6))
    x = torch.tensor(rewards)
    due = (x - x.mean(1, keepdim=True)) / x.std(1, correction=0, keepdim=True)
    np.testing.assert_allclose(reference("grpo_loss").group_advantages(rewards), due.numpy(), rtol=1e-12)


def test_grpo_has_the_gradient_of_its_formula():
    """A token has ratio * advantage where not limited, plus kl_weight * (reference / policy - 1), over
    the length of its answer and the number of answers."""
    rng, clip, weight = np.random.default_rng(6), 0.2, 0.3
    old = -1 - rng.random((4, 5))
    new, reference_log_probs = old + rng.standard_normal((2, 4, 5)) * 0.5
    advantages, mask = rng.standard_normal(4), rng.random((4, 5)) < 0.7
    mask[:, 0] = True
    ratio = np.exp(new - old)
    good = advantages[:, None] > 0
    free = np.where(good, ratio < 1 + clip, ratio > 1 - clip)
    slope = np.where(free, ratio * advantages[:, None], 0) + weight * (np.exp(reference_log_probs - new) - 1)
    due = -slope * mask / mask.sum(axis=1, keepdims=True) / 4
    loss = reference("grpo_loss").grpo_loss
    given = old, reference_log_probs, advantages, mask, clip, weight
    for at in np.ndindex(new.shape):
        step = np.zeros_like(new)
        step[at] = 1e-6
        got = (loss(new + step, *given) - loss(new - step, *given)) / 2e-6
        np.testing.assert_allclose(got, due[at], atol=1e-8)


def test_orthogonalizing_applies_the_polynomial_to_the_singular_values():
    for shape in [(3, 5), (5, 3), (4, 4)]:
        matrix = np.random.default_rng(7).standard_normal(shape)
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        values = values / np.sqrt((values**2).sum())
        for _ in range(5):
            values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
        got = reference("muon_step").orthogonalize(matrix)
        np.testing.assert_allclose(got, (left * values) @ right, rtol=1e-9, atol=1e-12)


def test_muon_moves_by_torchs_nesterov_momentum_orthogonalized():
    rng, muon = np.random.default_rng(8), reference("muon_step")
    weight, momentum = rng.standard_normal((4, 2)), np.zeros((4, 2))
    plain = torch.zeros((4, 2), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([plain], lr=1.0, momentum=0.9, nesterov=True)
    for _ in range(3):
        gradient, before = rng.standard_normal((4, 2)), plain.detach().clone()
        plain.grad = torch.tensor(gradient)
        optimizer.step()
        update = (before - plain.detach()).numpy()
        due = weight - 0.1 * 2**0.5 * muon.orthogonalize(update)
        weight, momentum = muon.muon_step(weight, gradient, momentum, lr=0.1, beta=0.9)
        np.testing.assert_allclose(weight, due, rtol=1e-9)
