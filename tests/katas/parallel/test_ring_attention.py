"""ring_attention: its cases and its laws."""

import itertools

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata
from grader.ranks import Ranks

KATA = Kata(
    "ring_attention",
    track="parallel",
    entry_points=("merge", "ring_attention"),
    title="Keys and values go round a ring",
    source="Liu et al. 2023; Milakov and Gimelshein 2018",
    libraries=("numpy",),
    roundings=6,
    bank_size=36,
    hints=(
        "Two machines, each with half of the keys of one query, and each with its own softmax over its half. "
        "What must they tell each other so that the result is the softmax over all?",
        "A softmax over some keys is right but for its denominator. The pair of output and log_sum holds "
        "both, so two pairs can be weighed against each other: each output by its share of the common "
        "denominator. Rank 2 of 4 meets the blocks in this order:\n\n"
        "    hop 0   block 2   its own; with causal the mask is here\n"
        "    hop 1   block 1   with causal: all of it is seen\n"
        "    hop 2   block 0   with causal: all of it is seen\n"
        "    hop 3   block 3   with causal: nothing of it is seen, and it is passed on\n\n"
        "How do you tell from rank and hop alone whether a block is seen?",
        "merge: the logarithm of a sum of exponentials, by np.logaddexp; then each output times the "
        "exponential of its own log_sum minus the common one. Where that is -inf, subtract 0 in its place. A "
        "function for one block: scores [T, T], the largest of each row, powers, their sum [T, 1]; the "
        "output divided by the sum, and the largest plus the logarithm of the sum. The ring:\n\n"
        "    1   the pair of the rank's own block, masked if causal\n"
        "    2   N - 1 times: k and v each through shift, into the same names\n"
        "    3   merge the pair with that of this block, but not where\n"
        "        causal is true and the hop is greater than the rank\n"
        "    4   at the end the output of the pair    [T, d_v]",
    ),
)

#: A ring of which only one rank runs. `shift` returns what this rank got before, and measures how many bytes
#: are in use at each call beyond those that its arguments take, which `begin` gets as well. Memory is not
#: measured any more once its own mark is not known to tracemalloc.
ALONE = """
import tracemalloc

class Ring:
    def __init__(self, received):
        self.received, self.calls, self.first, self.most = received, 0, 0, 0
        tracemalloc.start()
        self.mark = bytearray(64)

    def begin(self, **arguments):
        self.first = tracemalloc.get_traced_memory()[0]

    def __call__(self, array):
        self.most = max(self.most, tracemalloc.get_traced_memory()[0] - self.first)
        if tracemalloc.get_object_traceback(self.mark) is None:
            raise RuntimeError("memory is not measured any more")
        self.calls += 1
        return self.received[self.calls - 1].copy()

    def stop(self):
        tracemalloc.stop()
        return self.most
"""


def draw_tokens(rng, tokens, d_k, d_v, dtype, scale=1.0):
    """Queries, keys and values of a whole sequence."""
    shapes = {"q": (tokens, d_k), "k": (tokens, d_k), "v": (tokens, d_v)}
    sizes = {"q": scale, "k": 1.0, "v": 1.0}
    return {
        name: (sizes[name] * rng.integers(-8, 9, shape) / 4).astype(dtype) for name, shape in shapes.items()
    }


@KATA.cases
def cases(draw, sizes=(2, 3, 2, 4, 1), blank=(False, False, False, True)):
    """One to four ranks with one to three tokens each; two pairs to merge."""
    rng, size = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.sampled_from(sizes))
    block, d_k, d_v, dtype = (
        draw(st.integers(1, 3)),
        draw(st.integers(1, 4)),
        draw(st.integers(1, 4)),
        draw(st.float_dtypes()),
    )
    tokens = draw_tokens(rng, size * block, d_k, d_v, dtype, draw(st.sampled_from([1.0, 2.0])))
    pairs = {
        "outputs": rng.integers(-8, 9, (2, block + 1, d_v)) / 4,
        "log_sums": rng.integers(-8, 9, (2, block + 1, 1)) / 4,
    }
    if draw(st.sampled_from(blank)):
        for row in range(block + 1):
            for one in [[0, 1], [0], [1]][rng.integers(3)] if row else [0, 1]:
                pairs["log_sums"][one, row], pairs["outputs"][one, row] = -np.inf, 0
    arrays = {**tokens, **{name: array.astype(dtype) for name, array in pairs.items()}}
    return {
        "size": size,
        **{name: draw(st.permuted(st.just(array))) for name, array in arrays.items()},
        "causal": draw(st.booleans()),
    }


@KATA.corner(points=0.5)
def rows_without_keys(log_sums):
    """A row that has seen no key changes nothing, and two of them make no NaN."""
    return bool(np.isinf(log_sums).any())


def printed(causal):
    """The examples of the statement."""
    return {
        "size": 2,
        "q": np.array([[1.0], [1.0]]),
        "k": np.array([[0.0], [np.log(3.0)]]),
        "v": np.array([[10.0], [20.0]]),
        "outputs": np.array([[[(10 + 20 * np.e) / (1 + np.e)]], [[30.0]]]),
        "log_sums": np.array([[[np.log(np.e + np.e**2)]], [[4.0]]]),
        "causal": causal,
    }


@KATA.example
def printed_ring():
    return printed(False)


@KATA.example
def printed_ring_with_causal():
    return printed(True)


def arguments_of(ranks, q, k, v, causal):
    """The arguments of each rank."""
    own = zip(*(ranks.scatter(array) for array in (q, k, v)), strict=True)
    return [
        {"q": q, "k": k, "v": v, "rank": rank, "size": ranks.size, "causal": causal}
        for rank, (q, k, v) in enumerate(own)
    ]


@KATA.observe
def observe(student, size, q, k, v, outputs, log_sums, causal):
    """The merged pair, and the output of every rank."""
    merged = student.merge((outputs[0], log_sums[0]), (outputs[1], log_sums[1]))
    is_pair = isinstance(merged, tuple | list) and len(merged) == 2
    seen = dict(zip(("output", "log_sum"), merged, strict=True)) if is_pair else {"merged": merged}
    ranks = Ranks(size)
    given = arguments_of(ranks, q, k, v, causal)
    answers = ranks.run(student.ring_attention, given, "shift")
    return {**seen, **{f"output of rank {rank}": answer for rank, answer in enumerate(answers)}}


def require_travel(ranks):
    """Refuse ranks that exchange nothing: they keep every limit, and cannot be right."""
    expect.true(
        ranks.size == 1 or ranks.exchanges, f"No block travels: none of {ranks.size} ranks calls shift."
    )


def pair_over(q, k, v, causal=False):
    """The output and the log-sum over all of these keys, on one machine in float64."""
    q, k, v = (np.asarray(array, np.float64) for array in (q, k, v))
    scores = q @ k.T / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(len(q), dtype=bool), scores, -np.inf)
    largest = scores.max(-1, keepdims=True)
    powers = np.exp(scores - largest)
    return powers @ v / powers.sum(-1, keepdims=True), largest + np.log(powers.sum(-1, keepdims=True))


def in_dtype(pair, dtype):
    return [array.astype(dtype) for array in pair]


def three_blocks(draw):
    """One query block, and three blocks of keys of different lengths, with scores up to thousands."""
    rng, dtype = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.float_dtypes())
    tokens = draw_tokens(rng, 9, draw(st.integers(1, 3)), 2, dtype, draw(st.sampled_from([1.0, 600.0])))
    return {**tokens, "cuts": draw(st.sampled_from([(2, 5), (1, 3), (4, 8)]))}


@KATA.law(points=0.5, cases=three_blocks)
def test_merging_is_associative(student, q, k, v, cuts):
    """Three blocks, merged from the left or from the right, give the attention over all keys."""
    q, kind = q[:3], q.dtype
    ends = [0, *cuts, len(k)]
    blocks = list(itertools.pairwise(ends))
    a, b, c = (tuple(in_dtype(pair_over(q, k[i:j], v[i:j]), kind)) for i, j in blocks)
    due = in_dtype(pair_over(q, k, v), kind)
    for said, outer in (
        ("merge(merge(a, b), c)", lambda: student.merge(tuple(student.merge(a, b)), c)),
        ("merge(a, merge(b, c))", lambda: student.merge(a, tuple(student.merge(b, c)))),
        ("merge(merge(c, a), b)", lambda: student.merge(tuple(student.merge(c, a)), b)),
    ):
        merged = outer()
        expect.true(isinstance(merged, tuple | list) and len(merged) == 2, "merge returns a pair.")
        # a log_sum of thousands has fewer digits behind the point
        roundings = 16 + float(np.abs(due[1]).max()) * 2
        what = f"{said} for blocks of {[j - i for i, j in blocks]} keys"
        expect.close(list(merged), due, what, terms=8, roundings=roundings, dtype="float32")


def sequences(draw):
    """Twelve tokens, which one to twelve ranks share."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    tokens = draw_tokens(rng, 12, draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.float_dtypes()))
    return {**tokens, "size": draw(st.sampled_from([3, 6, 2, 12, 4, 1]))}


@KATA.law(points=0.5, cases=sequences)
def test_any_ring_gives_the_attention_of_one_machine(student, q, k, v, size):
    """However many ranks share a sequence, each has its rows of the attention over all tokens."""
    ranks = Ranks(size)
    answers = ranks.run(student.ring_attention, arguments_of(ranks, q, k, v, False), "shift")
    due = np.split(pair_over(q, k, v)[0].astype(q.dtype), size)
    for rank, answer in enumerate(answers):
        expect.close(answer, due[rank], f"the output of rank {rank} of {size}", terms=12, roundings=16)


@KATA.law(points=0.5, cases=sequences)
def test_any_ring_is_causal(student, q, k, v, size):
    """With causal no token sees a later one, whichever rank it lies on."""
    ranks = Ranks(size)
    answers = ranks.run(student.ring_attention, arguments_of(ranks, q, k, v, True), "shift")
    due = np.split(pair_over(q, k, v, causal=True)[0].astype(q.dtype), size)
    for rank, answer in enumerate(answers):
        what = f"the output of rank {rank} of {size} with causal"
        expect.close(answer, due[rank], what, terms=12, roundings=16)


@KATA.law(points=0.5)
def test_scores_of_thousands(student):
    """Scores of thousands leave the right weights, with no infinities and no NaN."""
    rng = np.random.default_rng(4)
    for causal in (False, True):
        q, k, v = (array.astype(np.float32) for array in draw_tokens(rng, 6, 2, 2, "float64", 900.0).values())
        ranks = Ranks(3)
        answers = ranks.run(student.ring_attention, arguments_of(ranks, q, k, v, causal), "shift")
        due = np.split(pair_over(q, k, v, causal)[0].astype(np.float32), 3)
        for rank, answer in enumerate(answers):
            what = f"the output of rank {rank} of 3 for scores up to thousands"
            expect.close(answer, due[rank], what, terms=6, roundings=1024)


@KATA.law(points=0.5, purpose=True)
def test_each_block_travels_once(student, size, q, k, v, causal):
    """A rank gives at most (N - 1) * T * (d_k + d_v) numbers to shift."""
    ranks = Ranks(size)
    given = arguments_of(ranks, q, k, v, causal)
    ranks.run(student.ring_attention, given, "shift")
    require_travel(ranks)
    sent = sum(max(array.size for array in exchange.given) for exchange in ranks.exchanges)
    limit = (size - 1) * (given[0]["k"].size + given[0]["v"].size)
    expect.true(
        sent <= limit,
        f"The keys of a block have the size {given[0]['k'].size}, its values {given[0]['v'].size}. "
        f"Of {size} ranks each may give {limit} to shift; one gives {sent}.",
    )


@KATA.law(points=0.5, purpose=True)
def test_holds_two_blocks(student):
    """A rank holds no block that it has passed on."""
    rng, size, block = np.random.default_rng(3), 12, 8
    q, k, v = (rng.standard_normal((size * block, 128)) for _ in range(3))
    for causal in (False, True):
        ranks = Ranks(size)
        given = arguments_of(ranks, q, k, v, causal)
        ranks.run(student.ring_attention, given, "shift")
        require_travel(ranks)
        last = size - 1
        received = [exchange.returned[last] for exchange in ranks.exchanges]
        ring = student.build(ALONE, "Ring", received)
        ring.begin(**given[last])
        student.ring_attention(**given[last], shift=ring)
        held = ring.stop() / (2 * k.itemsize * block * 128)
        expect.true(
            held <= 4,
            f"Of {size} ranks the last holds {held:.1f} blocks beside its arguments when it calls shift. It "
            "may hold two; 4 leave room for outputs and scores.",
        )


@KATA.law(points=0.5, cases=lambda draw: cases(draw, sizes=(2, 3)), purpose=True)
def test_a_rank_sees_its_own_shard_only(student, size, q, k, v, causal):
    """A rank has its rows from its own arguments and from shift, and keeps nothing of other calls."""
    ranks = Ranks(size)
    given = arguments_of(ranks, q, k, v, causal)
    ranks.run(student.ring_attention, given, "shift")
    others = Ranks(size)
    others.run(student.ring_attention, arguments_of(others, 1 - q, k + 1, v - 1, causal), "shift")
    due = np.split(pair_over(q, k, v, causal)[0].astype(q.dtype), size)
    for rank, arguments in enumerate(given):
        again = ranks.alone(student.ring_attention, rank, arguments, "shift")
        what = f"the output of rank {rank}, which runs again after a sequence of other numbers,"
        expect.close(again, due[rank], what, terms=12, roundings=16)
