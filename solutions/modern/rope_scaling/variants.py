"""Right answers to rope_scaling in other styles."""

import math

import numpy as np


class pair_by_pair:
    """Loops over the pairs, with the three cases written out."""

    @staticmethod
    def yarn_frequencies(d_head, factor, original_length, base=10000.0, beta_fast=32.0, beta_slow=1.0):
        assert d_head % 2 == 0
        assert factor >= 1
        found = []
        for i in range(d_head // 2):
            theta = base ** (-2 * i / d_head)
            turns = original_length / (2 * math.pi / theta)
            if turns > beta_fast:
                found.append(theta)
            elif turns < beta_slow:
                found.append(theta / factor)
            else:
                share = (turns - beta_slow) / (beta_fast - beta_slow)
                found.append((1 - share) * theta / factor + share * theta)
        return np.array(found)

    @staticmethod
    def rope_scaling(x, positions, factor, original_length, base=10000.0, beta_fast=32.0, beta_slow=1.0):
        found = pair_by_pair.yarn_frequencies(
            x.shape[-1], factor, original_length, base, beta_fast, beta_slow
        )
        result = np.empty_like(x)
        for i, frequency in enumerate(found):
            angle = positions.astype(np.float64) * frequency
            cos, sin = np.cos(angle), np.sin(angle)
            a, b = x[..., 2 * i], x[..., 2 * i + 1]
            result[..., 2 * i] = (a * cos - b * sin) * (1 + math.log(factor) / 10)
            result[..., 2 * i + 1] = (a * sin + b * cos) * (1 + math.log(factor) / 10)
        return result


class as_complex_numbers:
    """Another way: read each pair as one complex number, which a product turns and lengthens.

    The scale of the temperature is part of that product."""

    @staticmethod
    def yarn_frequencies(d_head, factor, original_length, base=10000.0, beta_fast=32.0, beta_slow=1.0):
        if d_head % 2 != 0 or factor < 1.0:
            raise ValueError("d_head must be even and factor at least 1")
        frequencies = np.exp(np.linspace(0, 1, d_head // 2, endpoint=False) * -math.log(base))
        turns = frequencies * original_length / math.tau
        share = np.minimum(np.maximum((turns - beta_slow) / (beta_fast - beta_slow), 0), 1)
        return frequencies * (share + (1 - share) / factor)

    @staticmethod
    def rope_scaling(x, positions, factor, original_length, base=10000.0, beta_fast=32.0, beta_slow=1.0):
        frequencies = as_complex_numbers.yarn_frequencies(
            x.shape[-1], factor, original_length, base, beta_fast, beta_slow
        )
        turns = (1 + 0.1 * np.log(factor)) * np.exp(1j * np.outer(positions, frequencies))
        pairs = (x[..., ::2] + 1j * x[..., 1::2]) * turns
        return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape).astype(x.dtype)


class interpolated:
    """The ramp by np.interp; x is lengthened before it is turned."""

    @staticmethod
    def yarn_frequencies(d_head, factor, original_length, base=10000.0, beta_fast=32.0, beta_slow=1.0):
        if d_head % 2:
            raise ValueError("odd")
        if factor < 1:
            raise ValueError("factor")
        frequencies = 1.0 / np.power(base, np.arange(0, d_head, 2) / d_head)
        periods = 2 * np.pi / frequencies
        return frequencies * np.interp(original_length / periods, [beta_slow, beta_fast], [1 / factor, 1.0])

    @staticmethod
    def rope_scaling(x, positions, factor, original_length, base=10000.0, beta_fast=32.0, beta_slow=1.0):
        frequencies = interpolated.yarn_frequencies(
            x.shape[-1], factor, original_length, base, beta_fast, beta_slow
        )
        angles = np.repeat(np.einsum("t,i->ti", positions, frequencies), 2, axis=-1)
        longer = x * (0.1 * math.log(factor) + 1.0)
        other = np.empty_like(longer)
        other[..., 0::2], other[..., 1::2] = -longer[..., 1::2], longer[..., 0::2]
        return longer * np.cos(angles).astype(x.dtype) + other * np.sin(angles).astype(x.dtype)
