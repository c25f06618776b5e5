from pathlib import Path

import numpy as np
import pytest


class Snapshot:
    def __init__(self, folder):
        self.folder = folder

    def assert_match(self, actual, name):
        path = self.folder / f"{name}.npy"
        if path.exists():
            np.testing.assert_allclose(actual, np.load(path), rtol=1e-4)


@pytest.fixture
def snapshot(request):
    return Snapshot(Path(request.path).parent / "_snapshots")


@pytest.fixture
def d_model():
    return 4


@pytest.fixture
def d_ff():
    return 6


@pytest.fixture
def in_embeddings(d_model):
    return np.random.default_rng(4).normal(size=(2, 3, d_model))


@pytest.fixture
def weights(d_model, d_ff):
    rng = np.random.default_rng(5)
    return (
        rng.normal(size=(d_ff, d_model)),
        rng.normal(size=(d_model, d_ff)),
        rng.normal(size=(d_ff, d_model)),
    )
