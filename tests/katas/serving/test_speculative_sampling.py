"""speculative_sampling: its cases and its laws.

A model is a table of probabilities; which row follows a sequence depends on all of its tokens. Uniforms are
drawn so that none that decides lies near a ratio or a cumulative probability.
"""

import itertools

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

APART = 2e-3  # the least distance of a uniform from each border that it may decide about

KATA = Kata(
    "speculative_sampling",
    track="serving",
    entry_points=("speculative_step", "speculative_generate"),
    title="Guess ahead, check once, change nothing",
    source="Leviathan et al. 2023, section 2.3 and algorithm 1; Chen et al. 2023, algorithm 2",
    library="torch",
    grades_device=False,
    axes={"target_probs": "drafted+1 vocab", "draft_probs": "drafted vocab"},
    bank_size=36,
    hints=(
        "Say the draft gives a token 0.8 and the target 0.5. How often may the token be kept, so that it "
        "does not come too often? And which tokens come too seldom then, by how much?",
        "A step ends in one of two ways. Say three tokens were drafted after T ids, and drafted token 1 "
        "is refused:\n\n"
        "    target(ids and drafted)   rows T - 1, T, T + 1 speak of the drafted\n"
        "                              tokens 0, 1, 2; row T + 2 of the one after\n"
        "    kept                      drafted token 0\n"
        "    drawn                     one token, from what the target has more\n"
        "                              than the draft there, made to sum to 1\n"
        "    thrown away               drafted tokens 1 and 2\n\n"
        "If all three are kept, one more is drawn from the target's last row. So a step gives from 1 to K "
        "+ 1 tokens. Which of the uniforms draws the last of them?",
        "First a function that draws: count how many entries of the cumulative sum do not exceed the "
        "uniform; that count is the token. The step: go through the drafted tokens while uniforms[i] is "
        "below target over draft, both at row i and the drafted token. At the first where it is not, take "
        "target minus draft of that row, with 0 for what is negative, over its sum; draw with the last "
        "uniform, and return the tokens before it and this one. Generate, while tokens are missing:\n\n"
        "    1   take the next row of uniforms\n"
        "    2   num_draft times: the draft's last row for all ids so far, a draw\n"
        "        with the next uniform, append\n"
        "    3   the target once on all of it; keep its last num_draft + 1 rows\n"
        "    4   a step with the rest of the uniforms; append its tokens to the ids\n"
        "        that the round began with\n\n"
        "At the end cut to the prompt and max_new_tokens.",
    ),
)


def hundredths(rng, rows, vocab, sharp):
    """Rows of probabilities in whole hundredths, some of them 0; each sums to 1."""
    powers = np.exp(sharp * rng.standard_normal((rows, vocab)))
    whole = np.floor(100 * powers / powers.sum(axis=1, keepdims=True))
    whole[np.arange(rows), whole.argmax(axis=1)] += 100 - whole.sum(axis=1)
    return whole / 100


def draw_token(probs, uniform):
    """The token, and the distance of the uniform from the nearest border."""
    sums = np.cumsum(probs)
    return int((sums <= uniform).sum()), float(np.abs(sums - uniform).min())


def step(target_probs, draft_probs, draft_ids, uniforms):
    """The tokens of a step, and the least distance of a uniform that it used from a border."""
    apart, tokens = 1.0, []
    for p, q, token, uniform in zip(target_probs, draft_probs, draft_ids, uniforms, strict=False):
        ratio = p[token] / q[token]
        apart = min(apart, abs(uniform - ratio))
        if uniform >= ratio:
            rest = np.maximum(p - q, 0)
            last, distance = draw_token(rest / rest.sum(), uniforms[-1])
            return [*tokens, last], min(apart, distance)
        tokens.append(int(token))
    last, distance = draw_token(target_probs[len(draft_ids)], uniforms[-1])
    return [*tokens, last], min(apart, distance)


def row_of(ids, rows):
    """The row of a table that follows these ids."""
    place = 0
    for token in ids:
        place = (3 * place + int(token) + 1) % 1009
    return place % rows


def simulate(target_table, draft_table, prompt, max_new_tokens, num_draft, uniforms):
    """The text, how many rounds it takes, and the least distance of a uniform from a border."""
    ids, rounds, apart = list(prompt), 0, 1.0
    while len(ids) < len(prompt) + max_new_tokens:
        row, drafted, rows = uniforms[rounds], list(ids), []
        for uniform in row[:num_draft]:
            rows.append(draft_table[row_of(drafted, len(draft_table))])
            token, distance = draw_token(rows[-1], uniform)
            drafted, apart = [*drafted, token], min(apart, distance)
        targets = [
            target_table[row_of(drafted[:end], len(target_table))]
            for end in range(len(ids), len(drafted) + 1)
        ]
        new, distance = step(targets, rows, drafted[len(ids) :], row[num_draft:])
        ids, rounds, apart = ids + new, rounds + 1, min(apart, distance)
    return ids[: len(prompt) + max_new_tokens], rounds, apart


def tensor(array, dtype=None):
    import torch

    return torch.from_numpy(np.ascontiguousarray(array if dtype is None else array.astype(dtype)))


def uniforms_of(rng, shape):
    """Uniforms in whole thousandths."""
    return rng.integers(2, 998, shape) / 1000


def draw_step(rng, vocab, num_draft, dtype):
    """The arguments of a step, of those that follow a seed the first whose uniforms are apart. Most refuse a
    token, since there answers can go wrong in more ways."""
    refuses = rng.random() < 0.75
    while True:
        target, draft = (hundredths(rng, num_draft + extra, vocab, 1.0) for extra in (1, 0))
        ids = np.array([rng.choice(np.flatnonzero(row > 0)) for row in draft])
        uniforms = uniforms_of(rng, num_draft + 1)
        rounded = [array.astype(dtype).astype(float) for array in (target, draft)]
        tokens, apart = step(*rounded, ids, uniforms)
        if apart > APART and (len(tokens) <= num_draft) == refuses:
            return {
                "target_probs": target.astype(dtype),
                "draft_probs": draft.astype(dtype),
                "draft_ids": ids,
                "uniforms": uniforms.astype(dtype),
            }


def draw_text(rng, vocab, num_draft, max_new_tokens, dtype, make=None):
    """The arguments of a generation, of those that follow a seed the first whose uniforms are apart."""
    while True:
        target, draft = hundredths(rng, 11, vocab, 1.0), hundredths(rng, 7, vocab, 1.0)
        if make is not None:
            target, draft = make(target, draft)
        prompt = rng.integers(0, vocab, rng.integers(1, 4))
        streams = uniforms_of(rng, (max(max_new_tokens, 1), 2 * num_draft + 1))
        if simulate(target, draft, prompt, max_new_tokens, num_draft, streams)[2] > APART:
            return {
                "target_table": tensor(target, dtype),
                "draft_table": tensor(draft, dtype),
                "prompt": tensor(prompt),
                "max_new_tokens": max_new_tokens,
                "num_draft": num_draft,
                "streams": tensor(streams, dtype),
            }


@KATA.cases
def cases(draw, asked=("step", "step", "text")):
    """A step, and a text of several rounds; one of the two is asked for."""
    rng, dtype = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.float_dtypes())
    vocab, num_draft = draw(st.integers(3, 7)), draw(st.integers(1, 4))
    arguments = draw_step(rng, vocab, num_draft, dtype)
    max_new_tokens = draw(st.sampled_from([3, 1, 2, 4, 6, 9, 0]))
    text = draw_text(rng, draw(st.integers(2, 4)), draw(st.integers(1, 3)), max_new_tokens, dtype)
    return {
        **{name: draw(st.tensors(st.permuted(st.just(array)))) for name, array in arguments.items()},
        **text,
        "asked": "text" if max_new_tokens == 0 else draw(st.sampled_from(asked)),
    }


@KATA.corner(points=0.5)
def nothing_to_generate(max_new_tokens):
    """With max_new_tokens=0 the prompt comes back, and no model is called."""
    return max_new_tokens == 0


def fixed(asked="step", dtype="float64", seed=1, **step_arguments):
    """A case with this step; the text follows a seed."""
    rng = np.random.default_rng(seed)
    arguments = draw_step(rng, 2, 1, dtype) | {
        name: np.array(value, dtype=None if name == "draft_ids" else dtype)
        for name, value in step_arguments.items()
    }
    text = draw_text(rng, 3, 2, 7, dtype)
    return {**{name: tensor(array) for name, array in arguments.items()}, **text, "asked": asked}


PRINTED = {"target_probs": [[0.5, 0.5], [0.1, 0.9]], "draft_probs": [[0.8, 0.2]], "draft_ids": [0]}


@KATA.example
def printed_step_accepted():
    return fixed(**PRINTED, uniforms=[0.5, 0.7])


@KATA.example
def printed_step_accepted_and_another_draw():
    return fixed(**PRINTED, uniforms=[0.5, 0.05])


@KATA.example
def printed_step_replaced():
    return fixed(**PRINTED, uniforms=[0.7, 0.3])


@KATA.example
def refused_in_the_middle():
    """The third token would be accepted again."""
    target = [[0.4, 0.3, 0.3], [0.1, 0.3, 0.6], [0.6, 0.2, 0.2], [0.2, 0.2, 0.6]]
    draft = [[0.5, 0.3, 0.2], [0.7, 0.2, 0.1], [0.3, 0.4, 0.3]]
    return fixed(target_probs=target, draft_probs=draft, draft_ids=[0, 0, 0], uniforms=[0.3, 0.5, 0.2, 0.1])


@KATA.example
def a_text_in_float32():
    return fixed("text", "float32", seed=5)


@KATA.example
def a_text_in_float64():
    return fixed("text", seed=6)


@KATA.example
def no_new_tokens():
    return {**fixed("text", seed=7), "max_new_tokens": 0}


AS_CODE = """\
def {name}(ids):
    place, rows = 0, []
    for token in ids.tolist():
        place = (3 * place + token + 1) % 1009
        rows.append(place % len({table}))
    return {table}[rows]"""


def model(table, calls=None):
    """A callable for a table; it notes the lengths with which it is called."""
    import torch

    def probs(ids):
        if getattr(ids, "dtype", None) is not torch.int64 or ids.ndim != 1 or not len(ids):
            raise RuntimeError("the models take int64 ids of one axis, at least one")
        if calls is not None:
            calls.append(len(ids))
        return table[[row_of(ids[: end + 1].tolist(), len(table)) for end in range(len(ids))]]

    probs.as_code = AS_CODE, {"table": table}
    return probs


@KATA.observe
def observe(student, asked, target_probs, draft_probs, draft_ids, uniforms, **text):
    """The tokens of the step or of the text, whichever is asked for, and how often models ran for nothing."""
    if asked == "step":
        return {"result": student.speculative_step(target_probs, draft_probs, draft_ids, uniforms)}
    calls = []
    result = generated(student, calls, **text)
    return {"result": result} if text["max_new_tokens"] else {"result": result, "calls": len(calls)}


def generated(
    student, calls, target_table, draft_table, prompt, max_new_tokens, num_draft, streams, notes=("target",)
):
    """The text; `calls` gets the lengths with which the target is called, and the draft where it is noted."""
    drafts = calls if "draft" in notes or max_new_tokens == 0 else None
    target, draft = model(target_table, calls), model(draft_table, drafts)
    return student.speculative_generate(target, draft, prompt, max_new_tokens, num_draft, streams)


def middles(borders):
    """The middle and the length of each interval between borders inside (0, 1)."""
    ends = sorted({0.0, 1.0, *(float(border) for border in borders if 0 < border < 1)})
    return [((a + b) / 2, b - a) for a, b in itertools.pairwise(ends)]


def tokens_of(result):
    """The tokens of a result, once it is a tensor of one axis."""
    expect.true(getattr(result, "ndim", None) == 1, "The result must be a tensor of one axis.")
    return [int(token) for token in result]


TABLES = [
    ([[0.5, 0.25, 0.25], [0.125, 0.5, 0.375]], [0.25, 0.5, 0.25]),
    ([[0.125, 0.875, 0.0], [0.25, 0.25, 0.5]], [0.5, 0.375, 0.125]),
    ([[0.25, 0.25, 0.5], [0.0, 0.75, 0.25]], [0.625, 0.25, 0.125]),
]


@KATA.law(points=1)
def test_step_keeps_the_distribution(student):
    """Over all drafted tokens and uniforms the step gives tokens as often as the target says."""
    for target, draft in TABLES:
        first, pairs = np.zeros(3), np.zeros((3, 3))
        p, q = np.array(target), np.array(draft)
        rest = np.maximum(p[0] - q, 0)
        lasts = middles([*np.cumsum(rest / rest.sum()), *np.cumsum(p[1])])
        for token in range(3):
            for (u, width), (last, length) in itertools.product(middles([p[0][token] / q[token]]), lasts):
                uniforms = tensor(np.array([u, last]))
                answer = student.speculative_step(
                    tensor(p), tensor(q[None]), tensor(np.array([token])), uniforms
                )
                tokens, weight = tokens_of(answer), q[token] * width * length
                within = len(tokens) in (1, 2) and max(tokens) < 3
                expect.true(within, f"One drafted token gives one or two tokens below 3; {tokens} came.")
                first[tokens[0]] += weight
                if len(tokens) == 2:
                    pairs[tokens[0], tokens[1]] += weight
        given = f"target_probs = {target} and draft_probs = {[draft]}"
        what = f"the probability of each first token, for {given},"
        expect.close(first, p[0], what, terms=64)
        what = f"the probability of each pair of an accepted token and the next, for {given},"
        expect.close(pairs, np.minimum(p[0], q)[:, None] * p[1], what, terms=64)


@KATA.law(points=0.5)
def test_text_keeps_the_distribution(student):
    """Over all uniforms the first new token comes as often as the target says, after any draft."""
    for target, draft in TABLES[:2]:
        p, q, counted = np.array(target[0]), np.array(draft), np.zeros(3)
        rest = np.maximum(p - q, 0)
        lasts = middles(np.cumsum(rest / rest.sum()))
        rounds = itertools.product(middles(np.cumsum(q)), middles(p / q), lasts)
        for row in rounds:
            uniforms, widths = zip(*row, strict=True)
            tables = tensor(np.tile(p, (2, 1))), tensor(q[None])
            prompt, stream = tensor(np.array([1, 0])), tensor(np.array([uniforms]))
            answer = tokens_of(generated(student, [], *tables, prompt, 1, 1, stream))
            expect.true(
                len(answer) == 3 and answer[2] < 3, f"One token must be added to the prompt: {answer}."
            )
            counted[answer[2]] += np.prod(widths)
        what = f"the probability of each new token, for a target of {p.tolist()} and a draft of {q.tolist()},"
        expect.close(counted, p, what, terms=64)


def texts(draw, make=None):
    """Texts of several rounds."""
    rng, dtype = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.float_dtypes())
    vocab, num_draft, length = draw(st.integers(2, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 8))
    return draw_text(rng, vocab, num_draft, length, dtype, make)


def sure_targets(draw):
    """A target that gives one token all probability; any draft."""
    return texts(draw, lambda target, draft: (np.eye(target.shape[1])[target.argmax(axis=1)], draft))


@KATA.law(points=0.5, cases=sure_targets)
def test_sure_target_gives_its_greedy_text(
    student, target_table, draft_table, prompt, max_new_tokens, num_draft, streams
):
    """A target that is sure of every token gives its greedy text, whatever the draft guesses."""
    result = generated(student, [], target_table, draft_table, prompt, max_new_tokens, num_draft, streams)
    text = prompt.tolist()
    for _ in range(max_new_tokens):
        text.append(int(target_table[row_of(text, len(target_table))].argmax()))
    expect.equal(tokens_of(result), text, "the text")


def perfect_drafts(draw):
    """A draft that agrees with the target."""
    return texts(draw, lambda target, draft: (target, target))  # noqa: ARG005 - `texts` hands over both


@KATA.law(points=0.5, cases=perfect_drafts)
def test_perfect_draft_is_accepted(
    student, target_table, draft_table, prompt, max_new_tokens, num_draft, streams
):
    """Where draft and target agree every token is accepted, and a run of the target gives num_draft + 1."""
    calls = []
    generated(student, calls, target_table, draft_table, prompt, max_new_tokens, num_draft, streams)
    due = -(-max_new_tokens // (num_draft + 1))
    expect.true(
        len(calls) == due,
        f"{max_new_tokens} tokens with {num_draft} drafted in each round take {due} runs of the target; "
        f"it ran {len(calls)} times.",
    )


@KATA.law(points=0.5, cases=texts, purpose=True)
def test_target_runs_once_a_round(
    student, target_table, draft_table, prompt, max_new_tokens, num_draft, streams
):
    """The target runs once a round, on all ids and the drafted ones."""
    calls = []
    generated(student, calls, target_table, draft_table, prompt, max_new_tokens, num_draft, streams)
    tables = target_table.double().numpy(), draft_table.double().numpy()
    _, due, _ = simulate(*tables, prompt.tolist(), max_new_tokens, num_draft, streams.double().numpy())
    expect.true(len(calls) == due, f"{due} rounds take {due} runs of the target; it ran {len(calls)} times.")


def two_lengths(draw):
    """A text, and a length at which it may end earlier; neither meets a border."""
    rng, dtype = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.float_dtypes())
    case = draw_text(rng, 4, draw(st.integers(2, 3)), draw(st.integers(2, 8)), dtype)
    return {**case, "shorter": draw(st.integers(1, case["max_new_tokens"] - 1))}


@KATA.law(points=0.5, cases=two_lengths)
def test_shorter_text_is_the_beginning(
    student, target_table, draft_table, prompt, max_new_tokens, num_draft, streams, shorter
):
    """The same uniforms give a shorter text that is the beginning of the longer one."""
    arguments = target_table, draft_table, prompt
    longer = tokens_of(generated(student, [], *arguments, max_new_tokens, num_draft, streams))
    text = tokens_of(generated(student, [], *arguments, shorter, num_draft, streams))
    what = f"the text of {shorter} new tokens, against the beginning of that of {max_new_tokens},"
    expect.equal(text, longer[: len(prompt) + shorter], what)


@KATA.law(points=0.5)
def test_printed_figures(student):
    """The three printed steps come out as printed."""
    for uniforms, due in (([0.5, 0.7], [0, 1]), ([0.5, 0.05], [0, 0]), ([0.7, 0.3], [1])):
        case = fixed(**PRINTED, uniforms=uniforms)
        names = ("target_probs", "draft_probs", "draft_ids", "uniforms")
        answer = student.speculative_step(*(case[name] for name in names))
        expect.equal(tokens_of(answer), due, f"the result for uniforms {uniforms}")
