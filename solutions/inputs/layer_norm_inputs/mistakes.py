"""Inputs that do not show what is wrong with three layer norms; each docstring is the reason."""

from grader.mistakes import crude, subtle


@crude
class gives_one_token:
    """One token is the whole array, so its mean and its variance are those of the array. Give a second
    token."""

    def WHOLE(**_):
        return {"x": [[1.0, 2.0, 6.0]]}


@subtle
class gives_tokens_of_one_mean_and_variance:
    """Both tokens have the same mean and the same variance, and then the array has them too. Let one token
    be larger, or spread more."""

    def WHOLE(**_):
        return {"x": [[1.0, 2.0], [2.0, 1.0]]}


@subtle
class gives_equal_features:
    """All features are equal, so what is divided is 0, whatever it is divided by. Let one feature differ."""

    def SAMPLE(**_):
        return {"x": [[2.0, 2.0]]}


class gives_a_usual_variance:
    """Beside a variance of this size eps makes no difference, wherever it is added. The variance has to be
    of the size of eps, or smaller."""

    def OUTSIDE(**_):
        return {"x": [[1.0, 2.0, 6.0]]}


@subtle
class gives_no_variance:
    """Without any variance the features are 0 after the mean is taken, and 0 stays 0. The variance has to be
    small, and not 0."""

    def OUTSIDE(**_):
        return {"x": [[2.0, 2.0]]}


@crude
class gives_one_feature:
    """A single feature has no variance, and its sample variance is 0 / 0, so the statement asks for two
    features or more."""

    def SAMPLE(**_):
        return {"x": [[1.0]]}
