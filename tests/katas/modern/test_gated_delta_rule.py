"""gated_delta_rule: its cases and its laws. What a law expects is computed here, token by token, from the
formula of the statement, and never by another part of the submission."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 16
KINDS = (*["plain"] * 4, "vanishing")

#: Numbers of keys of norm 1, by their width. Drawn keys have them in any order, with any signs.
UNIT = {
    1: [[1.0]],
    2: [[1.0, 0.0], [0.6, 0.8], [0.6, 0.8], [0.28, 0.96]],
    3: [[0.0, 0.6, 0.8], [0.48, 0.6, 0.64], [0.8, 0.36, 0.48]],
    4: [[0.5, 0.5, 0.5, 0.5], [0.1, 0.1, 0.7, 0.7], [0.1, 0.3, 0.3, 0.9], [0.7, 0.5, 0.1, 0.5]],
}

KATA = Kata(
    "gated_delta_rule",
    track="modern",
    entry_points=("gated_delta_step", "gated_delta_parallel", "gated_delta_chunked"),
    title="A memory that corrects itself",
    source="Yang, Kautz and Hatamizadeh 2025, sections 3.1 and 3.3",
    library="torch",
    axes={
        "q": "batch heads [tokens] d_k",
        "k": "batch heads [tokens] d_k",
        "v": "batch heads [tokens] d_v",
        "gate": "batch heads [tokens]",
        "beta": "batch heads [tokens]",
        "state": "batch heads d_v d_k",
        "parallel": "batch heads tokens d_v",
        "step": "batch heads d_v",
        "chunked": "batch heads tokens d_v",
    },
    hints=(
        "Begin with the step, with d_k = d_v = 1 and k = 1: the state is one number. What is left of it "
        "after the gate, what does it hold for k, and what has to be added to make it v if beta is 1?",
        "The second token writes less than b_2 v_2, since the first has written before it. Write the u of "
        "three tokens below each other, without a state:\n\n"
        "    u_1 = b_1 v_1\n"
        "    u_2 = b_2 v_2 - L_21 u_1\n"
        "    u_3 = b_3 v_3 - L_31 u_1 - L_32 u_2\n\n"
        "L_ij says how much of u_j is left at token i, where k_i meets k_j, times b_i. This is a triangular "
        "system with ones on its diagonal. With a state, each row also loses what the state holds for its "
        "key. By how much has that faded at the first, and at the third token?",
        "First a helper that gives D for gates [..., C]: differences of the running sums of their "
        "logarithms, with zeros above the diagonal before the exponential and again after it. Parallel:\n\n"
        "    L       D times the products of keys with keys,\n"
        "            each row times its beta, below the diagonal  [B, H, C, C]\n"
        "    right   beta times values                            [B, H, C, d_v]\n"
        "    U       solution of (I + L) U = right                [B, H, C, d_v]\n"
        "    result  D times the products of queries with keys,\n"
        "            times U                                      [B, H, C, d_v]\n\n"
        "For a chunk, with g the running product of its gates [B, H, C, 1]:\n\n"
        "    right   loses beta times g times (keys times S, turned)\n"
        "    result  gains g times (queries times S, turned)\n"
        "    next S  the last g times S, plus U, turned, times keys,\n"
        "            each key times the last row of D\n\n"
        "Both use the S from before the chunk. The caller keeps the S that came in.",
    ),
    roundings=ROUNDINGS,
    bank_size=30,
)


def draw_keys(draw, shape):
    """Keys of norm 1, which a person can read."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    table = np.array(UNIT[shape[-1]])[rng.integers(len(UNIT[shape[-1]]), size=shape[:-1])]
    return rng.permuted(table, axis=-1) * rng.choice([-1.0, 1.0], shape) + 0.0


def delta_case(draw, kind="plain", longest=5):
    """Tokens of no more than a few numbers, and the state that they come after, or none."""
    batch, heads, tokens = draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, longest))
    d_k, d_v, dtype = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.float_dtypes())
    tokens = 5 if kind == "vanishing" else tokens
    shape = batch, heads, tokens

    def tensor(arrays):
        return draw(st.tensors(st.permuted(arrays)))

    def numbers(choices):
        rng = np.random.default_rng(draw(st.integers(0, 2**16)))
        return tensor(st.just(rng.choice(choices, shape).astype(dtype)))

    keys = draw_keys(draw, (*shape, d_k)).astype(dtype)
    gates = [0.5, 0.75, 1.0, 0.25, 0.9]
    if kind == "vanishing":
        gates = [1e-20 if dtype == "float32" else 1e-160] * 3 + [0.5, 0.75]
    given = draw(st.booleans())
    return {
        "q": tensor(st.arrays((*shape, d_k), dtype)),
        "k": tensor(st.just(keys)),
        "v": tensor(st.arrays((*shape, d_v), dtype)),
        "gate": numbers(gates),
        "beta": numbers([0.5, 1.0, 0.75, 0.25, 0.0]),
        "chunk_size": 7 if kind == "vanishing" else draw(st.sampled_from([2, 1, 3, 7])),
        "state": draw(st.tensors(st.arrays((batch, heads, d_v, d_k), dtype))) if given else None,
    }


@KATA.cases
def cases(draw):
    """Draw plain cases, and now and then one whose gates multiply to 0."""
    return delta_case(draw, draw(st.sampled_from(KINDS)))


def plain_cases(draw):
    return delta_case(draw)


@KATA.derived
def keys_of_norm_1(k):
    """Keys of another norm with the norm 1; a zero vector becomes one of equal numbers."""
    norm = k.double().norm(dim=-1, keepdim=True)
    unit = (k.double() / norm).nan_to_num(k.shape[-1] ** -0.5).to(k.dtype)
    return {"k": k if ((norm - 1).abs() < 1e-6).all() else unit}


@KATA.corner(points=0.5)
def gates_whose_product_is_zero(gate):
    """Gates whose product is 0 give finite results."""
    return bool(gate.min() < 1e-9)


def pinned(q, k, v, gate, beta, chunk_size, state=None, dtype="float64"):
    """A case of one head from nested lists."""
    import torch

    given = {"q": q, "k": k, "v": v, "gate": gate, "beta": beta}
    given = {name: torch.tensor([[rows]], dtype=getattr(torch, dtype)) for name, rows in given.items()}
    state = None if state is None else torch.tensor([[state]], dtype=getattr(torch, dtype))
    return {**given, "chunk_size": chunk_size, "state": state}


PRINTED = [[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.6, 0.8]], [[10.0], [20.0]], [1.0, 0.5], [1.0, 0.5]


@KATA.example
def printed():
    """The example of the statement, in one chunk."""
    return pinned(*PRINTED, 2)


@KATA.example
def printed_in_two_chunks():
    return pinned(*PRINTED, 1)


@KATA.example
def a_token_after_others():
    """The state of the example, and a third token."""
    return pinned([[1.0, 1.0]], [[0.0, 1.0]], [[4.0]], [0.5], [1.0], 2, state=[[10.1, 6.8]])


@KATA.example
def a_last_chunk_that_is_smaller():
    q, k = [[1.0, -2.0]] * 5, [[1.0, 0.0], [0.6, 0.8], [-0.8, 0.6], [0.0, 1.0], [0.28, 0.96]]
    v, gate, beta = (
        [[1.0], [2.0], [4.0], [8.0], [16.0]],
        [0.5, 0.9, 0.75, 1.0, 0.25],
        [1.0, 0.5, 0.75, 1.0, 0.5],
    )
    return pinned(q, k, v, gate, beta, 2, dtype="float32")


@KATA.example
def three_gates_whose_product_is_zero():
    """A token after them sees what the last of them left."""
    q, k = [[1.0, 1.0]] * 4, [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [1.0, 0.0]]
    v, gate, beta = [[1.0], [2.0], [4.0], [8.0]], [1e-20, 1e-20, 1e-20, 0.5], [1.0, 0.5, 0.75, 0.5]
    return pinned(q, k, v, gate, beta, 4, dtype="float32")


@KATA.observe
def observe(student, q, k, v, gate, beta, chunk_size, state):
    """Each form by itself; a step for the first token."""
    given = [] if state is None else [state]
    first = (x[:, :, 0].clone() for x in (q, k, v, gate, beta))
    step, after_step = student.gated_delta_step(*first, *given)
    parallel = student.gated_delta_parallel(q, k, v, gate, beta)
    chunked, after = student.gated_delta_chunked(q, k, v, gate, beta, chunk_size, *given)
    return {
        "step": step,
        "state_after_step": after_step,
        "parallel": parallel,
        "chunked": chunked,
        "state_after_chunks": after,
    }


def due(q, k, v, gate, beta, state=None):
    """The results and the last state, token by token in float64."""
    import torch

    wide = [x.double() for x in (q, k, v, gate, beta)]
    held = wide[0].new_zeros(*q.shape[:2], v.shape[3], k.shape[3]) if state is None else state.double()
    results = []
    for token in range(q.shape[2]):
        query, key, value, fade, rate = (x[:, :, token, ..., None] for x in wide)
        held = fade[..., None] * (held - rate[..., None] * (held @ key) @ key.mT)
        held = held + rate[..., None] * value @ key.mT
        results.append((held @ query)[..., 0])
    return torch.stack(results, 2).to(v.dtype), held.to(v.dtype)


def close(got, expected, what):
    """Require the shape, and the numbers as the formula gives them."""
    shape = getattr(got, "shape", None)
    told = f"{what} must have the shape {list(expected.shape)}; it has {shape and list(shape)}."
    expect.true(shape == expected.shape, told[0].upper() + told[1:])
    expect.close(got, expected, what, terms=8, roundings=ROUNDINGS)


def answer_and_state(answer, name):
    """The result and the state of a call, once it has returned both."""
    pair = isinstance(answer, tuple | list) and len(answer) == 2
    expect.true(pair, f"{name} must return the result and the state, (result, S).")
    return answer


def one_token(draw):
    """A token that comes after a state."""
    from hypothesis import assume

    case = delta_case(draw, longest=1)
    assume(case["state"] is not None)
    return {name: x if name == "state" else x[:, :, 0] for name, x in case.items() if name != "chunk_size"}


@KATA.law(points=0.5, cases=one_token)
def test_beta_1_writes_the_value(student, q, k, v, gate, beta, state):
    """After a step with beta 1 the state holds the value for its key: S k is v."""
    import torch

    answer = student.gated_delta_step(q, k, v, gate, torch.ones_like(beta), state)
    state = answer_and_state(answer, "gated_delta_step")[1]
    shape = getattr(state, "shape", None)
    sizes = [*v.shape, k.shape[-1]]
    expect.true(shape == (*sizes,), f"S must have the shape {sizes}; it has {shape and list(shape)}.")
    read = np.einsum("bhvk,bhk->bhv", np.asarray(state, dtype=np.float64), k.double().numpy())
    close(torch.from_numpy(read).to(v.dtype), v, "S k after a step with beta 1")


@KATA.law(points=0.5, cases=one_token)
def test_beta_0_lets_the_state_fade(student, q, k, v, gate, beta, state):
    """A step with beta 0 writes nothing, and the gate makes the whole state fade."""
    import torch

    answer = student.gated_delta_step(q, k, v, gate, torch.zeros_like(beta), state)
    result, after = answer_and_state(answer, "gated_delta_step")
    faded = gate[..., None, None] * state
    close(after, faded, "S after a step with beta 0")
    close(result, (faded @ q[..., None])[..., 0], "the result of a step with beta 0")


@KATA.law(points=0.5, cases=plain_cases)
def test_steps_in_a_row(student, q, k, v, gate, beta):
    """Steps in a row give every token its result and its state, which always has one size."""
    held = None
    for token in range(q.shape[2]):
        row = (x[:, :, token].clone() for x in (q, k, v, gate, beta))
        results, after = due(*(x[:, :, : token + 1] for x in (q, k, v, gate, beta)))
        result, held = answer_and_state(student.gated_delta_step(*row, held), "gated_delta_step")
        close(held, after, f"S after step {token}")
        close(result, results[:, :, token], f"the result of step {token}")


def orthogonal_keys(draw):
    """No more tokens than d_k, whose keys are different rows of an identity matrix."""
    case = delta_case(draw, longest=3)
    tokens = case["q"].shape[2]
    d_k = tokens + draw(st.integers(0, 2))
    shape, dtype = (*case["q"].shape[:3], d_k), str(case["q"].dtype)[6:]
    keys = np.eye(d_k, dtype=dtype)[draw(st.permutations(range(d_k)))][:tokens]
    return {
        "q": draw(st.tensors(st.arrays(shape, dtype))),
        "k": draw(st.tensors(st.just(np.broadcast_to(keys, shape).copy()))),
        "v": case["v"],
    }


@KATA.law(points=0.5, cases=orthogonal_keys)
def test_orthogonal_keys_do_not_meet(student, q, k, v):
    """Where all keys are orthogonal and gates and betas are 1, the parallel form sums q . k_j times v_j."""
    import torch

    ones = torch.ones_like(q[..., 0])
    result = student.gated_delta_parallel(q, k, v, ones, ones)
    sums = (q.double() @ k.double().mT).tril() @ v.double()
    close(result, sums.to(v.dtype), "the result for orthogonal keys")


@KATA.law(points=0.5, cases=plain_cases)
def test_later_tokens_are_hidden(student, q, k, v, gate, beta):
    """In the parallel form, what the last token holds reaches no earlier result."""
    others = [x.clone() for x in (k, v, gate, beta)]
    for x, number in zip(others, (-k[:, :, -1], 100, 0.125, 0.625), strict=True):
        x[:, :, -1] = number
    result = student.gated_delta_parallel(q, *others)
    close(result, due(q, *others)[0], "the result after another last token")


@KATA.law(points=0.5, cases=plain_cases)
def test_any_chunk_size(student, q, k, v, gate, beta, state):
    """Chunks of any size, after any state, give the results and the state of token by token."""
    results, held = due(q, k, v, gate, beta, state)
    for size in range(1, q.shape[2] + 2):
        answer = student.gated_delta_chunked(q, k, v, gate, beta, size, state)
        got, after = answer_and_state(answer, "gated_delta_chunked")
        close(got, results, f"the result for chunk_size={size}")
        close(after, held, f"S for chunk_size={size}")


def normal(tokens, d_k, d_v):
    """Queries, keys, values, gates and betas of two heads."""
    import torch

    made = torch.Generator().manual_seed(tokens + d_k)
    q, k, v = (torch.randn(1, 2, tokens, width, generator=made).clamp(-3, 3) for width in (d_k, d_k, d_v))
    gate, beta = (torch.rand(1, 2, tokens, generator=made) for _ in range(2))
    return q, k / k.norm(dim=-1, keepdim=True), v, 0.5 + gate / 2, beta


#: Tokens, widths and chunk size: each finds another tensor that is too large, all products or all states.
MEASURED = [(64, 4, 4, 4), (64, 8, 8, 8), (32, 2, 6, 16)]


def measured_calls(draw):
    return dict(zip(("tokens", "d_k", "d_v", "chunk_size"), draw(st.sampled_from(MEASURED)), strict=True))


def right_chunks(student, tokens, d_k, d_v, chunk_size):
    """What was measured while the chunked form gave the right result."""
    case = normal(tokens, d_k, d_v)
    with student.counting_largest_tensor() as made:
        answer = student.gated_delta_chunked(*case, chunk_size)
    result = answer_and_state(answer, "gated_delta_chunked")[0]
    close(result, due(*case)[0], f"the result for {tokens} tokens in chunks of {chunk_size}")
    return made


@KATA.law(points=0.5, cases=measured_calls, purpose=True)
def test_no_tensor_is_large(student, tokens, d_k, d_v, chunk_size):
    """In chunks no tensor is larger than twice the arguments, the state or the products of one chunk."""
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
    made = right_chunks(student, 64, 64, 64, 16)
    limit = 48 * 2 * 64 * 64
    expect.true(
        made.written <= limit,
        f"For 64 tokens, 2 heads and d_k = d_v = 64 in chunks of 16, the tensors that are made may have "
        f"{limit:,} elements together, as many as 48 states. They have {made.written:,}.",
    )
    least = 2 * 64 * (64 + 16)
    expect.true(
        made.written >= least,
        f"Products, writes and results are computed in PyTorch, which makes more than {least:,} numbers "
        f"for 64 tokens, 2 heads and d_k = d_v = 64 in chunks of 16. All operations together made "
        f"{made.written:,}.",
    )
