"""Kwon et al. 2023, section 4; Ainslie et al. 2023."""


def CACHE(layers, batch, tokens, heads, group, d_head, **_):
    return 2 * layers * batch * tokens * (heads // group) * d_head


def ROLLING_CACHE(layers, batch, tokens, heads, group, d_head, window, **_):
    return 2 * layers * batch * min(tokens, window) * (heads // group) * d_head


def PAGES(tokens, page, **_):
    return -(-tokens // page)


def UNUSED_SLOTS(tokens, page, **_):
    return -tokens % page


def KEY_HEAD(head, group, **_):
    return head // group


def INT8(value, largest, **_):
    return round(value / largest * 127)


def ACCEPTED(target, draft, **_):
    return min(1.0, target / draft)


def LORA(rank, d_in, d_out, **_):
    return rank * (d_in + d_out)
