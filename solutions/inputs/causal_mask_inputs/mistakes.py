"""Inputs that do not show what is wrong with three causal masks; each docstring is the reason."""

from grader.mistakes import crude, subtle


class has_as_many_queries_as_keys:
    """Without cached keys the first query stands at position 0, and there the triangle does begin in the
    first corner. Let there be more keys than queries."""

    def FIRST_CORNER(**_):
        return {"query_len": 3, "key_len": 3}


@crude
class has_more_queries_than_keys:
    """The statement allows no more queries than keys: every query is one of the positions. What a wrong
    function does with other lengths shows nothing."""

    def FIRST_CORNER(**_):
        return {"query_len": 3, "key_len": 2}


@crude
class has_no_query:
    """Without a query the mask has no rows, and no two masks without rows differ; nor is it allowed. One
    query is enough."""

    def BLIND(**_):
        return {"query_len": 0, "key_len": 2}


@subtle
class fills_the_window:
    """Four keys fit into the window to the last one, so nothing is hidden yet. The last query has to see one
    key more."""

    def WINDOW(**_):
        return {"query_len": 4, "key_len": 4}


@crude
class leaves_out_the_keys:
    """Both lengths are needed: without key_len nothing says where the queries stand. Write a dict with both
    names."""

    def FIRST_CORNER(**_):
        return {"query_len": 3}


class has_many_queries_and_few_keys:
    """The window is as long as four keys, and here the last query sees three. More queries do not help: let
    there be more keys."""

    def WINDOW(**_):
        return {"query_len": 3, "key_len": 3}
