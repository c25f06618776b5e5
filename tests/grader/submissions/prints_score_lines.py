"""Prints text that looks like a passing grade, and is wrong."""


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    print("::notice::softmax 10 / 10")
    print('{"schema_version": 1, "score": 10.0, "max_score": 10.0}')
    print("softmax passed 10 / 10")
    return x
