"""linear_attention: its cases and its laws. What a law expects is computed here, token by token, from the
formula of the statement, and never by another part of the submission."""

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 16
KINDS = (*["plain"] * 4, "large")

KATA = Kata(
    "linear_attention",
    track="modern",
    entry_points=("linear_attention_parallel", "linear_attention_step", "linear_attention_chunked"),
    title="A memory that never grows",
    source="Katharopoulos et al. 2020",
    library="torch",
    axes={
        "q": "batch heads [tokens] d_k",
        "k": "batch heads [tokens] d_k",
        "v": "batch heads [tokens] d_v",
        "parallel": "batch heads tokens d_v",
        "step": "batch heads d_v",
        "chunked": "batch heads tokens d_v",
    },
    hints=(
        "Take three tokens and d_k = d_v = 1, with the features 1, 2 and 3 of the keys. Which two sums do "
        "you need for the last result, and which parts of them did you have when you wrote the second?",
        "A weight is a product of features, so the query can be taken out of the sum:\n\n"
        "    sum of (f(q) . f(k_j)) v_j  =  f(q) times (sum of f(k_j) v_j, [d_k, d_v])\n"
        "    sum of f(q) . f(k_j)        =  f(q) . (sum of f(k_j), [d_k])\n\n"
        "In a step both sums grow by one token first, and then the query reads them. In a chunk a query has "
        "two sources:\n\n"
        "    tokens      0  1  2 / 3  4  5      chunks of 3, query 4\n"
        "    source      S and z / weights of 3 and 4\n\n"
        "Numerators of both sources are added, denominators too, and only then divided. Which tokens are in "
        "the S that query 4 reads?",
        "Features first, for q and k. For the parallel form: their products, [T, T], the upper triangle set "
        "to zero; times v, over the row's sum with its axis kept. For each chunk, with S and z of all tokens "
        "before it:\n\n"
        "    weights     rows times keys, lower triangle         [B, H, C, C]\n"
        "    numerator   weights times values, plus rows times S [B, H, C, d_v]\n"
        "    denominator the row's sum, plus rows times z        [B, H, C, 1]\n"
        "    result      numerator over denominator\n"
        "    then        S grows by keys, transposed, times values\n"
        "                z grows by the sum of the keys over the tokens\n\n"
        "z needs an axis at its end for the product, [B, H, d_k, 1]. Join the results along the tokens. "
        "Write S + … and not S += …: the state that came in belongs to the caller.",
    ),
    roundings=ROUNDINGS,
    bank_size=30,
)


def draw_state(draw, shape, d_v, dtype):
    """A state as some tokens would leave it: z above zero."""
    mixed = draw(st.tensors(st.normal_arrays((*shape, d_v), dtype)))
    return mixed, draw(st.tensors(st.normal_arrays(shape, dtype))).abs() + 0.5


def attention_case(draw, kind="plain", longest=5):
    """Tokens of no more than a few numbers, and the state that they come after, or none."""
    batch, heads, tokens = draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, longest))
    d_k, d_v, dtype = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.float_dtypes())
    scale = draw(st.sampled_from([100.0, 200.0])) if kind == "large" else 1.0

    def tensor(width, scale=1.0):
        return draw(st.tensors(st.permuted(st.arrays((batch, heads, tokens, width), dtype, scale))))

    q, k = (tensor(d_k, scale).clamp(min=-2) for _ in "qk")
    given = draw(st.booleans())
    return {
        "q": q,
        "k": k,
        "v": tensor(d_v),
        "chunk_size": draw(st.sampled_from([2, 1, 3, 7])),
        "state": draw_state(draw, (batch, heads, d_k), d_v, dtype) if given else None,
    }


@KATA.cases
def cases(draw):
    return attention_case(draw, draw(st.sampled_from(KINDS)))


@KATA.corner(points=0.5)
def entries_in_the_hundreds(q, k):
    """Entries in the hundreds have features too."""
    return bool(max(q.max(), k.max()) > 50)


def pinned(q, k, v, chunk_size, state=None, dtype="float64"):
    """A case of one head from nested lists."""
    import torch

    q, k, v = (torch.tensor([[rows]], dtype=getattr(torch, dtype)) for rows in (q, k, v))
    if state:
        state = tuple(torch.tensor([[rows]], dtype=q.dtype) for rows in state)
    return {"q": q, "k": k, "v": v, "chunk_size": chunk_size, "state": state}


@KATA.example
def printed():
    """The example of the statement, in one chunk."""
    return pinned([[0.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[10.0], [20.0]], 2)


@KATA.example
def printed_in_two_chunks():
    return pinned([[0.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[10.0], [20.0]], 1)


@KATA.example
def a_token_after_others():
    """The state of the example, and a third token."""
    return pinned([[1.0, -1.0]], [[-1.0, 2.0]], [[5.0]], 2, state=([[50.0], [40.0]], [3.0, 3.0]))


@KATA.example
def a_last_chunk_that_is_smaller():
    q, k = [[1.0, -2.0]] * 5, [[0.5, -1.0], [-1.5, 2.0], [0.0, 0.0], [1.0, 1.0], [-2.0, 0.25]]
    return pinned(q, k, [[1.0], [2.0], [4.0], [8.0], [16.0]], 2, dtype="float32")


@KATA.example
def a_feature_of_two_hundred():
    return pinned(
        [[200.0, 0.0], [0.0, 150.0]], [[200.0, 1.0], [1.0, 200.0]], [[1.0], [2.0]], 1, dtype="float32"
    )


@KATA.observe
def observe(student, q, k, v, chunk_size, state):
    """Each form by itself; a step for the first token."""
    first = (x[:, :, 0].clone() for x in (q, k, v))
    step, after_step = student.linear_attention_step(*first, *([] if state is None else [state]))
    chunked, after = student.linear_attention_chunked(
        q, k, v, chunk_size, *([] if state is None else [state])
    )
    return {
        "parallel": student.linear_attention_parallel(q, k, v),
        "step": step,
        "state_after_step": after_step,
        "chunked": chunked,
        "state_after_chunks": after,
    }


def due(q, k, v, state=None):
    """The results and the last state, token by token in float64."""
    import torch

    q, k = (torch.where(x > 0, x + 1, x.clamp(max=0).exp()) for x in (q.double(), k.double()))
    mixed, total = (
        (part.double() for part in state) if state else (q.new_zeros(*q.shape[:2], q.shape[3], v.shape[3]), 0)
    )
    results = []
    for token in range(q.shape[2]):
        mixed = mixed + torch.einsum("bhk,bhv->bhkv", k[:, :, token], v[:, :, token].double())
        total = total + k[:, :, token]
        above = torch.einsum("bhk,bhkv->bhv", q[:, :, token], mixed)
        results.append(above / (q[:, :, token] * total).sum(-1)[..., None])
    return torch.stack(results, 2).to(v.dtype), (mixed.to(v.dtype), total.to(v.dtype))


def close(got, expected, what):
    """Require the shape, and the numbers as the formula gives them."""
    shape = getattr(got, "shape", None)
    told = f"{what} must have the shape {list(expected.shape)}; it has {shape and list(shape)}."
    expect.true(shape == expected.shape, told[0].upper() + told[1:])
    expect.close(got, expected, what, terms=8, roundings=ROUNDINGS)


def answer_and_state(answer, name):
    """The result, S and z of a call, once it has returned them."""
    told = f"{name} must return the result and the state, (result, (S, z))."
    expect.true(isinstance(answer, tuple | list) and len(answer) == 2, told)
    result, state = answer
    expect.true(isinstance(state, tuple | list) and len(state) == 2, told)
    return result, *state


@KATA.law(points=0.5)
def test_equal_values_come_back(student, q, k, v):
    """Where all values are alike, each result of the parallel form is that value."""
    import torch

    row = torch.arange(1.0, 1 + v.shape[-1], dtype=v.dtype).expand_as(v).clone()
    close(
        student.linear_attention_parallel(q, k, row),
        row,
        f"the result where every value is {row[0, 0, 0].tolist()}",
    )


@KATA.law(points=0.5)
def test_later_tokens_are_hidden(student, q, k, v):
    """In the parallel form, what the last token holds reaches no earlier result."""
    other_k, other_v = k.clone(), v.clone()
    other_k[:, :, -1], other_v[:, :, -1] = 3 - k[:, :, -1] / 4, 100
    result = student.linear_attention_parallel(q, other_k, other_v)
    expected = due(q, other_k, other_v)[0]
    close(result, expected, "the result after another last key and value")


@KATA.law(points=0.5)
def test_steps_in_a_row(student, q, k, v):
    """Steps from no state on, each with the state of the one before, give every token its result."""
    results, state = due(q, k, v)[0], None
    for token in range(q.shape[2]):
        row = (x[:, :, token].clone() for x in (q, k, v))
        answer = student.linear_attention_step(*row, state)
        result, *state = answer_and_state(answer, "linear_attention_step")
        state = tuple(state)
        close(result, results[:, :, token], f"the result of step {token}")


@KATA.law(points=1)
def test_any_chunk_size(student, q, k, v, state):
    """Chunks of any size, after any state, give the results and the state of token by token."""
    results, (mixed, total) = due(q, k, v, state)
    for chunk_size in range(1, q.shape[2] + 2):
        answer = student.linear_attention_chunked(q, k, v, chunk_size, state)
        got, got_mixed, got_total = answer_and_state(answer, "linear_attention_chunked")
        for name, one, other in (("result", got, results), ("S", got_mixed, mixed), ("z", got_total, total)):
            close(one, other, f"{name} for chunk_size={chunk_size}")


@KATA.law(points=0.5)
def test_the_state_has_one_size(student):
    """After any number of steps the state has d_k * (d_v + 1) numbers for each head, and it is S and z."""
    q, k, v = normal(12, 3, 2)
    state = None
    for token in range(12):
        row = (x[:, :, token].clone() for x in (q, k, v))
        _, *state = answer_and_state(student.linear_attention_step(*row, state), "linear_attention_step")
        state = tuple(state)
        held = sum(part.numel() for part in state if hasattr(part, "numel"))
        expect.true(
            held == 2 * 3 * (2 + 1),
            f"For 2 heads, d_k=3 and d_v=2 the state must have 2 * 3 * (2 + 1) = 18 numbers; after "
            f"{token + 1} steps it has {held}.",
        )
    for name, got, expected in zip("Sz", state, due(q, k, v)[1], strict=True):
        close(got, expected, f"{name} after 12 steps")


def normal(tokens, d_k, d_v):
    """Queries, keys and values of two heads."""
    import torch

    made = torch.Generator().manual_seed(tokens + d_k)
    return [torch.randn(1, 2, tokens, width, generator=made).clamp(-3, 3) for width in (d_k, d_k, d_v)]


#: Tokens, widths and chunk size: each finds another tensor that is too large, all weights or all states.
MEASURED = [(64, 4, 4, 4), (64, 8, 8, 8), (32, 2, 6, 16)]


def measured_calls(draw):
    return dict(zip(("tokens", "d_k", "d_v", "chunk_size"), draw(st.sampled_from(MEASURED)), strict=True))


def right_chunks(student, tokens, d_k, d_v, chunk_size):
    """What was measured while the chunked form gave the right result."""
    q, k, v = normal(tokens, d_k, d_v)
    with student.counting_largest_tensor() as made:
        answer = student.linear_attention_chunked(q, k, v, chunk_size)
    result = answer_and_state(answer, "linear_attention_chunked")[0]
    close(result, due(q, k, v)[0], f"the result for {tokens} tokens in chunks of {chunk_size}")
    return made


@KATA.law(points=0.5, cases=measured_calls, purpose=True)
def test_no_tensor_is_large(student, tokens, d_k, d_v, chunk_size):
    """In chunks no tensor is larger than twice the arguments, the state or the weights of one chunk."""
    made = right_chunks(student, tokens, d_k, d_v, chunk_size)
    limit = 2 * 2 * max(tokens * d_k, tokens * d_v, d_k * d_v, chunk_size**2)
    expect.true(
        made.largest.elements <= limit,
        f"With q and k [1, 2, {tokens}, {d_k}], v [1, 2, {tokens}, {d_v}] and chunk_size={chunk_size}, no "
        f"tensor may have more than {limit:,} elements. The largest has "
        f"{made.largest.elements:,}: {made.largest}.",
    )


@KATA.law(points=0.5, purpose=True)
def test_the_state_is_written_once_a_chunk(student):
    """The chunked form brings the state up to date once a chunk, and computes in PyTorch."""
    made = right_chunks(student, 64, 32, 32, 16)
    limit = 64 * 2 * 32 * 32
    expect.true(
        made.written <= limit,
        f"For 64 tokens, 2 heads and d_k = d_v = 32 in chunks of 16, the tensors that are made may have "
        f"{limit:,} elements together, as many as 64 states. They have {made.written:,}.",
    )
    least = 2 * 64 * (32 + 16)
    expect.true(
        made.written >= least,
        f"Features, weights and results are computed in PyTorch, which makes more than {least:,} numbers "
        f"for 64 tokens, 2 heads and d_k = d_v = 32 in chunks of 16. All operations together made "
        f"{made.written:,}.",
    )
