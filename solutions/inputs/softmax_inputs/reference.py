"""Vaswani et al. 2017, section 3.2.1; Goodfellow, Bengio and Courville 2016, section 4.1."""


def NO_SHIFT(**_):
    return {"x": [1000.0], "axis": 0}


def ONE_SUM(**_):
    return {"x": [[0.0], [0.0]], "axis": 1}


def ONE_SHIFT(**_):
    return {"x": [[0.0], [1000.0]], "axis": 1}
