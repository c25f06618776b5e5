"""continuous_batching: its cases and its laws.

The model of a case keeps the tokens of each request by their positions, as a cache does. Its answer depends
on all of them up to the entry's last one, so a chunk that is left out or stands elsewhere leads to another
text. The laws on single steps follow what the model was shown and what it answered, so that each claim is
judged for the batches that the submission made, whatever it did in the steps before.
"""

from typing import NamedTuple

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "continuous_batching",
    track="serving",
    entry_points=("continuous_batching",),
    title="Requests that join and leave at every step",
    source="Yu et al. 2022; Agrawal et al. 2024",
    libraries=("numpy",),
    bank_size=40,
    hints=(
        "Write down the entries of each step for a token_budget of 3 and two requests that arrive in step 0, "
        "with the prompts [5, 6] and [7, 8, 9, 8], two new tokens each. In which step does each of them "
        "generate its first token?",
        "Three things are to be kept for each request: how many of its tokens the model has processed, what "
        "it has generated, and whether it has ended. With a budget of 3:\n\n"
        "    step    request 0     request 1     left\n"
        "    0       5 6           7             0\n"
        "    1       decode        8 9           0\n"
        "    2       has ended     8             2\n"
        "    3                     decode        2\n\n"
        "Only in step 2 has request 1 read its last token. Which of the four answers to it count? And which "
        "start does its decode have?",
        "Sort the numbers of the requests by their arrival once. Then, step by step, while a request has not "
        "ended:\n\n"
        "    1   present: those that have arrived and have not ended, sorted\n"
        "    2   an entry for each that has generated something: (request,\n"
        "        processed, its last token as a list)\n"
        "    3   left: the budget minus the number of these entries\n"
        "    4   go through the others: cut the next tokens of the prompt, at\n"
        "        most `left`; if there are any, add an entry and lower `left`\n"
        "    5   if there are entries, call the model\n"
        "    6   for each entry and answer: add the entry's length to what is\n"
        "        processed; if that reaches the prompt's length, append the\n"
        "        answer, and note the step if the request has ended\n"
        "    7   the next step, also where nothing was called\n\n"
        "Copy nothing back: lists by request number are already in the order of the result.",
    ),
    hint_for={
        "takes_the_answer_to_every_chunk": 2,
        "starts_every_chunk_at_zero": 2,
        "counts_start_without_the_prompt": 2,
        "starts_decodes_one_further": 2,
        "leaves_decodes_out_of_the_budget": 3,
        "gives_the_whole_rest_to_every_prompt": 3,
        "returns_in_order_of_the_ends": 3,
        "returns_in_order_of_arrival": 3,
    },
)


AS_CODE = """\
def {name}(batch, kept={{}}):
    answers = []
    for request, start, tokens in batch:
        text, place = kept.setdefault(request, {{}}), 0
        text.update(enumerate(tokens, start))
        for at in range(start + len(tokens)):
            place = (3 * place + text.get(at, -2) + 1) % 1009
        answers.append({table}[place % len({table})])
    return answers"""


class Model:
    """A model that answers from a table.

    `calls` has each batch as {request: (start, tokens)}, and the answers as {request: token}.
    """

    def __init__(self, table):
        self.table = table
        self.calls = []
        self.cache = {}

    as_code = property(lambda self: (AS_CODE, {"table": self.table}))

    def __call__(self, batch):
        entries = [self.read(entry) for entry in batch] if isinstance(batch, list | tuple) else None
        if entries is None or None in entries:
            raise RuntimeError(
                "the model takes a list of entries (request, start, tokens), tokens a list that is not empty"
            )
        if not entries:
            raise RuntimeError("a step without entries does not call the model; it was called with none")
        numbers = [request for request, _, _ in entries]
        if len({*numbers}) < len(numbers):
            raise RuntimeError(f"a batch has one entry for each request; the requests were {numbers}")
        answers = [self.answer(*entry) for entry in entries]
        shown = {request: (start, tokens) for request, start, tokens in entries}
        self.calls.append((shown, dict(zip(numbers, answers, strict=True))))
        return answers

    @staticmethod
    def read(entry):
        """The entry in ints, or None where it is none."""
        whole = int | np.integer
        if not isinstance(entry, list | tuple) or len(entry) != 3 or not isinstance(entry[2], list | tuple):
            return None
        numbers = [*entry[:2], *entry[2]]
        if not entry[2] or not all(isinstance(number, whole) for number in numbers):
            return None
        return int(entry[0]), int(entry[1]), [int(token) for token in entry[2]]

    def answer(self, request, start, tokens):
        """Keep the tokens, and look up what comes after the last one."""
        kept = self.cache.setdefault(request, {})
        kept.update(enumerate(tokens, start))
        return following([kept.get(place, -2) for place in range(start + len(tokens))], self.table)


def following(tokens, table):
    """The number of the table that follows these tokens in this order."""
    place = 0
    for token in tokens:
        place = (3 * place + token + 1) % 1009
    return table[place % len(table)]


def alone(table, request, eos_id):
    """What a request generates without the others."""
    _, prompt, max_new_tokens = request
    text = list(prompt)
    while len(text) - len(prompt) < max_new_tokens and (text == prompt or text[-1] != eos_id):
        text.append(following(text, table))
    return text[len(prompt) :]


class Due(NamedTuple):
    """What a step is to hold: {request: its last token} of the decodes, {request: tokens} of the chunks."""

    decodes: dict[int, int]
    chunks: dict[int, int]


def due(requests, done, texts, ended, step, token_budget):
    """What a step holds, for what the requests have processed and generated before it."""
    order = sorted(range(len(requests)), key=lambda number: (requests[number][0], number))
    present = [number for number in order if requests[number][0] <= step and number not in ended]
    decodes = {r: texts[r][-1] for r in present if texts[r]}
    chunks, left = {}, token_budget - len(decodes)
    for r in present:
        if r not in decodes:
            chunks[r] = max(0, min(left, len(requests[r][1]) - done[r]))
            left -= chunks[r]
    return Due(decodes, chunks)


def has_ended(text, request, eos_id):
    return bool(text) and (text[-1] == eos_id or len(text) >= request[2])


def simulate(table, requests, token_budget, eos_id):
    """How many steps call the model, and whether others pass between them or before them."""
    model, size = Model(table), len(requests)
    done, texts, ended, step, idle = [0] * size, [[] for _ in requests], set(), 0, False
    while len(ended) < size:
        decodes, chunks = due(requests, done, texts, ended, step, token_budget)
        parts = {r: [token] for r, token in decodes.items()}
        parts |= {r: requests[r][1][done[r] : done[r] + n] for r, n in chunks.items() if n}
        idle = idle or not parts
        answers = model([(r, done[r], tokens) for r, tokens in parts.items()]) if parts else []
        for (r, tokens), token in zip(parts.items(), answers, strict=True):
            follow(requests, done, texts, ended, r, tokens, token, eos_id)
        step += 1
    return len(model.calls), idle


def follow(requests, done, texts, ended, r, tokens, token, eos_id):
    """Note what an entry and its answer mean for a request."""
    done[r] += len(tokens)
    if done[r] >= len(requests[r][1]):
        texts[r].append(token)
    if has_ended(texts[r], requests[r], eos_id):
        ended.add(r)


def steps_of(calls, requests, token_budget, eos_id):
    """For each call its number, its entries, and what was due in it after the calls before."""
    size, step = len(requests), 0
    done, texts, ended = [0] * size, [[] for _ in requests], set()
    for number, (shown, answers) in enumerate(calls):
        open_arrivals = [requests[r][0] for r in range(size) if r not in ended]
        step = max(step, min(open_arrivals, default=step))  # steps without a request pass
        yield number, shown, due(requests, done, texts, ended, step, token_budget)
        for r, (_, tokens) in shown.items():
            if 0 <= r < size:
                follow(requests, done, texts, ended, r, tokens, answers[r], eos_id)
        step += 1


def draw_case(draw, kind="plain"):
    """A table, requests, a budget, and an eos_id or none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    vocab, size = draw(st.integers(3, 6)), draw(st.integers(2 if kind == "order" else 1, 4))
    token_budget = draw(st.sampled_from([3, 2, 4, 1, 6, 9]))
    eos_id = draw(st.sampled_from([None, *range(1, vocab)]))
    eos_id = 0 if kind == "zero" else eos_id
    while True:
        table = rng.integers(0, vocab, 13).tolist()
        arrivals = np.sort(rng.integers(0, 9 if kind == "idle" else 4, size))
        if kind != "idle":
            arrivals[0] = 0
        if kind == "order":
            arrivals = rng.permutation(arrivals)
        requests = [
            (int(arrival), rng.integers(0, vocab, rng.integers(1, 7)).tolist(), int(rng.integers(1, 5)))
            for arrival in arrivals
        ]
        idle = simulate(table, requests, token_budget, eos_id)[1]
        if idle == (kind == "idle") and out_of_order(requests) == (kind == "order"):
            return {"table": table, "requests": requests, "token_budget": token_budget, "eos_id": eos_id}


def out_of_order(requests):
    arrivals = [arrival for arrival, _, _ in requests]
    return arrivals != sorted(arrivals)


@KATA.cases
def cases(draw):
    return draw_case(draw, draw(st.sampled_from([*["plain"] * 5, "zero", "order", "idle"])))


@KATA.corner(points=0.5)
def eos_of_zero(eos_id):
    """The eos may be token 0."""
    return eos_id == 0


@KATA.corner(points=0.5)
def requests_in_any_order(requests):
    """Requests may stand in another order than that of their arrival."""
    return out_of_order(requests)


@KATA.corner(points=0.5)
def steps_with_nothing_to_do(table, requests, token_budget, eos_id):
    """Steps without a request pass, before the first one and between two."""
    return simulate(table, requests, token_budget, eos_id)[1]


def pinned(requests, token_budget, eos_id=None, vocab=6, seed=1):
    """A case with a table from a seed."""
    table = np.random.default_rng(seed).integers(0, vocab, 13).tolist()
    return {"table": table, "requests": requests, "token_budget": token_budget, "eos_id": eos_id}


@KATA.example
def printed():
    """The example of the statement."""
    requests = [(0, [5, 6, 7], 2), (0, [8, 9, 8, 9], 2), (1, [4], 1)]
    return {"table": [5, 7, 2, 2, 3, 6, 7, 4], "requests": requests, "token_budget": 4, "eos_id": None}


@KATA.example
def one_token_a_step():
    return pinned([(0, [1, 2], 2), (0, [3], 2)], 1, seed=2)


@KATA.example
def a_long_prompt_between_short_ones():
    return pinned([(0, [1], 4), (1, [2, 3, 1, 2, 3, 1], 2), (1, [4], 3)], 3, seed=3)


@KATA.example
def an_eos_in_a_prompt():
    return pinned([(0, [2, 1, 2], 4), (0, [1, 2], 4)], 2, eos_id=2, vocab=3, seed=4)


@KATA.example
def an_eos_of_zero():
    return pinned([(0, [1, 2], 4), (1, [0, 1], 4), (1, [2], 4)], 4, eos_id=0, vocab=3, seed=5)


@KATA.example
def an_eos_of_a_large_vocabulary():
    """Ids as those of a tokenizer; equal ints above 256 are no one object."""
    requests = [(0, [40_000, 1_000], 4), (1, [50_256, 700], 3)]
    table = np.array([700, 50_256, 40_000, 1_000]).tolist()  # ints of its own: eos_id is another object
    return {"table": table, "requests": requests, "token_budget": 3, "eos_id": 50_256}


@KATA.example
def the_last_comes_first():
    """Of two that arrive together, the one that stands first in the list has the longer and larger prompt."""
    return pinned([(2, [3, 1], 2), (0, [5, 4, 5, 4, 5], 2), (0, [1, 2], 3)], 3, seed=6)


@KATA.example
def nothing_to_do_before_and_between():
    return pinned([(2, [1, 2, 3], 1), (9, [3], 2)], 2, seed=7)


@KATA.observe
def observe(student, table, requests, token_budget, eos_id):
    """The texts and the steps in which they ended, by name; what is no pair as it came."""
    answer = served(student, Model(table), requests, token_budget, eos_id)
    if isinstance(answer, tuple | list) and len(answer) == 2:
        return {"texts": answer[0], "ends": answer[1]}
    return {"result": answer}


def served(student, model, requests, token_budget, eos_id):
    """The call, which leaves eos_id out where it is None."""
    given = {} if eos_id is None else {"eos_id": eos_id}
    return student.continuous_batching(model, requests, token_budget, **given)


def calls_of(student, table, requests, token_budget, eos_id):
    """What the model was shown and answered, call by call."""
    model = Model(table)
    served(student, model, requests, token_budget, eos_id)
    return model.calls


@KATA.law(points=0.5)
def test_each_text_is_what_its_prompt_gives_alone(student, table, requests, token_budget, eos_id):
    """The text of each request is the one that its prompt gives alone."""
    answer = served(student, Model(table), requests, token_budget, eos_id)
    pair = isinstance(answer, tuple | list) and len(answer) == 2
    expect.true(pair, "The result must be a pair, the texts and the steps in which they ended.")
    texts = answer[0]
    lists = isinstance(texts, list | tuple) and all(isinstance(text, list | tuple) for text in texts)
    expect.true(lists and len(texts) == len(requests), f"The texts must be a list of {len(requests)} lists.")
    for number, request in enumerate(requests):
        expected = alone(table, request, eos_id)
        expect.equal(list(texts[number]), expected, f"text {number}, against what its prompt gives alone,")


@KATA.law(points=0.5)
def test_the_budget_is_never_passed(student, table, requests, token_budget, eos_id):
    """No call shows more tokens than token_budget."""
    for number, (shown, _) in enumerate(calls_of(student, table, requests, token_budget, eos_id)):
        tokens = sum(len(part) for _, part in shown.values())
        told = f"A step may show {token_budget} tokens; call {number} shows {tokens}: {as_entries(shown)}."
        expect.true(tokens <= token_budget, told)


@KATA.law(points=0.5)
def test_decodes_wait_for_nobody(student, table, requests, token_budget, eos_id):
    """Every request whose prompt has been read has its last token in the next call, alone."""
    calls = calls_of(student, table, requests, token_budget, eos_id)
    for number, shown, wanted in steps_of(calls, requests, token_budget, eos_id):
        for r, token in wanted.decodes.items():
            told = f"Call {number} must show the token {token} alone of request {r}, whose prompt is read"
            expect.true(r in shown and shown[r][1] == [token], f"{told}; it shows {as_entries(shown)}.")


@KATA.law(points=1)
def test_prompts_get_the_rest_in_order_of_arrival(student, table, requests, token_budget, eos_id):
    """What decodes leave of the budget goes to the prompts in order of arrival, as much as each needs."""
    calls = calls_of(student, table, requests, token_budget, eos_id)
    for number, shown, wanted in steps_of(calls, requests, token_budget, eos_id):
        lengths = {r: len(shown[r][1]) for r in shown if r not in wanted.decodes}
        needed = {r: count for r, count in wanted.chunks.items() if count}
        parts = [f"{n} token{'s' * (n > 1)} of prompt {r}" for r, n in needed.items()]
        told = f"Call {number} must show {' and '.join(parts) or 'no prompt'}, beside decodes"
        expect.true(lengths == needed, f"{told}; it shows {as_entries(shown)}.")


@KATA.law(points=0.5, purpose=True)
def test_each_token_is_processed_once(student, table, requests, token_budget, eos_id):
    """The entries of a request show its prompt and what it generates, each token once, but for the last."""
    calls = calls_of(student, table, requests, token_budget, eos_id)
    for r, request in enumerate(requests):
        entries = [shown[r] for shown, _ in calls if r in shown]
        tokens = [token for _, part in entries for token in part]
        expected = [*request[1], *alone(table, request, eos_id)[:-1]]
        expect.equal(tokens, expected, f"the list of tokens that all entries of request {r} show")
        place = 0
        for start, part in entries:
            told = f"Request {r} has shown {place} tokens, so its next entry must start at {place}"
            expect.true(start == place, f"{told}; it starts at {start}: {(r, start, part)}.")
            place += len(part)


@KATA.law(points=0.5)
def test_a_step_is_one_call(student, table, requests, token_budget, eos_id):
    """The model is called once for each step that has an entry."""
    calls = calls_of(student, table, requests, token_budget, eos_id)
    most = simulate(table, requests, token_budget, eos_id)[0]
    told = f"{most} steps have entries, so the model is to be called {most} times; it was {len(calls)}."
    expect.true(len(calls) == most, told)


def as_entries(shown):
    """The entries of a call as a text."""
    return ", ".join(str((r, *entry)) for r, entry in shown.items()) or "nothing"


@KATA.law(points=0.5)
def test_refuses_a_budget_below_one(student, table, requests):
    """A token_budget below 1 raises a ValueError."""
    for token_budget in (0, -1):
        why = f"a step of {token_budget} tokens processes nothing"
        expect.refuses(student.continuous_batching, Model(table), requests, token_budget, why=why)
