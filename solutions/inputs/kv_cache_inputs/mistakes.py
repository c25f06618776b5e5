"""Inputs that do not show what is wrong with three caches; each docstring is the reason."""

from grader.mistakes import crude, subtle


@crude
class gives_one_piece:
    """All tokens arrive in one piece, so there is nothing to forget. It takes a second piece."""

    def FORGETS(**_):
        return {"values": [1.0, 2.0, 4.0], "pieces": [3]}


@subtle
class gives_equal_values:
    """All values are equal, and their mean is the same, however many of them are seen. Let them differ."""

    def FORGETS(**_):
        return {"values": [1.0, 1.0], "pieces": [1, 1]}


@subtle
class gives_pieces_of_one_token:
    """A piece of one token has no token behind it, so nothing lies ahead. Let a piece have two tokens."""

    def LOOKS_AHEAD(**_):
        return {"values": [1.0, 2.0], "pieces": [1, 1]}


class begins_with_the_only_piece:
    """The first piece does begin at position 0. Its positions are wrong only behind cached tokens."""

    def BEGINS_ANEW(**_):
        return {"values": [1.0, 2.0], "pieces": [2]}


@subtle
class generates_token_by_token:
    """A piece of one token sees the whole cache in this function, and that is right. The second piece needs
    two tokens."""

    def BEGINS_ANEW(**_):
        return {"values": [1.0, 2.0, 4.0], "pieces": [1, 1, 1]}


@subtle
class gives_a_piece_of_equal_values:
    """The first token sees the second one, whose value is the same, so the mean stays as it is. Let the
    values of the piece differ."""

    def LOOKS_AHEAD(**_):
        return {"values": [1.0, 1.0], "pieces": [2]}
