"""beam_search: its cases and its laws.

A model is a tree of probabilities: one row for each sequence of new tokens, the shorter ones first. So the
next token depends on all tokens before it, and a search that shows the model too little is led astray.
"""

import itertools
import math

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "beam_search",
    track="generation",
    entry_points=("beam_search",),
    title="Several sequences in play, the best one returned",
    source="Sutskever et al. 2014, section 3.2",
    library="torch",
    axes={"tree": "prefixes vocab"},
    grades_device=False,
    bank_size=32,
    hints=(
        "A beam is a sequence and its total. Which numbers must be compared to choose the next beams: those "
        "of one row of the model's answer, or those of all rows together? And is it the last token that "
        "counts, or the sum so far?",
        "Totals [N, 1] plus log-probabilities [N, V] give the totals of all candidates. At the first step "
        "N is 1, so there are V candidates and no more, whatever the beam size. A beam that has ended is "
        "a candidate as well, with the total it has:\n\n"
        "    two beams, one of them ended, V = 3:    1 + 1 * 3 = 4 candidates\n"
        "    the beam_size best of these 4 are the next beams\n\n"
        "Where in your loop do the ended beams meet the grown ones: before the best are chosen, or after "
        "it?",
        "Keep a list of pairs (ids, total), at first the prompt with 0. One step, with beam_size 2 and "
        "the eos 2:\n\n"
        "    beams    [0, 0] -0.69     [0, 1] -0.92\n"
        "    part     ended: the last generated token is the eos (here none);\n"
        "             live: all others. Stop if none is live.\n"
        "    ask      the ids of the live ones, as one tensor [N, T] -> [N, V]\n"
        "    grow     a candidate for each live beam and each token: the ids with\n"
        "             the token, the total plus the token's log-probability\n"
        "    join     these candidates, and the ended beams as they are\n"
        "    choose   sort by total, the largest first; keep the first beam_size\n\n"
        "A prompt that ends on the eos is live: its tokens were not generated. After the last step the "
        "first beam is the result.",
    ),
)

CLEAR = 2e-3  # totals that lie nearer count as tied
DEPTHS = {1: 3, 2: 5, 3: 4, 4: 3, 5: 3, 6: 2}  # for each vocabulary the longest search


@KATA.cases
def cases(draw):
    """A model, a prompt without eos, and a search that meets no tie, with these beams or with one."""
    vocab, kind = draw(st.integers(2, 6)), draw(st.sampled_from(["plain", "plain", "wide", "zero"]))
    beam_size = draw(st.sampled_from([7, 12] if kind == "wide" else range(1, min(vocab, 4) + 1)))
    eos_ids = [0] if kind == "zero" else [None, *range(1, vocab), *range(1, vocab)]
    if kind == "wide":
        vocab = draw(st.integers(1, vocab))
        eos_ids = [None, *range(1, vocab)]
    return draw_search(draw, vocab, beam_size, draw(st.integers(1, DEPTHS[vocab])), eos_ids)


@KATA.corner(points=0.5)
def more_beams_than_tokens(tree, beam_size):
    """The beam size may exceed the vocabulary."""
    return beam_size > tree.shape[-1]


@KATA.corner(points=0.5)
def eos_of_zero(eos_id):
    """The eos may be token 0."""
    return eos_id == 0


def draw_search(draw, vocab, beam_size, steps, eos_ids):
    """The case; of the models that follow a drawn seed, the first whose totals are all told apart."""
    eos_id = draw(st.sampled_from(eos_ids))
    prompt = draw(st.lists(st.sampled_from([i for i in range(vocab) if i != eos_id]), min_size=1, max_size=3))
    scale, fade = draw(st.sampled_from([(1.0, 1.0), (0.4, 2.0), (2.0, 0.4)]))
    favour = draw(st.sampled_from([0.0, 0.0, -1.0, 1.0]))
    seed, dtype = draw(st.integers(0, 2**16)), draw(st.float_dtypes())
    while True:
        tree = grow_tree(seed, vocab, steps, eos_id, scale, fade, favour).astype(dtype)
        if meets_no_tie(tree, beam_size, steps, eos_id) and meets_no_tie(tree, 1, steps, eos_id):
            break
        seed += 1
    return {
        "tree": as_tensor(tree),
        "prompt": prompt,
        "beam_size": beam_size,
        "max_new_tokens": steps,
        "eos_id": eos_id,
    }


def grow_tree(seed, vocab, steps, eos_id, scale=1.0, fade=1.0, favour=0.0):
    """Probabilities in whole hundredths after each sequence of fewer than `steps` tokens. The model grows
    less sure from step to step (`fade` below 1) or surer, and favours the eos, or not."""
    random = np.random.default_rng(seed)
    levels = [random.standard_normal((vocab**step, vocab)) * scale * fade**step for step in range(steps)]
    powers = np.exp(np.concatenate(levels))
    if eos_id is not None:
        powers[:, eos_id] *= np.exp(favour)
    hundredths = 1 + np.floor(powers / powers.sum(axis=-1, keepdims=True) * (100 - vocab))
    hundredths[np.arange(len(powers)), powers.argmax(axis=-1)] += 100 - hundredths.sum(axis=-1)
    return hundredths / 100


def meets_no_tie(tree, beam_size, steps, eos_id):
    """Whether, at every step, the last candidate kept and the first one dropped lie clearly apart, and the
    best two at the end."""
    log_probs, beams = np.log(tree.astype(np.float64)), [((), 0.0)]
    for _ in range(steps):
        ended = [beam for beam in beams if eos_id in beam[0]]
        live = [beam for beam in beams if eos_id not in beam[0]]
        grown = [
            ((*ids, i), total + part)
            for ids, total in live
            for i, part in enumerate(log_probs[row(ids, tree)])
        ]
        beams = sorted(ended + grown, key=lambda beam: -beam[1])
        if len(beams) > beam_size and beams[beam_size - 1][1] - beams[beam_size][1] < CLEAR:
            return False
        del beams[beam_size:]
    return len(beams) == 1 or beams[0][1] - beams[1][1] > CLEAR


def row(new_tokens, tree):
    """Where in the tree the probabilities after these tokens stand; any tokens have some row."""
    vocab, index = tree.shape[-1], 0
    for token in new_tokens:
        index = index * vocab + int(token) + 1
    return index % len(tree)


def as_tensor(tree):
    import torch

    return torch.from_numpy(tree)


AS_CODE = """\
def {name}(ids):
    rows = []
    for seq in ids.tolist():
        row, skipped = 0, len({prompt}) if seq[:len({prompt})] == {prompt} else 0
        for token in seq[skipped:]:
            row = row * {tree}.shape[-1] + token + 1
        rows.append((row + (skipped == 0)) % len({tree}))
    return {tree}[rows].log()"""


def model(tree, prompt):
    """`next_log_probs` for a tree; what does not begin with the prompt gets another sequence's row."""
    import torch

    start = len(prompt)

    def next_log_probs(ids):
        if getattr(ids, "dtype", None) is not torch.int64 or ids.ndim != 2:
            raise RuntimeError("next_log_probs takes an int64 tensor of two axes, [N, T]")
        rows = [
            row(seq[start:], tree) if seq[:start] == prompt else row(seq, tree) + 1 for seq in ids.tolist()
        ]
        return tree[[index % len(tree) for index in rows]].log()

    next_log_probs.as_code = AS_CODE, {"tree": tree, "prompt": prompt}
    return next_log_probs


def search(student, tree, prompt, beam_size, max_new_tokens, eos_id):
    """The answer; where no eos is asked for, its default is judged too."""
    options = {} if eos_id is None else {"eos_id": eos_id}
    return student.beam_search(
        model(tree, prompt), prompt, beam_size=beam_size, max_new_tokens=max_new_tokens, **options
    )


def found(student, tree, prompt, beam_size, max_new_tokens, eos_id):
    """The new tokens and the total, once it is known that they are a list after the prompt, and a float."""
    answer = search(student, tree, prompt, beam_size, max_new_tokens, eos_id)
    pair = isinstance(answer, tuple | list) and len(answer) == 2
    expect.true(pair, "The result must be a pair, the ids of the best beam and their log-probability.")
    ids, total = answer
    expect.true(isinstance(ids, list | tuple), "The ids must be a list.")
    expect.true(isinstance(total, float | np.floating), "The log-probability must be a float.")
    expect.equal(ids[: len(prompt)], prompt, "the beginning of the ids")
    return list(ids[len(prompt) :]), total


@KATA.observe
def observe(student, tree, prompt, beam_size, max_new_tokens, eos_id):
    """The ids, and their total to float32: nothing says that totals are added up in more."""
    ids, total = search(student, tree, prompt, beam_size, max_new_tokens, eos_id)
    return {"ids": ids, "log_probability": np.float32(total) if isinstance(total, float) else total}


def total_of(tokens, tree):
    """The sum of the log-probabilities of these new tokens."""
    return sum(math.log(tree[row(tokens[:i], tree)][token]) for i, token in enumerate(tokens))


def tree_of(*rows):
    """A tree from rows of probabilities."""
    return as_tensor(np.array(rows))


ANY = (0.5, 0.3, 0.2)


def search_of_the_statement():
    """The greedy first token leads to nothing good."""
    tree = tree_of((0.5, 0.4, 0.1), (0.4, 0.3, 0.3), (0.05, 0.05, 0.9), *[ANY] * 10)
    return {"tree": tree, "prompt": [0], "beam_size": 2, "max_new_tokens": 3, "eos_id": 2}


@KATA.example
def example_of_the_statement():
    """The second beam overtakes the first."""
    return search_of_the_statement()


@KATA.example
def the_same_without_an_end():
    """No token ends a beam."""
    return {**search_of_the_statement(), "eos_id": None}


@KATA.example
def best_beam_comes_last_at_first():
    """More beams than tokens; the best sequence is the last but one of nine after two steps."""
    tree = tree_of((0.4, 0.35, 0.25), *[(0.45, 0.35, 0.2)] * 3, *[(0.35, 0.33, 0.32)] * 9)
    tree[row((1, 2), tree)] = as_tensor(np.array([0.98, 0.01, 0.01]))
    return {"tree": tree, "prompt": [0], "beam_size": 8, "max_new_tokens": 3, "eos_id": None}


@KATA.example
def token_zero_ends():
    """The eos is token 0, which is false where it is taken for a truth value."""
    tree = tree_of((0.5, 0.3, 0.2), ANY, (0.2, 0.1, 0.7), (0.1, 0.6, 0.3))
    return {"tree": tree, "prompt": [1, 2], "beam_size": 2, "max_new_tokens": 2, "eos_id": 0}


def ended_beam_that_loses_its_place():
    """At first 0.6 and the eos with 0.25; then 0.30 and 0.288; then 0.12 and 0.1296."""
    second = (0.5, 0.48, 0.02)
    rows = [(0.6, 0.15, 0.25), second, ANY, ANY, (0.4, 0.35, 0.25), (0.45, 0.3, 0.25), *[ANY] * 7]
    return {"tree": tree_of(*rows), "prompt": [1], "beam_size": 2, "max_new_tokens": 3, "eos_id": 2}


@KATA.example
def two_beams_push_an_ended_one_out():
    """Both are better than it, and later worse."""
    return ended_beam_that_loses_its_place()


@KATA.example
def an_ended_beam_beats_a_longer_one():
    """It has 0.5, and what grows beside it 0.45, 0.43 and 0.41: more for each token, and less in all."""
    rows = [(0.45, 0.05, 0.5), (0.96, 0.02, 0.02), ANY, ANY, (0.96, 0.02, 0.02), *[ANY] * 8]
    return {"tree": tree_of(*rows), "prompt": [0], "beam_size": 2, "max_new_tokens": 3, "eos_id": 2}


def grown(seed, vocab, steps, beam_size, eos_id, scale=2.0, fade=0.4):
    """A search chosen by its seed, since drawn ones rarely turn on what its name says."""
    tree = as_tensor(grow_tree(seed, vocab, steps, eos_id, scale, fade))
    return {"tree": tree, "prompt": [0], "beam_size": beam_size, "max_new_tokens": steps, "eos_id": eos_id}


@KATA.example
def a_third_beam_beside_two_tokens():
    """A beam more than there are tokens finds what two do not."""
    return grown(seed=64, vocab=2, steps=4, beam_size=3, eos_id=None, scale=1.0, fade=1.0)


@KATA.example
def an_ended_beam_makes_room_for_a_live_one():
    """The beam that wins is one that needs the place of an ended beam."""
    return grown(seed=43, vocab=3, steps=3, beam_size=3, eos_id=2)


@KATA.example
def an_ended_beam_makes_room_for_another():
    """The same, with other tokens."""
    return grown(seed=94, vocab=3, steps=3, beam_size=3, eos_id=2)


@KATA.example
def an_ended_beam_is_pushed_out_late():
    """It would have won in the end."""
    return grown(seed=96, vocab=3, steps=4, beam_size=2, eos_id=2)


@KATA.example
def an_ended_beam_is_pushed_out_by_cousins():
    """It would have won in the end, over children of its own parent."""
    return grown(seed=165, vocab=3, steps=4, beam_size=2, eos_id=2)


@KATA.example
def an_eos_of_the_first_step_is_pushed_out():
    """It would have won in the end, over four tokens, and even over the best of more beams."""
    return grown(seed=188, vocab=3, steps=4, beam_size=2, eos_id=2)


@KATA.law(points=0.5)
def test_one_beam_is_greedy(student, tree, prompt, max_new_tokens, eos_id):
    """A single beam takes the most likely token at each step."""
    greedy = []
    while len(greedy) < max_new_tokens and (not greedy or greedy[-1] != eos_id):
        greedy.append(int(tree[row(greedy, tree)].argmax()))
    tokens, _ = found(student, tree, prompt, 1, max_new_tokens, eos_id)
    expect.equal(tokens, greedy, "the list of new tokens with one beam, against greedy decoding,")


def wide_searches(draw):
    """More beams than there are sequences."""
    vocab = draw(st.integers(2, 4))
    steps = draw(st.integers(1, {2: 4, 3: 3, 4: 2}[vocab]))
    beam_size = vocab**steps + draw(st.sampled_from([0, 1, 9]))
    return draw_search(draw, vocab, beam_size, steps, [None, *range(1, vocab)])


@KATA.law(points=0.5, cases=wide_searches)
def test_enough_beams_find_the_best(student, tree, prompt, beam_size, max_new_tokens, eos_id):
    """With as many beams as there are sequences, the most likely sequence of all is found."""
    ids = range(tree.shape[-1])
    every = itertools.product(ids, repeat=max_new_tokens)
    whole = {seq[: seq.index(eos_id) + 1] if eos_id in seq else seq for seq in every}
    best = max(whole, key=lambda seq: total_of(seq, tree))
    tokens, total = found(student, tree, prompt, beam_size, max_new_tokens, eos_id)
    expect.equal(tokens, list(best), f"the list of new tokens, the best of {len(whole)} sequences,")
    what = "the log-probability of the best sequence"
    expect.close(total, total_of(best, tree), what, terms=max_new_tokens, dtype="float32")


@KATA.law(points=0.5)
def test_total_belongs_to_the_ids(student, tree, prompt, beam_size, max_new_tokens, eos_id):
    """The log-probability is the sum over the new tokens that are returned."""
    tokens, total = found(student, tree, prompt, beam_size, max_new_tokens, eos_id)
    expected = total_of(tokens, tree)
    what = f"the log-probability returned with the new tokens {tokens}"
    expect.close(total, expected, what, terms=max_new_tokens, dtype="float32")


@KATA.law(points=0.5)
def test_ends_at_the_first_eos(student, tree, prompt, beam_size, max_new_tokens, eos_id):
    """The ids are the prompt and `max_new_tokens` more, fewer only up to the first eos, which is kept."""
    tokens, _ = found(student, tree, prompt, beam_size, max_new_tokens, eos_id)
    due = tokens.index(eos_id) + 1 if eos_id in tokens else max_new_tokens
    expect.true(
        len(tokens) == due,
        f"With max_new_tokens={max_new_tokens} and eos_id={eos_id}, the number of new tokens is "
        f"{len(tokens)}; expected {due}. They are {tokens}.",
    )


@KATA.law(points=0.5)
def test_holds_a_long_sequence(student):
    """A sequence of 330 tokens is found, though its probability is below every float."""
    import torch

    asked = []

    def next_log_probs(ids):
        asked.append(len(ids))
        if sum(asked) > 20_000:
            raise RuntimeError("two beams of 330 tokens ask for 660 rows, and 20,000 were asked for")
        row = torch.full((len(ids), 12), 0.9 / 11, dtype=torch.float64)
        row[:, 7 * ids.shape[1] % 12] = 0.1
        return row.log()

    ids, total = student.beam_search(next_log_probs, [1], beam_size=2, max_new_tokens=330)
    expect.equal(list(ids), [1, *[7 * length % 12 for length in range(1, 331)]], "the ids")
    what = "the log-probability, 330 times log 0.1,"
    expect.close(total, 330 * math.log(0.1), what, terms=330, dtype="float32")


@KATA.law(points=0.5)
def test_ended_beam_stays(student):
    """A beam that has ended stays a candidate, and its total does not change."""
    others = [(0.6, 0.3, 0.1)] * 10  # none is 0.5 as the eos, so that the last tokens alone do not tie
    tree = tree_of((0.3, 0.2, 0.5), (0.9, 0.06, 0.04), (0.8, 0.1, 0.1), *others)
    tokens, total = found(student, tree, [0, 1], 2, 3, 2)
    expect.equal(
        tokens, [2], "the list of new tokens, where the eos comes first with 0.5 and all others reach 0.27"
    )
    expect.close(total, float(np.log(0.5)), "the log-probability of the eos, log 0.5,", dtype="float32")


@KATA.law(points=0.5)
def test_ended_beam_may_be_pushed_out(student):
    """A beam that has ended is pushed out where `beam_size` candidates are better."""
    tokens, _ = found(student, **ended_beam_that_loses_its_place())
    what = (
        "the list of new tokens, where an ended beam has 0.25 when the two others have 0.30 and 0.288, "
        "which end with 0.12 and 0.1296,"
    )
    expect.equal(tokens, [0, 1, 0], what)


#: A model whose answer depends on the last token, and carries a graph, as that of any nn.Module does.
MODEL = """
import torch
from torch import nn

class Bigrams(nn.Module):
    def __init__(self):
        super().__init__()
        scores = torch.tensor([[0.0, 2.0, 1.0], [1.0, 0.0, 2.0], [2.0, 1.0, 0.0]], device=device)
        self.scores = nn.Parameter(scores.double())  # totals are alike in tensors and floats

    def forward(self, ids):
        return self.scores[ids[:, -1]].log_softmax(-1)
"""


@KATA.law(points=0.5)
def test_log_probs_may_carry_a_graph(student):
    """Log-probabilities that carry a graph, as a module in training gives them, are searched as well."""
    tokens, total = student.beam_search(student.build(MODEL, "Bigrams"), [0], 2, 4)
    expect.equal(list(tokens), [0, 1, 2, 0, 1], "the ids")
    due = 4 * (2 - math.log(1 + math.e + math.e**2))
    expect.close(total, due, "the log-probability", terms=12, dtype="float32")


WHOLE = 50_257  # tokens of GPT-2
#: Likely tokens after these ids, with their probabilities; the other tokens share the rest.
LIKELY = {(1,): {40_000: 0.5, WHOLE - 1: 0.4}, (1, WHOLE - 1): {45_000: 0.9}}


@KATA.law(points=0.5)
def test_holds_a_whole_vocabulary(student):
    """Of 50,257 tokens the best sequence is found, which is the second beam's."""
    import torch

    def next_log_probs(ids):
        rows = []
        for seq in ids.tolist():
            likely = LIKELY.get(tuple(seq), {})
            rest = (1 - sum(likely.values())) / (WHOLE - len(likely))
            row = torch.full((WHOLE,), rest, dtype=torch.float64)  # totals are alike in tensors and floats
            row[list(likely)] = torch.tensor(list(likely.values()), dtype=torch.float64)
            rows.append(row.log())
        return torch.stack(rows)

    ids, total = student.beam_search(next_log_probs, [1], beam_size=2, max_new_tokens=2)
    expect.equal(list(ids), [1, WHOLE - 1, 45_000], "the ids")
    expect.close(total, math.log(0.36), "the log-probability, log 0.4 + log 0.9,", terms=2, dtype="float32")
