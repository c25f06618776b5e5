"""kv_cache: its cases and its laws."""

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "kv_cache",
    track="generation",
    entry_points=("KVCache", "cached_attention"),
    title="Every token is projected once",
    source="Shazeer 2019, section 2.4; Vaswani et al. 2017, section 3.2",
    library="torch",
    roundings=4,
    bank_size=20,
    hints=(
        "Follow one step: which tensors belong to the new tokens alone, and which to every token so far? "
        "Only the keys and values of the past are needed again. Where must they live, so that a second "
        "cache knows nothing of them?",
        "The score matrix is T_new x T, not square. With two tokens in the cache and a piece of three:\n\n"
        "    key           0  1  2  3  4\n"
        "    query at 2    x  x  x  .  .      the first new token\n"
        "    query at 3    x  x  x  x  .\n"
        "    query at 4    x  x  x  x  x\n\n"
        "The first row belongs to the token at position len(cache) before the append. So compare "
        "positions: a key is seen where its position is at most the query's. A single new token sees all "
        "keys, which is why a mask that starts at 0 goes unnoticed until a longer piece comes.",
        "The cache begins with nothing, in __init__ and not in the class, so that two caches share "
        "nothing. append joins what is held and what comes along the tokens, keeps it and returns it. The "
        "attention:\n\n"
        "    x w_qkv    cut into q, k, v, each in heads      [B, H, T_new, d_head]\n"
        "    past       len(cache), asked before the append\n"
        "    append     k and v; it returns all of them      [B, H, T, d_head]\n"
        "    scores     q times all keys, over the root of d_head\n"
        "                                                    [B, H, T_new, T]\n"
        "    hidden     -inf where the key's position is greater than\n"
        "               past plus the query's index\n"
        "    mixed      softmax over the keys, times all values\n\n"
        "Bring the heads beside d_head again, join the two axes to [B, T_new, d_model], and multiply by "
        "w_out.",
    ),
)


#: Watch what is made from `start_watching()` to `largest_made()`, which returns the size of the largest new
#: tensor, of any dtype: `counting_flops` does not see masks of truth values.
WATCH = """
import torch
from torch.overrides import TorchFunctionMode

def tensors(values):
    return [value for value in values if isinstance(value, torch.Tensor)]

class Watch(TorchFunctionMode):
    largest = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        held = {tensor.untyped_storage().data_ptr() for tensor in tensors(args)}
        for made in tensors(result if isinstance(result, (tuple, list)) else [result]):
            if made.untyped_storage().data_ptr() not in held:
                self.largest = max(self.largest, made.numel())
        return result

watches = []

def start_watching():
    watches.append(Watch())
    watches[-1].__enter__()

def largest_made():
    watch = watches.pop()
    watch.__exit__(None, None, None)
    return watch.largest
"""


@KATA.cases
def cases(draw):
    """A sequence for the attention, raw keys and values for the cache, and how both are cut into pieces."""
    pieces = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    batch, num_heads, d_head = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    dtype = draw(st.float_dtypes())
    tokens, d_model = sum(pieces), num_heads * d_head

    def tensor(*shape, scale=1.0):
        return draw(st.tensors(st.permuted(st.arrays(shape, dtype, scale))))

    return {
        "x": tensor(batch, tokens, d_model),
        "w_qkv": tensor(d_model, 3 * d_model, scale=0.5),
        "w_out": tensor(d_model, d_model, scale=0.5),
        "num_heads": num_heads,
        "k": tensor(batch, num_heads, tokens, d_head),
        "v": tensor(batch, num_heads, tokens, d_head),
        "pieces": pieces,
    }


@KATA.example
def one_token_then_another():
    """The example of the statement."""
    import torch

    eye = torch.eye(2, dtype=torch.float64)
    tokens = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]], dtype=torch.float64)
    return {
        "x": tokens,
        "w_qkv": torch.cat([eye, eye, eye], dim=1),
        "w_out": eye,
        "num_heads": 1,
        "k": tokens[:, None],
        "v": 2 * tokens[:, None],
        "pieces": [1, 1],
    }


@KATA.observe
def observe(student, x, w_qkv, w_out, num_heads, k, v, pieces):
    """Each piece's output, the length at the end; what a second cache gives back for raw keys and values."""
    cache, raw = student.KVCache(), student.KVCache()
    seen = {}
    for index, (start, stop) in enumerate(spans(pieces)):
        new_k, new_v = k[:, :, start:stop], v[:, :, start:stop]
        seen[f"appended_{index}"] = raw.append(new_k, new_v)
        seen[f"output_{index}"] = student.cached_attention(x[:, start:stop], w_qkv, w_out, num_heads, cache)
    return {**seen, "length": len(cache)}


def spans(pieces):
    """Where each piece starts and stops."""
    stops = [sum(pieces[: i + 1]) for i in range(len(pieces))]
    return list(zip([0, *stops[:-1]], stops, strict=True))


def outputs(student, x, w_qkv, w_out, num_heads, pieces):
    """Each piece's output, from one fresh cache."""
    cache = student.KVCache()
    return [
        student.cached_attention(x[:, start:stop], w_qkv, w_out, num_heads, cache)
        for start, stop in spans(pieces)
    ]


@KATA.for_laws
def functions(student):
    """The outputs of a sequence that is fed in pieces to one fresh cache, joined."""

    def attend(x, w_qkv, w_out, num_heads, pieces):
        import torch

        return torch.cat(outputs(student, x, w_qkv, w_out, num_heads, pieces), dim=1)

    return {"attend": attend}


@KATA.law(points=0.5)
def test_any_cutting_gives_the_same(student, x, w_qkv, w_out, num_heads, pieces):
    """A sequence gives the same outputs whole as cut into pieces."""
    [whole] = outputs(student, x, w_qkv, w_out, num_heads, [x.shape[1]])
    expect.true(getattr(whole, "shape", None) == x.shape, "The output must have the shape of x.")
    cut = outputs(student, x, w_qkv, w_out, num_heads, pieces)
    expected = [whole[:, start:stop] for start, stop in spans(pieces)]
    what = f"the output of each piece, cut {pieces}, against the same tokens fed at once,"
    expect.close(cut, expected, what, terms=w_qkv.shape[1], roundings=8)


def extreme_tokens(draw):
    """Five tokens on four axes, the last a longer copy of the first, and weights that make scores of hundreds
    and thousands in the first of one or two heads. There no two visible scores lie near each other, unless
    they are both 0."""
    import torch

    dtype, size = getattr(torch, draw(st.float_dtypes())), draw(st.sampled_from([30.0, 200.0]))
    order, num_heads = draw(st.permutations(range(4))), draw(st.sampled_from([1, 2]))
    eye = torch.eye(4, dtype=dtype)
    loud = eye * torch.tensor([size] * 2 + [size if num_heads == 1 else 1.0] * 2, dtype=dtype)
    x = torch.stack([eye[i] for i in order] + [2 * eye[order[0]]])[None]
    first = draw(st.integers(1, 5))
    return {
        "x": x,
        "w_qkv": torch.cat([draw(st.sampled_from([1, -1])) * loud, loud, eye], dim=1),
        "w_out": eye,
        "num_heads": num_heads,
        "pieces": [first, 5 - first] if first < 5 else [5],
    }


@KATA.law(points=0.5, cases=extreme_tokens)
def test_extreme_scores(student, x, w_qkv, w_out, num_heads, pieces):
    """Scores of hundreds and thousands, hidden ones too, leave the right weights."""
    import torch

    parts = (x.double() @ w_qkv.double()).unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)
    scores = parts[0] @ parts[1].mT / parts.shape[-1] ** 0.5
    later = torch.ones(5, 5).triu(1).bool()
    mixed = scores.masked_fill(later, float("-inf")).softmax(dim=-1) @ parts[2]
    got = outputs(student, x, w_qkv, w_out, num_heads, pieces)
    expected = mixed.transpose(1, 2).flatten(2).to(x.dtype).split(pieces, dim=1)
    what = f"the output of each piece, cut {pieces}, for scores up to {float(scores.abs().max()):g},"
    expect.close(got, list(expected), what, terms=8, roundings=8, dtype="float32")


def pieces_with_a_long_last_one(draw):
    """The kata's cases, the last piece at least two tokens long, mostly with a history before it."""
    case = cases(draw)
    tokens = case["x"].shape[1]
    last = min(tokens, draw(st.integers(2, 4)))
    return {**case, "pieces": [*[1] * (tokens - last), last]}


@KATA.law(points=0.5, cases=pieces_with_a_long_last_one)
def test_no_token_sees_a_later_one(student, x, w_qkv, w_out, num_heads, pieces):
    """No token's output depends on a later token of the same piece."""
    changed = x.clone()
    changed[:, -1] = 1 - x[:, -1]
    before = outputs(student, x, w_qkv, w_out, num_heads, pieces)[-1]
    expect.true(getattr(before, "ndim", 0) == 3, "The output must have three axes, [B, T_new, d_model].")
    after = outputs(student, changed, w_qkv, w_out, num_heads, pieces)[-1]
    expect.true(getattr(after, "ndim", 0) == 3, "The output must have three axes, [B, T_new, d_model].")
    what = "the output of the earlier tokens, after the last token of their piece was changed,"
    expect.close(after[:, :-1], before[:, :-1], what, terms=w_qkv.shape[1], roundings=8)


@KATA.law(points=0.5)
def test_caches_live_side_by_side(student, x, w_qkv, w_out, num_heads, pieces):
    """Two caches fed in turn give what each gives alone."""
    other = x.flip(1) + 1
    caches = student.KVCache(), student.KVCache()
    in_turn = []
    with student.holding_results() as held:
        for start, stop in spans(pieces):
            for sequence, cache in zip((x, other), caches, strict=True):
                piece = sequence[:, start:stop]
                in_turn.append(student.cached_attention(piece, w_qkv, w_out, num_heads, cache))
    expect.true(not held.overwritten, "A call must leave the output of an earlier one as it was.")
    expect.equal([len(cache) for cache in caches], [x.shape[1]] * 2, "the length of both caches")
    for first, sequence in enumerate((x, other)):
        alone = outputs(student, sequence, w_qkv, w_out, num_heads, pieces)
        what = "the output of a sequence whose pieces took turns with another's, each with its own cache,"
        expect.close(in_turn[first::2], alone, what, terms=w_qkv.shape[1], roundings=8)


@KATA.law(points=0.5)
def test_len_counts_tokens(student, k, v, pieces):
    """len(cache) is 0 at first and grows by the new tokens of every append."""
    cache = student.KVCache()
    before = len(cache)
    cache.append(k[:, :, :1], v[:, :, :1])
    is_shared = len(student.KVCache()) > before
    said = "A new cache holds what another one was given: the history does not belong to the object."
    expect.true(not is_shared, said)
    cache = student.KVCache()
    expect.equal(len(cache), 0, "the length of a new cache")
    for start, stop in spans(pieces):
        cache.append(k[:, :, start:stop], v[:, :, start:stop])
        expect.equal(len(cache), stop, f"the length of a cache with {stop} tokens, appended as {pieces},")


@KATA.law(points=0.5)
def test_append_returns_all_tokens(student, k, v, pieces):
    """append returns all keys and all values so far, oldest first, to the bit."""
    cache = student.KVCache()
    for start, stop in spans(pieces):
        got = cache.append(k[:, :, start:stop], v[:, :, start:stop])
        what = f"the pair (all_k, all_v) of {stop} tokens, appended as {pieces},"
        expect.equal(got, (k[:, :, :stop], v[:, :, :stop]), what)


@KATA.law(points=0.5)
def test_holds_a_long_history(student):
    """A cache holds thousands of tokens."""
    import torch

    cache, tokens = student.KVCache(), torch.arange(4200.0).reshape(1, 1, 4200, 1)
    for start in range(0, 4200, 1400):
        cache.append(tokens[:, :, start : start + 1400], -tokens[:, :, start : start + 1400])
    expect.equal(len(cache), 4200, "the length after three appends of 1400 tokens")
    got = cache.append(tokens[:, :, :1], tokens[:, :, :1])
    last = torch.cat([tokens, tokens[:, :, :1]], dim=2), torch.cat([-tokens, tokens[:, :, :1]], dim=2)
    expect.equal(got, last, "the pair (all_k, all_v) of 4201 tokens")


@KATA.law(points=0.5, purpose=True)
def test_projects_no_token_twice(student):
    """A step projects its own tokens alone, never those in the cache."""
    d_model, short, long = 64, 2, 8
    lengths = range(short, long + 1, 2)
    work = [work_of_a_step(student, d_model, 2, length) for length in lengths]
    growth = work[-1] - work[0]
    # Projecting the cached tokens into keys, or into values, takes 2 * d_model * d_model for each.
    bounds = [work[0] + d_model * d_model * (length - short) for length in lengths]
    expect.true(
        work[-1] <= bounds[-1],
        f"With {long} tokens in the cache and not {short} (d_model={d_model}), a one-token step may cost "
        f"{d_model * d_model * (long - short):,} more floating-point operations, half of what projecting the "
        f"other tokens into keys takes. It costs {growth:,} more.",
        work_curve(bounds, work, lengths),
    )


@KATA.law(points=0.5)
def test_work_grows_with_the_length(student):
    """The work of a one-token step grows with the cache's length, not with its square."""
    d_model, short, long = 16, 64, 256
    lengths = range(short, long + 1, 64)
    work = [work_of_a_step(student, d_model, 2, length) for length in lengths]
    growth = work[-1] - work[0]
    # The scores of all tokens against all take 2 * d_model * T * T.
    limit = d_model // 2 * (long * long - short * short)
    bounds = [work[0] + d_model // 2 * (length * length - short * short) for length in lengths]
    expect.true(
        growth <= limit,
        f"With {long} tokens in the cache and not {short} (d_model={d_model}), a one-token step may cost "
        f"{limit:,} more floating-point operations, a quarter of the scores of all those tokens against all. "
        f"It costs {growth:,} more.",
        work_curve(bounds, work, lengths),
    )


@KATA.law(points=0.5)
def test_makes_no_square_mask(student):
    """A one-token step makes nothing of all tokens against all, a mask of truth values neither."""
    import torch

    tokens, step, weights = torch.ones(1, 256, 4), torch.ones(1, 1, 4), torch.ones(4, 12)
    cache = student.KVCache()
    student.cached_attention(tokens, weights, weights[:, :4], 2, cache)
    largest = []
    for _ in range(2):  # a buffer or a mask that is kept may grow now and then
        student.build(WATCH, "start_watching")
        try:
            student.cached_attention(step, weights, weights[:, :4], 2, cache)
        finally:
            largest.append(student.build(WATCH, "largest_made"))
    expect.true(
        min(largest) <= 256 * 256 // 2,
        "With 256 tokens in the cache, d_model=4 and two heads, a one-token step may make tensors of up to "
        f"{256 * 256 // 2:,} elements, half of a mask of all those tokens against all. It makes one of "
        f"{min(largest):,}.",
    )


def work_curve(bounds, work, lengths):
    """The operations of a one-token step for each length of the cache, beside the most that are allowed."""
    wrong = [index for index, bound in enumerate(bounds) if work[index] > bound]
    at = [f"{length} tokens" for length in lengths]
    return expect.curve("operations of a one-token step", bounds, work, at, wrong=wrong)


def work_of_a_step(student, d_model, num_heads, length):
    """The operations of the step that brings the token after `length` others, if its result is right."""
    import torch

    generator = torch.Generator().manual_seed(length)
    x = torch.randn(1, length + 1, d_model, generator=generator)
    w_qkv = torch.randn(d_model, 3 * d_model, generator=generator) / d_model**0.5
    w_out = torch.randn(d_model, d_model, generator=generator) / d_model**0.5
    cache = student.KVCache()
    student.cached_attention(x[:, :length], w_qkv, w_out, num_heads, cache)
    with student.counting_flops() as work:
        got = student.cached_attention(x[:, length:], w_qkv, w_out, num_heads, cache)
    parts = (x @ w_qkv).view(1, length + 1, 3, num_heads, -1)
    q, k, v = parts.permute(2, 0, 3, 1, 4)
    shares = (q[..., -1:, :] @ k.mT / k.shape[-1] ** 0.5).softmax(dim=-1)
    expected = (shares @ v).transpose(1, 2).reshape(1, 1, d_model) @ w_out
    what = f"the output for the token after {length} others"
    expect.close(got, expected, what, terms=length + 3 * d_model, roundings=8)
    return work.flops
