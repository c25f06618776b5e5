"""Wrong answers to serving_questions: each is wrong in one question, and its docstring is the reason."""

from grader.mistakes import crude, subtle


class forgets_the_values:
    """That is half of it: keys are cached, and values as well."""

    def CACHE(layers, batch, tokens, heads, group, d_head, **_):
        return layers * batch * tokens * (heads // group) * d_head


@subtle
class caches_every_query_head:
    """You counted all query heads. A group of them shares one head of keys and values."""

    def CACHE(layers, batch, tokens, heads, d_head, **_):
        return 2 * layers * batch * tokens * heads * d_head


class caches_one_layer:
    """That is one layer. Each layer has keys and values of its own."""

    def CACHE(batch, tokens, heads, group, d_head, **_):
        return 2 * batch * tokens * (heads // group) * d_head


class caches_the_scores:
    """You counted scores. They are used once; keys and values are what later tokens need again."""

    def CACHE(layers, batch, tokens, heads, **_):
        return layers * batch * heads * tokens * tokens


class keeps_what_no_query_sees:
    """You kept all tokens. What lies before the window is never read again."""

    def ROLLING_CACHE(layers, batch, tokens, heads, group, d_head, **_):
        return 2 * layers * batch * tokens * (heads // group) * d_head


@subtle
class fills_the_window_before_its_time:
    """You counted a full window. The texts are shorter than that."""

    def ROLLING_CACHE(layers, batch, heads, group, d_head, window, **_):
        return 2 * layers * batch * window * (heads // group) * d_head


@crude
class keeps_a_window_besides:
    """You added the window to the tokens. The window limits how many of them are kept."""

    def ROLLING_CACHE(layers, batch, tokens, heads, group, d_head, window, **_):
        return 2 * layers * batch * (tokens + window) * (heads // group) * d_head


class drops_the_begun_page:
    """The last tokens have no page: a page that is only begun is a page."""

    def PAGES(tokens, page, **_):
        return tokens // page


@crude
class has_a_page_for_each_token:
    """That is one page for each token. A page holds `page` tokens."""

    def PAGES(tokens, **_):
        return tokens


class keeps_a_page_ahead:
    """One page too many: a new page is taken when a token needs it, not before."""

    def PAGES(tokens, page, **_):
        return -(-tokens // page) + 1


class counts_the_used_slots:
    """Those are the slots of the last page that are in use."""

    def UNUSED_SLOTS(tokens, page, **_):
        return tokens % page


class wastes_whole_pages:
    """That is a whole page. The last page holds at least one token."""

    def UNUSED_SLOTS(page, **_):
        return page


class wastes_to_the_longest_text:
    """You reserved room for the other texts too. The question is about the pages of one text."""

    def UNUSED_SLOTS(batch, tokens, page, **_):
        return (batch - 1) * tokens + -tokens % page


@subtle
class deals_the_heads_out:
    """You dealt the query heads out one by one. Neighbouring heads share: the first `group` of them
    read head 0."""

    def KEY_HEAD(head, heads, group, **_):
        return head % (heads // group)


class reads_a_head_of_its_own:
    """There are fewer heads of keys than of queries, so that a query head cannot read the one of its
    own number."""

    def KEY_HEAD(head, **_):
        return head


class counts_groups_from_one:
    """One too many: heads count from 0."""

    def KEY_HEAD(head, group, **_):
        return head // group + 1


class takes_the_place_in_the_group:
    """That is the head's place within its group."""

    def KEY_HEAD(head, group, **_):
        return head % group


class scales_to_the_whole_byte:
    """You used all 255 steps for one sign. int8 reaches from -127 to 127 here."""

    def INT8(value, largest, **_):
        return round(value / largest * 255)


@subtle
class scales_to_128:
    """You scaled by 128, which int8 cannot hold: its largest value is 127."""

    def INT8(value, largest, **_):
        return round(value / largest * 128)


@subtle
class cuts_the_fraction_off:
    """You cut the fraction off. Rounding to the nearest halves the error."""

    def INT8(value, largest, **_):
        return int(value / largest * 127)


@crude
class divides_by_the_magnitude_alone:
    """That is the value as a part of the largest magnitude. 127 steps have to lie between 0 and 1."""

    def INT8(value, largest, **_):
        return round(value / largest)


class accepts_with_the_target_alone:
    """You accepted with the target's probability. The draft has proposed the token with its own, and
    that must be divided out."""

    def ACCEPTED(target, **_):
        return target


@subtle
class swaps_the_models:
    """You swapped the models. A token that the draft proposes too often must be refused at times."""

    def ACCEPTED(target, draft, **_):
        return min(1.0, draft / target)


class multiplies_the_models:
    """You multiplied the probabilities: that is how often both would draw the token."""

    def ACCEPTED(target, draft, **_):
        return target * draft


@subtle
class accepts_more_than_always:
    """A probability is at most 1: a token that the target likes better is always accepted."""

    def ACCEPTED(target, draft, **_):
        return target / draft


class trains_the_whole_matrix:
    """That is the layer's own matrix. It is frozen; the two factors beside it are trained."""

    def LORA(d_in, d_out, **_):
        return d_in * d_out


class trains_one_factor:
    """That is one factor. The second leads from the rank back to d_out."""

    def LORA(rank, d_in, **_):
        return rank * d_in


class multiplies_the_factors:
    """You multiplied the factors' sizes. Each is stored by itself, so that their sizes are added."""

    def LORA(rank, d_in, d_out, **_):
        return rank * d_in * d_out
