"""paged_decode: its cases and its laws.

What belongs to no sequence is NaN or a large number in the pool, and no page in the table.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata
from grader.kernels import Device, kernel

ROUNDINGS = 6

KATA = Kata(
    "paged_decode",
    track="kernels",
    entry_points=("paged_decode",),
    title="Attention over pages",
    source="Kwon et al. 2023, sections 4.1 and 4.3; Milakov and Gimelshein 2018, section 3",
    libraries=("numpy",),
    axes={
        "q": "sequences heads d_head",
        "k_pages": "pages page_size heads d_head",
        "v_pages": "pages page_size heads d_head",
        "table": "sequences columns",
        "lengths": "sequences",
    },
    roundings=ROUNDINGS,
    bank_size=16,
    hints=(
        "Take the first sequence of the example, and write down for its two pages: which entry of the table "
        "names it, which positions its places have, and which of them are less than 3. Which entry of the "
        "table would you read third, and what tells you not to?",
        "The loop is `for start in range(0, length, PAGE)`, where `start` is the position of the first place "
        "of a page. Its entry in the row of the table is start // PAGE, and place i of it has the position "
        "start + i: a mask compares that with the length. An entry of the table is a number that is loaded, "
        "and where the page begins is a multiple of stride(0). Three things are kept over the pages: a "
        "maximum, a sum, and an output [D]. When the maximum grows from old to new, sum and output are "
        "multiplied by exp(old - new) before the new powers are added.",
        "In the kernel, with place = arange(0, PAGE) and column = arange(0, D):\n\n"
        "    row     the query's entries: D of them, from                 [D]\n"
        "            (sequence * heads + head) * D on\n"
        "    query   load at q_ptr + row                                  [D]\n"
        "    length  load at lengths_ptr + sequence                       []\n"
        "    for every page, whose first position is start:\n"
        "      page    load at table_ptr + sequence * table.stride(0)\n"
        "              + start // PAGE                                    []\n"
        "      filled  where start + place is below length                [PAGE]\n"
        "      at      page * stride(0) + place[:, None] * stride(1)\n"
        "              + head * stride(2) + column[None, :]               [PAGE, D]\n"
        "      k, v    load, mask=filled[:, None], other=0.0              [PAGE, D]\n"
        "      scores  tl.sum(query[None, :] * k, axis=1) * scale,        [PAGE]\n"
        "              -inf where not filled\n"
        "      total, output and maximum as in online_softmax\n"
        "    store output / total at out_ptr + row\n\n"
        "The grid is (sequences, heads).",
    ),
    hint_for={
        "reads_pages_in_the_order_of_the_pool": 1,
        "leaves_the_last_page_out": 1,
        "reads_one_page_too_many": 1,
        "goes_over_all_columns_of_the_table": 1,
        "takes_the_last_page_as_full": 1,
        "reads_the_pages_of_the_first_sequence": 2,
        "reads_the_table_by_positions": 2,
        "masks_by_places": 2,
        "masks_a_full_page_by_the_remainder": 2,
        "leaves_the_newest_token_out": 2,
        "adds_a_token_behind_the_end": 2,
        "corrects_the_sum_alone": 2,
        "corrects_the_output_alone": 2,
        "corrects_nothing": 2,
        "corrects_in_the_wrong_direction": 2,
        "subtracts_the_maximum_of_each_page": 2,
        "averages_the_pages": 2,
        "knows_the_last_page_alone": 2,
        "multiplies_the_page_by_its_places": 2,
        "takes_the_columns_for_the_stride_of_the_table": 3,
        "assumes_pages_one_after_the_other": 3,
        "assumes_places_before_heads": 3,
        "swaps_the_strides_of_places_and_heads": 3,
        "takes_the_first_head": 3,
        "counts_places_without_a_token": 3,
        "leaves_masked_values_undefined": 3,
        "loads_whole_pages": 3,
        "loads_the_table_for_each_token": 3,
        "loads_the_query_for_each_page": 3,
        "loads_keys_in_a_pass_of_their_own": 3,
        "divides_by_no_sum": 3,
        "divides_at_each_page": 3,
        "launches_one_head": 3,
        "takes_a_program_for_each_page": 3,
        "puts_heads_before_sequences": 3,
    },
)

MOST_TOKENS = {4: 7, 2: 5, 8: 14, 1: 3}  # of a sequence, by the size of a page
NO_PAGE = (9999, -1)  # what stands in the table where no page does
KINDS = ["one", "full", "shared", "apart", "heads first", "large"]


@KATA.cases
def cases(draw):
    """One or two sequences of up to three pages, which lie anywhere in the pool."""
    size, kind = draw(st.sampled_from(list(MOST_TOKENS))), draw(st.sampled_from(["plain"] * 5 + KINDS))
    heads, d_head = draw(st.sampled_from([1, 2, 1, 3])), draw(st.sampled_from([4, 8, 2, 16]))
    plain = [length for length in range(2, MOST_TOKENS[size] + 1) if length % size or size == 1]
    lengths = [draw(st.sampled_from(plain)) for _ in range(draw(st.sampled_from([1, 2, 2])))]
    if kind == "one":
        lengths[-1] = 1
    if kind == "full":
        lengths[0] = -(-lengths[0] // size) * size
    if kind == "shared":
        lengths = [lengths[0] + size, lengths[-1] + size]
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    case = pooled(rng, lengths, size, heads, d_head, kind == "shared")
    if kind == "large":  # in one column, so that equal scores are equal however they are computed
        case["q"][..., 1:] = 0
        case["q"] *= np.float32(1024)
    return {**case, "layout": kind if kind in ("apart", "heads first") else "plain"}


def pooled(rng, lengths, page_size, heads, d_head, shared):
    """A case whose pages are taken at random; the first two sequences may share their first one.

    The numbers are multiples of 1/4.
    """
    counts = [-(-length // page_size) for length in lengths]
    pages = sum(counts) + 1
    free = iter(rng.permutation(pages).tolist())
    table = np.full((len(lengths), max(counts) + int(rng.integers(0, 2))), rng.choice(NO_PAGE), np.int32)
    for row, count in zip(table, counts, strict=True):
        row[:count] = [next(free) for _ in range(count)]
    if shared:
        table[1, 0] = table[0, 0]
    filled, left = used(table, lengths, pages, page_size), rng.choice(np.float32([np.nan, 64]))
    k_pages, v_pages = (
        np.where(filled[..., None, None], numbers / 4, left).astype(np.float32)
        for numbers in rng.integers(-6, 7, (2, pages, page_size, heads, d_head))
    )
    q = (rng.integers(-6, 7, (len(lengths), heads, d_head)) / 4).astype(np.float32)
    tables = {"table": table, "lengths": np.array(lengths, np.int32)}
    return {"q": q, "k_pages": k_pages, "v_pages": v_pages, **tables}


def used(table, lengths, pages, page_size):
    """Which places of which pages have a token of any sequence."""
    found = np.zeros((pages, page_size), bool)
    for row, length in zip(table, lengths, strict=True):
        for token in range(length):
            found[row[token // page_size], token % page_size] = True
    return found


def pinned(table, lengths, page_size, heads=1, d_head=4, layout="plain"):
    """A case whose numbers are 0, and NaN where no sequence has a token; and its q, keys and values."""
    pages = max(entry for row in table for entry in row if entry not in NO_PAGE) + 1
    filled = used(table, lengths, pages, page_size)[..., None, None]
    k_pages, v_pages = (
        np.where(filled, np.zeros((pages, page_size, heads, d_head)), np.nan).astype(np.float32)
        for _ in range(2)
    )
    q = np.zeros((len(lengths), heads, d_head), np.float32)
    tables = {"table": np.array(table, np.int32), "lengths": np.array(lengths, np.int32)}
    case = {"q": q, "k_pages": k_pages, "v_pages": v_pages, **tables, "layout": layout}
    return case, q, k_pages, v_pages


@KATA.example
def printed():
    """The example of the statement."""
    case, q, k, v = pinned([[3, 1, 9999], [0, 9999, 9999]], [3, 2], 2)
    q[..., 0] = 2
    k[3, :, 0, 0], k[1, 0, 0, 0] = np.log([1, 2]), np.log(4)
    v[3, :, 0, 0], v[1, 0, 0, 0], v[0, :, 0, 0] = [2, 3], 5, [1, 5]
    return case


@KATA.example
def one_token():
    """A sequence with its first token: the result is its value."""
    case, q, k, v = pinned([[1, -1]], [1], 4)
    q[...], k[1, 0], v[1, 0] = 1, 3, [5, 6, 7, 8]
    return case


@KATA.example
def means_of_full_pages():
    """All scores are equal: each result is the mean of the values."""
    case, _, _, v = pinned([[2, 0], [1, -1]], [8, 4], 4, heads=2)
    v[2, :, 0, 0], v[0, :, 0, 0] = np.arange(4), 4 + np.arange(4)
    v[1, :, 1, 1] = np.arange(4)
    return case


@KATA.example
def a_page_of_two_sequences():
    """Both sequences begin with page 1, and go on in pages of their own."""
    case, q, k, v = pinned([[1, 3], [1, 0]], [6, 5], 4, layout="apart")
    q[0], q[1] = 1, -1
    k[1, :, 0, 0], v[1, :, 0, 0] = [0, 1, 2, 3], [1, 2, 3, 4]
    k[3, :2, 0, 1], v[3, :2, 0, 0] = [2, 1], [8, 9]
    v[0, 0, 0, 0] = 16
    return case


@KATA.example
def pages_of_one_token():
    """Each token has a page, and the table is read for each."""
    case, q, k, v = pinned([[4, 0, 2, 1]], [4], 1, heads=2, layout="heads first")
    q[..., 0] = 2
    k[[4, 0, 2, 1], 0, 0, 0], v[[4, 0, 2, 1], 0, 0, 0] = [0, 3, 1, 2], [1, 2, 3, 4]
    v[[4, 0, 2, 1], 0, 1, 1] = [5, 6, 7, 8]
    return case


@KATA.example
def scores_far_below_zero():
    """All scores are below -20,000, and the largest is in the last page."""
    case, q, k, v = pinned([[0, 2, 1]], [5], 2)
    q[..., 0] = 256
    k[0, :, 0, 0], k[2, :, 0, 0], k[1, 0, 0, 0] = [-203, -202], [-201, -202], -200
    v[0, :, 0, 0], v[2, :, 0, 0], v[1, 0, 0, 0] = [1, 2], [3, 4], 5
    return case


@KATA.example
def scores_far_above_zero():
    """All scores are above 200, and the largest is in the first page."""
    case, q, k, v = pinned([[1, 0]], [3], 2)
    q[..., 0] = 256
    k[1, :, 0, 0], k[0, 0, 0, 0] = [4, 4], 2
    v[1, :, 0, 0], v[0, 0, 0, 0] = [1, 2], 3
    return case


@KATA.corner(points=0.5)
def a_single_token(lengths):
    """A sequence of one token gets its value."""
    return int(min(lengths)) == 1


@KATA.corner(points=0.5)
def a_last_page_that_is_full(k_pages, lengths):
    """A sequence that fills its last page has no other one."""
    return bool((lengths % k_pages.shape[1] == 0).any()) and k_pages.shape[1] > 1


@KATA.corner(points=0.5)
def a_page_that_two_sequences_share(k_pages, table, lengths):
    """A page that two sequences share is read by both."""
    page_size = k_pages.shape[1]
    owned = [
        page for row, length in zip(table, lengths, strict=True) for page in row[: -(-length // page_size)]
    ]
    return len(set(owned)) < len(owned)


@KATA.corner(points=0.5)
def pools_of_other_layouts(layout, q):
    """Pages that lie apart, and heads that lie before places, are read where they lie."""
    return layout == "apart" or (layout == "heads first" and q.shape[1] > 1)


@KATA.corner(points=0.5)
def scores_in_the_thousands(q):
    """Scores in the thousands, above zero and below, are right."""
    return float(np.abs(q).max()) > 100


def pages_of(k_pages, lengths):
    """How many pages each sequence has."""
    return -(-lengths.astype(int) // k_pages.shape[1])


def loads(q, k_pages, lengths):
    """The bytes of query, length, entries of the table, keys and values, of each sequence and head."""
    _, heads, d_head = q.shape
    tokens, pages = int(lengths.sum()), int(pages_of(k_pages, lengths).sum())
    return heads * (len(q) * (4 * d_head + 4) + 4 * pages + 8 * d_head * tokens)


@kernel(KATA, loads=loads, stores=lambda q: 4 * q.size)
def launch(device, student, q, k_pages, v_pages, table, lengths, layout):
    pools = []
    for name, values in (("k_pages", k_pages), ("v_pages", v_pages)):
        laid = values.astype(np.float32)  # a kernel in float32 takes no float64
        if layout == "apart":  # a page of keys and one of values take turns
            laid = np.stack([laid, laid], axis=1)[:, 0]
        if layout == "heads first":
            laid = np.ascontiguousarray(laid.swapaxes(1, 2)).swapaxes(1, 2)
        pools.append(device.array(laid, name))
    rows = device.array(table, "table", strides=(columns_of(table, layout), 1))
    tables = rows, device.array(lengths, "lengths")
    out = device.empty(q.shape, "float32", "out")
    device.run(student.paged_decode, device.array(q.astype(np.float32), "q"), *pools, *tables, out)
    return {"out": out}


def strides_of(k_pages, layout):
    """By how many entries pages, places and heads are apart."""
    _, page_size, heads, d_head = k_pages.shape
    page = page_size * heads * d_head
    if layout == "heads first":
        return page, d_head, page_size * d_head
    return page * (2 if layout == "apart" else 1), heads * d_head, d_head


def tokens_at(entries, k_pages, layout):
    """The page and the place in which entries of the pool lie; a place is -1 between the pages."""
    page, place, _ = strides_of(k_pages, layout)
    numbers, within = np.divmod(np.array(entries, int), page)
    places = np.where(within < k_pages[0].size, within // place % k_pages.shape[1], -1)
    return list(zip(numbers.tolist(), places.tolist(), strict=True))


def columns_of(table, layout):
    """By how many entries the rows of the table are apart."""
    return table.shape[1] + (2 if layout == "apart" else 0)


@KATA.law(points=0.5, purpose=True)
def test_what_belongs_to_no_sequence_is_not_loaded(student, q, k_pages, v_pages, table, lengths, layout):
    """No load takes a place of the pool, or an entry of the table, that belongs to no sequence."""
    device, wide = Device(), columns_of(table, layout)
    launch(device, student, q, k_pages, v_pages, table, lengths, layout)
    own = {(row, at) for row, pages in enumerate(pages_of(k_pages, lengths)) for at in range(pages)}
    filled = set(zip(*np.nonzero(used(table, lengths, *k_pages.shape[:2])), strict=True))
    for one in (one for launched in device.launches for one in launched.accesses):
        where, allowed = [], filled
        if one.array == "table":
            where, allowed = [divmod(entry, wide) for entry in one.entries], own
        elif one.array in ("k_pages", "v_pages"):
            where = tokens_at(one.entries, k_pages, layout)
        for entry, (row, at) in zip(one.entries, where, strict=bool(where)):
            what = (
                f"row {row}, column {at}: no page of a sequence"
                if one.array == "table"
                else f"page {row}, place {at}: no token of a sequence"
            )
            expect.true(
                (row, at) in allowed,
                f"Program {one.program} loads {one.array}[{entry}] (line {one.line}), {what}.",
            )


@KATA.law(points=0.5, purpose=True)
def test_a_program_holds_a_page_at_a_time(student, q, k_pages, v_pages, table, lengths, layout):
    """No load takes keys or values of more tokens than a page has places."""
    device = Device()
    launch(device, student, q, k_pages, v_pages, table, lengths, layout)
    for one in (one for launched in device.launches for one in launched.accesses):
        if one.array in ("k_pages", "v_pages"):
            tokens = len(set(tokens_at(one.entries, k_pages, layout)))
            expect.true(
                tokens <= k_pages.shape[1],
                f"A load takes {tokens} tokens of {one.array} (line {one.line}), and a page has"
                f" {k_pages.shape[1]} places.",
            )


def with_other_pages(draw):
    """A case, and another size of pages."""
    case = cases(draw)
    other = draw(st.sampled_from([size for size in (4, 2, 8) if size != case["k_pages"].shape[1]]))
    return {**case, "other_size": other}


@KATA.law(points=0.5, cases=with_other_pages)
def test_pages_do_not_matter(student, q, k_pages, v_pages, table, lengths, layout, other_size):
    """The same tokens in other pages, of another size, give the same results."""
    case = {"q": q, "lengths": lengths, "layout": layout}
    here = {"k_pages": k_pages, "v_pages": v_pages, "table": table}
    results = []
    for pages in (here, moved(**here, lengths=lengths, size=other_size)):
        found = launch(Device(), student, **case, **pages)["out"].numpy()
        size = pages["k_pages"].shape[1]
        expect.true(not np.isnan(found).any(), f"With pages of {size} places, there is NaN in the result.")
        results.append(found)
    what = f"the results for pages of {other_size} places instead of {k_pages.shape[1]}"
    expect.close(results[1], results[0], what, terms=int(lengths.max()), roundings=ROUNDINGS)


def moved(k_pages, v_pages, table, lengths, size):
    """The same tokens in pages of another size, the last sequence first."""
    counts = -(-lengths.astype(int) // size)
    other = np.full((len(lengths), counts.max() + 1), NO_PAGE[0], np.int32)
    pools = [np.full((counts.sum() + 1, size, *k_pages.shape[2:]), np.nan, np.float32) for _ in range(2)]
    free = iter(range(counts.sum()))
    for row in range(len(lengths))[::-1]:
        other[row, : counts[row]] = [next(free) for _ in range(counts[row])]
        for token in range(lengths[row]):
            page, place = divmod(token, k_pages.shape[1])
            for pool, pages in zip(pools, (k_pages, v_pages), strict=True):
                pool[other[row, token // size], token % size] = pages[table[row, page], place]
    return {"k_pages": pools[0], "v_pages": pools[1], "table": other}
