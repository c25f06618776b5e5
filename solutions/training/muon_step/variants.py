"""Right answers to muon_step in other styles."""

import math

import numpy as np


class as_public_code_does:
    """Tall matrices are transposed; the momentum and the weight are updated in place, on copies."""

    @staticmethod
    def orthogonalize(matrix, steps=5):
        """Another way: transpose a tall matrix, so that the products are small."""
        a, b, c = 3.4445, -4.7750, 2.0315
        x = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
        x = x / max(np.linalg.norm(x), x.dtype.type(1e-20))
        for _ in range(steps):
            gram = x @ x.T
            x = a * x + (b * gram + c * (gram @ gram)) @ x
        return x.T if matrix.shape[0] > matrix.shape[1] else x

    @staticmethod
    def muon_step(weight, gradient, momentum, lr=0.02, beta=0.95):
        weight, momentum = weight.copy(), momentum.copy()
        momentum *= beta
        momentum += gradient
        update = as_public_code_does.orthogonalize(gradient + momentum * beta)
        weight -= lr * max(1.0, weight.shape[0] / weight.shape[1]) ** 0.5 * update
        return weight, momentum


class on_the_singular_values:
    """The polynomial on the singular values themselves, from a decomposition in float64."""

    @staticmethod
    def orthogonalize(matrix, steps=5):
        left, values, right = np.linalg.svd(matrix.astype(np.float64), full_matrices=False)
        if values.any():
            values = values / np.linalg.norm(values)
        for _ in range(steps):
            values = 3.4445 * values - 4.775 * values**3 + 2.0315 * values**5
        return ((left * values) @ right).astype(matrix.dtype)

    @staticmethod
    def muon_step(weight, gradient, momentum, lr=0.02, beta=0.95):
        new = gradient + beta * momentum
        update = (1 + beta) * gradient + beta**2 * momentum
        length = math.sqrt(max(weight.shape[0], weight.shape[1]) / weight.shape[1])
        return weight - on_the_singular_values.orthogonalize(update) * (lr * length), new


class by_horner_from_the_right:
    """The other gram matrix, [n, n], and the polynomial in Horner's form; einsum for the norm."""

    @staticmethod
    def orthogonalize(matrix, steps=5):
        squares = np.einsum("mn,mn->", matrix, matrix)
        if squares == 0:
            return matrix.copy()
        x, one = matrix / np.sqrt(squares), np.eye(matrix.shape[1], dtype=matrix.dtype)
        for _ in range(steps):
            gram = x.T @ x
            x = x @ (3.4445 * one + gram @ (2.0315 * gram - 4.775 * one))
        return x

    @staticmethod
    def muon_step(weight, gradient, momentum, lr=0.02, beta=0.95):
        momentum = np.add(np.multiply(momentum, beta), gradient)
        direction = by_horner_from_the_right.orthogonalize(np.add(gradient, np.multiply(momentum, beta)))
        rows, columns = gradient.shape
        factor = lr * math.sqrt(rows / columns) if rows > columns else lr
        return [weight - factor * direction, momentum]
