"""Vaswani et al. 2017, section 3.2.3."""


def FIRST_CORNER(**_):
    return {"query_len": 1, "key_len": 2}


def BLIND(**_):
    return {"query_len": 1, "key_len": 1}


def WINDOW(**_):
    return {"query_len": 1, "key_len": 5}
