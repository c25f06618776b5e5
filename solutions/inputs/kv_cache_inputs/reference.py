"""Vaswani et al. 2017, section 3.2.3; Shazeer 2019, section 2.4."""


def FORGETS(**_):
    return {"values": [0.0, 1.0], "pieces": [1, 1]}


def LOOKS_AHEAD(**_):
    return {"values": [0.0, 1.0], "pieces": [2]}


def BEGINS_ANEW(**_):
    return {"values": [0.0, 0.0, 1.0], "pieces": [1, 2]}
