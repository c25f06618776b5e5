"""Holtzman et al. 2020, section 3.1."""


def DROPS_LAST(**_):
    return {"probs": [1.0], "p": 0.5}


def UNSORTED(**_):
    return {"probs": [0.3, 0.7], "p": 0.5}


def BY_ITSELF(**_):
    return {"probs": [0.6, 0.4], "p": 0.3}
