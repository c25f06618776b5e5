"""Ba, Kiros and Hinton 2016, section 3."""


def WHOLE(**_):
    return {"x": [[0.0, 0.0], [0.0, 1.0]]}


def SAMPLE(**_):
    return {"x": [[0.0, 1.0]]}


def OUTSIDE(**_):
    return {"x": [[0.0, 0.001]]}
