"""Run me: python check_sampling.py"""

import numpy as np

from sampling import temperature, top_k

rng = np.random.default_rng(0)
logits = rng.normal(size=(3, 8))
row = np.array([[1.0, 3.0, 2.0, 0.0]])

# top-k
print("top_k ...")
kept = top_k(row, 2)
assert kept.shape == row.shape
assert np.isfinite(kept).sum() == 2
assert kept[0, 1] == 3.0 and kept[0, 2] == 2.0

kept = top_k(logits, 3)
assert (np.isfinite(kept).sum(axis=-1) == 3).all(), "three tokens of each row are kept"
np.testing.assert_array_equal(kept[np.isfinite(kept)], logits[np.isfinite(kept)])

# k larger than the vocabulary keeps everything
kept = top_k(logits, 100)
assert np.array_equal(kept, logits)

for k in range(1, 5):
    out = top_k(row, k)
    assert np.isfinite(out).sum() == k

try:
    top_k(row, 0)
    assert False, "k = 0 must be refused"
except ValueError:
    pass

# temperature
print("temperature ...")
cold = temperature(logits, 0.5)
assert np.allclose(cold, 2 * logits)
warm = temperature(logits, 2.0)
assert np.allclose(warm, logits / 2)
assert warm.std() < logits.std() < cold.std()

try:
    temperature(logits, -1.0)
except ValueError as error:
    assert "positive" in str(error)
else:
    raise AssertionError("a negative temperature must be refused")

# both together
both = temperature(top_k(row, 2), 0.5)
assert np.isneginf(both).sum() == 2
assert both.max() == 6.0

if __name__ == "__main__":
    print("all checks passed")
