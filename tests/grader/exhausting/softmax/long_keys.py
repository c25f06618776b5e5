"""Returns a dict of as many long keys as the codec allows."""


def softmax(x, axis=-1):
    return {"k" * 190 + str(i): 1 for i in range(900)}
