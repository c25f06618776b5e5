import os
import unittest
from unittest import mock

import numpy as np

import layer_norm as ln

FEATURES = 6


def reference(x):
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)


class LayerNormTestCase(unittest.TestCase):
    TOLERANCE = 1e-6

    @classmethod
    def setUpClass(cls):
        cls.ones = np.ones(FEATURES)
        cls.zeros = np.zeros(FEATURES)

    def setUp(self):
        np.random.seed(42)
        self.x = np.random.randn(4, FEATURES)

    def norm(self, x):
        return ln.layer_norm(x, self.ones, self.zeros)

    def assert_close(self, got, expected):
        np.testing.assert_allclose(got, expected, atol=self.TOLERANCE)


class TestValues(LayerNormTestCase):
    def test_mean_is_zero(self):
        self.assert_close(self.norm(self.x).mean(axis=-1), 0.0)

    def test_variance_is_one(self):
        out = self.norm(self.x)
        for row in out:
            self.assertAlmostEqual(row.var(), 1.0, places=3)

    def test_against_reference(self):
        self.assert_close(self.norm(self.x), reference(self.x))

    def test_shift_does_not_matter(self):
        for shift in (-3.0, 0.5, 100.0):
            with self.subTest(shift=shift):
                np.testing.assert_allclose(self.norm(self.x + shift), self.norm(self.x), atol=1e-5)

    def test_gamma_and_beta(self):
        gamma, beta = np.arange(FEATURES, dtype=float), np.full(FEATURES, 2.0)
        out = ln.layer_norm(self.x, gamma, beta)
        self.assert_close(out, gamma * self.norm(self.x) + beta)
        self.assertTrue((out[:, 0] == 2.0).all())

    def test_constant_rows(self):
        out = self.norm(np.full((2, FEATURES), 7.0))
        self.assertFalse(np.isnan(out).any())
        self.assertLessEqual(np.abs(out).max(), self.TOLERANCE)


class TestInterface(LayerNormTestCase):
    def test_shapes(self):
        for shape in [(FEATURES,), (2, FEATURES), (2, 3, FEATURES)]:
            with self.subTest(shape=shape):
                self.assertEqual(self.norm(np.ones(shape)).shape, shape)

    def test_input_is_not_changed(self):
        before = self.x.copy()
        self.norm(self.x)
        np.testing.assert_array_equal(self.x, before)

    def test_wrong_gamma(self):
        with self.assertRaises(ValueError):
            ln.layer_norm(self.x, np.ones(FEATURES + 1), self.zeros)

    def test_wrong_gamma_message(self):
        self.assertRaisesRegex(
            ValueError, "one entry", ln.layer_norm, self.x, np.ones((2, FEATURES)), self.zeros
        )

    def test_returns_an_array(self):
        self.assertIsInstance(self.norm(self.x), np.ndarray)
        self.assertIsNotNone(self.norm(self.x[0]))

    @mock.patch("layer_norm.np.sqrt", side_effect=np.sqrt)
    def test_takes_one_root(self, sqrt):
        self.norm(self.x)
        self.assertEqual(sqrt.call_count, 1)

    @unittest.skipUnless(os.environ.get("SLOW"), "slow")
    def test_large(self):
        self.assertEqual(self.norm(np.ones((10**4, FEATURES))).shape, (10**4, FEATURES))


if __name__ == "__main__":
    unittest.main()
