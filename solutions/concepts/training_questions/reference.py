"""Vaswani et al. 2017, section 5; Pascanu et al. 2013."""

import math

CAUSES = {"P": "A", "Q": "B", "R": "C", "S": "D", "T": "E", "U": "F"}


def LOSS_AT_START(vocab, **_):
    return math.log(vocab)


def PERPLEXITY(loss, **_):
    return math.exp(loss)


def TERMS_OF_THE_LOSS(batch, tokens, pads, **_):
    return batch * (tokens - 1) - pads


def LEARNING_RATE(step, warmup, peak, **_):
    return peak * step / warmup


def CLIPPING_FACTOR(norm, limit, **_):
    return min(1.0, limit / norm)


def FIRST_FAULT(symptoms, **_):
    return CAUSES[symptoms[0]]


def SECOND_FAULT(symptoms, **_):
    return CAUSES[symptoms[1]]


def THIRD_FAULT(symptoms, **_):
    return CAUSES[symptoms[2]]
