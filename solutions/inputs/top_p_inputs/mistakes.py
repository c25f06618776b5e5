"""Inputs that do not show what is wrong with three nuclei; each docstring is the reason."""

from grader.mistakes import crude, subtle


class puts_p_on_a_sum:
    """Here p is the sum of the first probabilities, and rounding decides whether the next token belongs to
    the nucleus: no function is wrong for that. Move p between two sums."""

    def DROPS_LAST(**_):
        return {"probs": [0.5, 0.3, 0.2], "p": 0.8}


@crude
class gives_scores:
    """A nucleus takes probabilities, which sum to 1. Divide the numbers by their sum, or take others."""

    def DROPS_LAST(**_):
        return {"probs": [3.0, 2.0], "p": 0.5}


class gives_probabilities_in_falling_order:
    """The tokens stand in the order in which a sort would put them, so leaving out the sort changes nothing.
    Let a likely token come behind an unlikely one."""

    def UNSORTED(**_):
        return {"probs": [0.6, 0.3, 0.1], "p": 0.7}


@subtle
class needs_all_tokens_anyway:
    """The order is not the falling one, and yet p is so large that every token is needed, in whichever order
    they are taken. Take a smaller p."""

    def UNSORTED(**_):
        return {"probs": [0.1, 0.3, 0.6], "p": 0.95}


@subtle
class gives_one_likely_token:
    """One token has nearly everything, and both rules keep it alone. Where they part, the likely tokens are
    several, or p is small."""

    def BY_ITSELF(**_):
        return {"probs": [0.9, 0.1], "p": 0.5}


class keeps_every_token:
    """With so large a p both rules keep every token. Take a smaller p, so that the right nucleus leaves a
    token out."""

    def BY_ITSELF(**_):
        return {"probs": [0.6, 0.4], "p": 0.9}
