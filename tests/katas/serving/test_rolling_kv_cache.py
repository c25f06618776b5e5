"""rolling_kv_cache: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 8

KATA = Kata(
    "rolling_kv_cache",
    track="serving",
    entry_points=("RollingKVCache", "rolling_attention"),
    title="A cache that forgets in time",
    source="Jiang et al. 2023, section 2",
    library="torch",
    needs=("kv_cache",),
    axes={"q": "batch heads tokens d_head", "k": "batch heads tokens d_head", "v": "batch heads tokens d_v"},
    hints=(
        "A window of 2 and a piece of three tokens, 5, 6 and 7: which keys does token 5 see? Which of them "
        "must the cache still hold when the piece comes, and which may be gone when it has been added?",
        "Join what is held and what is new, return all of it, and only then keep the last `window` "
        "columns. With window 2, tokens 3 and 4 held, and a piece of three:\n\n"
        "    held            3  4\n"
        "    returned        3  4  5  6  7      with the positions 3 ... 7\n"
        "    query 5 sees       4  5\n"
        "    query 7 sees             6  7\n"
        "    kept                     6  7\n\n"
        "The number of tokens ever seen is a count of its own: it grows while the number of columns "
        "stays. Which of the two is len(cache), and at which position does the last column stand?",
        "append: join the held columns and the new ones along the tokens; add T_new to the count; keep a "
        "copy (clone) of the last `window` columns, since a slice alone keeps the whole tensor in memory; "
        "return what was joined. Its n columns stand at the positions count - n to count - 1. The "
        "attention:\n\n"
        "    own      the queries' positions from len(cache) on, which is asked\n"
        "             before the append                        [T_new, 1]\n"
        "    append   gives keys, values and positions         n columns\n"
        "    scores   q times keys over the root of d_head     [B, H, T_new, n]\n"
        "    hidden   -inf where a position is later than own, or is at most\n"
        "             own - window\n"
        "    result   softmax over the columns, times values\n\n"
        "Every query sees itself, so no row is hidden altogether.",
    ),
    roundings=ROUNDINGS,
    bank_size=30,
)


def sequence_case(draw, scale=1.0, longest=4):
    """A sequence, a window, and how the sequence is cut into pieces."""
    pieces = draw(st.lists(st.integers(1, longest), min_size=1, max_size=4))
    if draw(st.integers(0, 3)) == 0:
        pieces = [*pieces[:1], longest + draw(st.integers(1, 3)), 1, 1, *pieces[1:2]]
    batch, heads = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    d_head, d_v = draw(st.sampled_from([2, 1, 3])), draw(st.sampled_from([2, 1, 3]))
    dtype = draw(st.float_dtypes())

    def tensor(width, scale):
        shape = batch, heads, sum(pieces), width
        return draw(st.tensors(st.permuted(st.normal_arrays(shape, dtype, scale))))

    return {
        "q": tensor(d_head, scale),
        "k": tensor(d_head, scale),
        "v": tensor(d_v, 1.0),
        "window": draw(st.sampled_from([2, 3, 1, 4, 6])),
        "pieces": pieces,
    }


@KATA.cases
def cases(draw):
    """Plain ones, and ones with extreme scores."""
    return sequence_case(draw, scale=draw(st.sampled_from([1.0, 1.0, 1.0, 60.0])))


@KATA.corner(points=0.5)
def extreme_scores(q, k):
    """Scores far beyond what exp can hold are right."""
    return float(q.abs().max() * k.abs().max()) > 200


def pinned(window, pieces):
    """Scores of zero, so that a result is the mean of the values that are seen."""
    import torch

    tokens = sum(pieces)
    v = torch.tensor([2.0**i for i in range(tokens)], dtype=torch.float64).reshape(1, 1, tokens, 1)
    return {"q": 0 * v, "k": v, "v": v, "window": window, "pieces": pieces}


@KATA.example
def three_steps():
    """The first example of the statement."""
    return pinned(2, [1, 1, 1])


@KATA.example
def a_first_piece_longer_than_the_window():
    """The second example of the statement, and a step after it."""
    return pinned(2, [5, 1])


@KATA.example
def a_long_piece_after_steps():
    return pinned(3, [1, 1, 1, 1, 5, 1])


@KATA.example
def steps_after_a_long_piece():
    """The second step shows whether the first one has pushed out the oldest token."""
    return pinned(3, [5, 1, 1, 1])


@KATA.example
def steps_after_a_longer_piece_in_between():
    return pinned(4, [2, 7, 1, 2, 1, 1])


@KATA.example
def hidden_scores_far_above_the_seen():
    """The first token's own score is -30,000; those of the hidden ones are -20,000 and 30,000."""
    import torch

    k = torch.tensor([-300.0, -200.0, 300.0]).reshape(1, 1, 3, 1)
    return {"q": torch.full_like(k, 100), "k": k, "v": k.abs() / 100, "window": 2, "pieces": [3]}


def spans(pieces):
    stops = np.cumsum(pieces).tolist()
    return list(zip([0, *stops[:-1]], stops, strict=True))


def parts(tensors, start, stop):
    return [tensor[:, :, start:stop].clone() for tensor in tensors]


def due_columns(got, window, start, stop):
    """The columns that append must return, in order of their positions."""
    told = "append must return keys, values and positions."
    expect.true(isinstance(got, tuple | list) and len(got) == 3, told)
    keys, values, positions = got
    told = "positions must be a tensor of int64 with one axis, and keys and values must have as many columns."
    is_list = str(getattr(positions, "dtype", "")) == "torch.int64" and positions.ndim == 1
    fits = is_list and all(
        getattr(tensor, "ndim", 0) == 4 and tensor.shape[2] == len(positions) for tensor in (keys, values)
    )
    expect.true(fits, told)
    due, places = range(max(0, start - window + 1), stop), positions.tolist()
    piece = f"token {start}" if stop - start == 1 else f"the tokens {start} to {stop - 1}"
    told = f"With window={window}, append of {piece} must return the positions"
    told += f" {[*due]}, each once."
    expect.true(all(places.count(p) == 1 for p in due), f"{told} It returns {places}.")
    columns = [places.index(p) for p in due]
    return keys[:, :, columns], values[:, :, columns]


@KATA.observe
def observe(student, q, k, v, window, pieces):
    """What a cache returns for raw keys and values, each piece's output, and the length at the end."""
    raw, cache = student.RollingKVCache(window), student.RollingKVCache(window)
    seen = {}
    for index, (start, stop) in enumerate(spans(pieces)):
        new = [tensor[:, :, start:stop] for tensor in (q, k, v)]
        seen[f"appended_{index}"] = due_columns(raw.append(*new[1:]), window, start, stop)
        seen[f"output_{index}"] = student.rolling_attention(*new, cache)
    return {**seen, "length": len(cache)}


def outputs(student, q, k, v, window, pieces):
    """Each piece's output, from one fresh cache."""
    cache = student.RollingKVCache(window)
    found = []
    for start, stop in spans(pieces):
        new = parts((q, k, v), start, stop)
        output = student.rolling_attention(*new, cache)
        due, shape = tuple(new[2].shape), tuple(getattr(output, "shape", ()))
        expect.true(shape == due, f"The output has the shape [B, H, T_new, d_v] = {due}; it has {shape}.")
        found.append(output)
    return found


def attention(q, k, v, window):
    """Attention with all scores, under the mask of a sliding window."""
    import torch

    at = torch.arange(q.shape[2])
    seen = (at <= at[:, None]) & (at > at[:, None] - window)
    scores = (q.double() @ k.double().mT / q.shape[-1] ** 0.5).masked_fill(~seen, float("-inf"))
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return (powers / powers.sum(-1, keepdim=True) @ v.double()).to(q.dtype)


def close(got, expected, what):
    expect.close(got, expected, what, terms=8, roundings=ROUNDINGS)


@KATA.law(points=1)
def test_any_cutting_gives_the_same(student, q, k, v, window, pieces):
    """However it is cut, a sequence gives what attention under a sliding window gives."""
    whole, tokens = attention(q, k, v, window), q.shape[2]
    for cut in (pieces, [tokens], [1] * tokens):
        got = outputs(student, q, k, v, window, cut)
        due = [whole[:, :, start:stop] for start, stop in spans(cut)]
        close(got, due, f"the output of each piece, for window={window} and pieces of {cut} tokens,")


@KATA.law(points=0.5)
def test_columns_are_the_tokens_of_their_positions(student, k, v, window, pieces):
    """Each column that append returns is, to the bit, the token that its position names."""
    cache = student.RollingKVCache(window)
    expect.equal(len(cache), 0, "the length of a new cache")
    for start, stop in spans(pieces):
        got = cache.append(*parts((k, v), start, stop))
        due_columns(got, window, start, stop)
        keys, values, places = got[0], got[1], got[2].tolist()
        new, most = stop - start, window + stop - start
        told = f"With window={window}, append of {new} tokens may return at most {most} columns"
        expect.true(len(places) <= most, f"{told}. It returns {len(places)}.")
        told = (
            f"After {stop} tokens every position must lie between 0 and {stop - 1}, and none may come twice"
        )
        fits = all(0 <= p < stop for p in places) and len(set(places)) == len(places)
        expect.true(fits, f"{told}. They are {places}.")
        what = f"what append returns for the positions {places}"
        expect.equal((keys, values), (k[:, :, places], v[:, :, places]), what)
        expect.equal(len(cache), stop, f"the length of a cache that was given {pieces} tokens, after {stop},")


def short_sequences(draw):
    case = sequence_case(draw)
    return {**case, "window": case["q"].shape[2] + draw(st.integers(0, 2))}


@KATA.law(points=0.5, cases=short_sequences)
def test_up_to_the_window_nothing_is_forgotten(student, q, k, v, window, pieces):
    """Up to `window` tokens it is a cache that holds all tokens."""
    whole, cache = attention(q, k, v, q.shape[2]), student.RollingKVCache(window)
    for start, stop in spans(pieces):
        got = due_columns(cache.append(*parts((k, v), start, stop)), window, start, stop)
        expect.equal(got, (k[:, :, :stop], v[:, :, :stop]), f"what append returns after {stop} tokens")
    due = [whole[:, :, start:stop] for start, stop in spans(pieces)]
    close(outputs(student, q, k, v, window, pieces), due, "the output of each piece")


def long_sequences(draw):
    case = sequence_case(draw)
    tokens = case["q"].shape[2]
    window = draw(st.integers(1, max(1, tokens - 1)))
    return {**case, "window": window}


@KATA.law(points=0.5, cases=long_sequences)
def test_a_token_beyond_the_window_has_no_influence(student, q, k, v, window, pieces):
    """Changing a token changes no output at `window` positions after it or later."""
    other_k, other_v = k.clone(), v.clone()
    other_k[:, :, 0] += 1
    other_v[:, :, 0] -= 100
    before, after = (
        outputs(student, q, *changed, window, pieces) for changed in ((k, v), (other_k, other_v))
    )
    for old, new, (start, stop) in zip(before, after, spans(pieces), strict=True):
        free = max(0, window - start)
        what = f"the output of the tokens {start + free} to {stop - 1}, after token 0 was changed,"
        close(new[:, :, free:], old[:, :, free:], what)


@KATA.law(points=0.5)
def test_caches_live_side_by_side(student, q, k, v, window, pieces):
    """Two caches fed in turn give each its own right outputs."""
    sequences = (q, k, v), tuple(tensor.flip(2) + 1 for tensor in (q, k, v))
    caches = [student.RollingKVCache(window) for _ in sequences]
    in_turn = [
        student.rolling_attention(*parts(sequence, start, stop), cache)
        for start, stop in spans(pieces)
        for sequence, cache in zip(sequences, caches, strict=True)
    ]
    for first, sequence in enumerate(sequences):
        whole = attention(*sequence, window)
        due = [whole[:, :, start:stop] for start, stop in spans(pieces)]
        close(in_turn[first::2], due, "the output of a sequence whose pieces took turns with another's")
    expect.equal([len(cache) for cache in caches], [q.shape[2]] * 2, "the length of both caches")


@KATA.law(points=1, purpose=True)
def test_memory_does_not_grow(student):
    """In right steps of one token, neither what the cache holds nor what a step makes grows."""
    for window in (4, 1):  # with 1, a slice of the last window - 1 columns is easily all of them
        steps_in_bounded_memory(student, window, 8 * window + 1)


def steps_in_bounded_memory(student, window, tokens):
    import torch

    shape = 1, 2, tokens, 8
    rng = np.random.default_rng(33)
    q, k, v = (torch.from_numpy(rng.standard_normal(shape).astype("float32")) for _ in range(3))
    whole, cache = attention(q, k, v, window), student.RollingKVCache(window)
    sizes = []  # of the largest tensor that each step makes
    for position in range(tokens):
        with student.counting_largest_tensor() as made:
            got = student.rolling_attention(*parts((q, k, v), position, position + 1), cache)
        close(got, whole[:, :, position : position + 1], f"the output of token {position}")
        sizes.append(made.largest.elements)
    limit = (2 * window + 2) * 2 * 2 * 8
    told = f"With window={window}, the keys and values of {2 * window + 2} tokens are {limit} numbers here."
    held, places = student.memory_of(cache), 2 * (2 * window + 2)  # positions are no keys and no values
    expect.true(held <= limit + places, f"{told} After {tokens} steps of one token the cache holds {held:,}.")
    expect.true(
        made.largest.elements <= limit,
        f"{told} The step of token {tokens - 1} makes a tensor of {made.largest.elements:,}: {made.largest}.",
        expect.curve(
            "numbers in the largest tensor of a step",
            [limit] * tokens,
            sizes,
            [f"token {position}" for position in range(tokens)],
            wrong=[position for position, size in enumerate(sizes) if size > limit],
        ),
    )


@KATA.law(points=0.5)
def test_refuses_an_empty_window(student):
    """A window below 1 raises a ValueError."""
    for window in (0, -1):
        expect.refuses(student.RollingKVCache, window, why=f"window={window} is less than 1")
