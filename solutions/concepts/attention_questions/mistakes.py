"""Wrong answers to attention_questions: each is wrong in one question, and its docstring is the reason."""

import math

from grader.mistakes import crude, subtle


class gives_each_head_the_whole_width:
    """Every head got the whole d_model. The heads share the width, so that all of them together cost as
    much as one."""

    def SHAPE_OF_Q(batch, heads, queries, d_model, **_):
        return (batch, heads, queries, d_model)


class leaves_the_heads_behind_the_tokens:
    """That is the shape after the reshape alone. The heads still have to move before the tokens, so
    that each head is a matrix of its own."""

    def SHAPE_OF_Q(batch, heads, queries, d_model, **_):
        return (batch, queries, heads, d_model // heads)


@crude
class forgets_to_split:
    """That is the shape before the split into heads. What becomes of the last axis?"""

    def SHAPE_OF_Q(batch, queries, d_model, **_):
        return (batch, queries, d_model)


class projects_the_cached_tokens_again:
    """Only the new tokens ask. The cached ones have given their keys and values, and their queries are
    not needed any more."""

    def SHAPE_OF_Q(batch, heads, queries, cached, d_model, **_):
        return (batch, heads, cached + queries, d_model // heads)


@subtle
class forgets_the_cached_keys:
    """You counted the new keys alone. The cached keys are there as well: that is what the cache is
    for."""

    def SHAPE_OF_SCORES(batch, heads, queries, **_):
        return (batch, heads, queries, queries)


class has_a_row_for_each_key:
    """Rows and columns are swapped: a row belongs to a query, and the softmax runs along the keys."""

    def SHAPE_OF_SCORES(batch, heads, queries, cached, **_):
        return (batch, heads, cached + queries, queries)


class adds_up_the_heads:
    """The heads are missing. Each head has scores of its own; they are joined after the values have
    been summed."""

    def SHAPE_OF_SCORES(batch, queries, cached, **_):
        return (batch, queries, cached + queries)


@subtle
class compares_only_new_with_cached:
    """You counted the cached keys alone. The new tokens also see themselves and each other."""

    def SHAPE_OF_SCORES(batch, heads, queries, cached, **_):
        return (batch, heads, queries, cached)


@subtle
class scales_by_the_model_width:
    """That is the root of d_model. A dot product of one head sums d_head terms."""

    def SCALE(d_model, **_):
        return math.sqrt(d_model)


class forgets_the_root:
    """That is d_head itself. The variance of the dot product grows with d_head, so its spread grows
    with the root."""

    def SCALE(heads, d_model, **_):
        return float(d_model // heads)


class multiplies_by_the_scale:
    """That is what the scores are multiplied by. The question asks for the divisor."""

    def SCALE(heads, d_model, **_):
        return 1 / math.sqrt(d_model // heads)


class has_one_distribution_for_all_heads:
    """You forgot the heads: each head has a distribution of its own for each query."""

    def ROWS_THAT_SUM_TO_ONE(batch, queries, **_):
        return batch * queries


@subtle
class has_a_distribution_for_each_key:
    """You counted the columns. A column says how much all queries attend to one key, and it sums to
    nothing in particular."""

    def ROWS_THAT_SUM_TO_ONE(batch, heads, queries, cached, **_):
        return batch * heads * (cached + queries)


class has_one_distribution_for_each_matrix:
    """You took the softmax over a whole matrix. It runs along the keys, for each query by itself."""

    def ROWS_THAT_SUM_TO_ONE(batch, heads, **_):
        return batch * heads


class forgets_the_batch:
    """That is the number for one sequence. The batch holds several."""

    def ROWS_THAT_SUM_TO_ONE(heads, queries, **_):
        return heads * queries


class puts_the_triangle_into_the_first_corner:
    """That would be right without a cache. The new tokens stand behind the cached ones, and see all of
    them."""

    def VISIBLE_KEYS(query, **_):
        return tuple(range(query + 1))


@subtle
class hides_the_query_from_itself:
    """The query's own position is missing. A token sees itself; it must not see the next one."""

    def VISIBLE_KEYS(cached, query, **_):
        return tuple(range(cached + query))


@subtle
class sees_the_next_token:
    """One key too many: the query sees the token after it, which is the one that it should predict."""

    def VISIBLE_KEYS(cached, query, **_):
        return tuple(range(cached + query + 2))


@crude
class sees_everything:
    """The query sees tokens after its own position: nothing is masked."""

    def VISIBLE_KEYS(queries, cached, **_):
        return tuple(range(cached + queries))


class turns_the_triangle_over:
    """You listed the query and what follows it. The mask keeps what came before."""

    def VISIBLE_KEYS(queries, cached, query, **_):
        return tuple(range(cached + query, cached + queries))


@subtle
class adds_the_query_to_its_window:
    """Your window holds one key too many: the query's own position is one of the `window` positions."""

    def WINDOW_KEYS(cached, query, window, **_):
        return tuple(range(cached + query - window, cached + query + 1))


class ends_the_window_before_the_query:
    """Your window ends before the query. A token sees itself, with a window too."""

    def WINDOW_KEYS(cached, query, window, **_):
        return tuple(range(cached + query - window, cached + query))


class keeps_the_first_keys:
    """You kept the first keys of the text. The window moves along with the query and holds the last
    ones."""

    def WINDOW_KEYS(window, **_):
        return tuple(range(window))


class counts_the_window_among_the_new_tokens:
    """You counted positions from the first new token. The cached tokens come before it."""

    def WINDOW_KEYS(query, window, **_):
        return tuple(range(max(query - window + 1, 0), query + 1))


class counts_the_padding:
    """You counted the padding: its keys hold no word, and must be hidden."""

    def UNPADDED_KEYS(cached, query, **_):
        return tuple(range(cached + query + 1))


class forgets_the_causal_mask:
    """The padding is hidden, and the future is not: both masks apply at once."""

    def UNPADDED_KEYS(queries, cached, pads, **_):
        return tuple(range(pads, cached + queries))


class takes_the_padding_for_the_end:
    """You took as many keys from the end. Padding on the left stands at the first positions."""

    def UNPADDED_KEYS(cached, query, pads, **_):
        return tuple(range(cached + query + 1 - pads))


@subtle
class hides_one_word_too_many:
    """One key too few: `pads` tokens of padding stand at 0 to pads - 1, so the first word stands at
    `pads`."""

    def UNPADDED_KEYS(cached, query, pads, **_):
        return tuple(range(pads + 1, cached + query + 1))


@subtle
class numbers_the_padding_too:
    """You counted the padding. The same prompt would then get other positions in a batch with longer
    ones."""

    def POSITION_ID(cached, query, **_):
        return cached + query


class begins_at_one:
    """One too many: the first word has position 0."""

    def POSITION_ID(cached, query, pads, **_):
        return cached + query - pads + 1


class numbers_from_the_end:
    """You counted from the end. Positions rise with the text."""

    def POSITION_ID(queries, query, **_):
        return queries - 1 - query
