import numpy as np


def random_qkv(tokens, d_head, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(tokens, d_head)) for _ in range(3)]
