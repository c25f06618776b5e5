"""constrained_decoding: its cases and its laws.

The model of a case is a table of logits. Which of its rows comes next depends on all ids so far, so an answer
that shows the model anything else is led astray. Row 0 is what `constrain_logits` gets.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "constrained_decoding",
    track="serving",
    entry_points=("constrain_logits", "constrain_generate"),
    title="Only what the grammar can finish",
    source="Willard and Louf 2023, section 3",
    library="torch",
    axes={"table": "rows vocab"},
    grades_device=False,
    bank_size=32,
    hints=(
        "Take the automaton of the statement. From each of its states, what is the smallest number of tokens "
        "that ends a text, the eos among them? From which is there no end at all?",
        "Give each state a number: the fewest tokens that end a text from there, the eos included. It is "
        "1 where the state is accepting, else 1 more than the smallest among its next states. Begin with "
        "infinity elsewhere, and repeat until nothing changes. For the statement's automaton:\n\n"
        "    state            0      1      2\n"
        "    at first         1     inf    inf       0 is accepting\n"
        "    after a round    1      2     inf       2 is a dead end\n\n"
        "A token takes one step, too. Which number do you compare with steps_left: that of the state, or "
        "that of the state it leads to?",
        "With the numbers of hint 2, constrain_logits keeps\n\n"
        "    a token   if the number of the state it leads to is below steps_left\n"
        "    the eos   if the state is accepting and steps_left is above 0\n\n"
        "and refuses if nothing is kept. The result is full of -inf, with the kept logits put in. In "
        "state 1 with 2 steps left: token 1 leads to state 0, whose number 1 is below 2, and is kept; "
        "token 2 leads to state 1, whose number is 2, and is not. Generate, from the start state and with "
        "max_new_tokens steps left:\n\n"
        "    1   ask with the whole list, constrain, append the argmax as an int\n"
        "    2   return the list if that was the eos\n"
        "    3   else move to the next state, with one step less",
    ),
)


class Model:
    """A model that answers from a table, and remembers every list that it was shown."""

    def __init__(self, table):
        self.table = table
        self.shown = []

    @property
    def as_code(self):
        row = "sum((n + 1) * (ids[n] + 2) for n in range(len(ids)))"
        return f"{{name}} = lambda ids: {{table}}[{row} % len({{table}})].clone()", {"table": self.table}

    def __call__(self, ids):
        self.shown.append([int(token) for token in ids])
        return self.logits(self.shown[-1]).clone()

    def logits(self, ids):
        """The row that these ids, in this order, lead to."""
        return self.table[sum((place + 1) * (token + 2) for place, token in enumerate(ids)) % len(self.table)]


def steps_needed(automaton):
    """For each state that an end can be reached from, the fewest tokens to it, the eos among them."""
    needed, length = dict.fromkeys(automaton["accepting"], 1), 1
    while True:
        found = [
            state
            for state, moves in automaton["transitions"].items()
            if state not in needed and any(needed.get(after) == length for after in moves.values())
        ]
        if not found:
            return needed
        length += 1
        needed.update(dict.fromkeys(found, length))


def accepted_texts(automaton, steps, eos_id):
    """All accepted texts of at most `steps` tokens, from the start."""
    texts, open_texts = [], [([], automaton["start"])]
    for _ in range(steps):
        texts += [[*text, eos_id] for text, state in open_texts if state in automaton["accepting"]]
        open_texts = [
            ([*text, token], after)
            for text, state in open_texts
            for token, after in automaton["transitions"][state].items()
        ]
    return texts


def ways_of(rng, tokens, density):
    """The tokens that lead on from a state: a share of all, or two at most."""
    return [t for t in tokens if rng.random() < density] if density else tokens[: rng.integers(3)]


def draw_automaton(draw, vocab, eos_id):
    """An automaton that accepts something, with states of any numbers, all of which can be reached."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    size, density = draw(st.integers(1, 4)), draw(st.sampled_from([0.4, 0.6, 0.8, None]))
    size = size if density else size + 3  # many states with few ways from each: long cycles, dead ends
    while True:
        states = [int(state) for state in rng.choice(9, size, replace=False)]
        tokens = [token for token in rng.permutation(vocab).tolist() if token != eos_id]
        transitions = {
            state: {token: int(rng.choice(states)) for token in ways_of(rng, tokens, density)}
            for state in states
        }
        accepting = [state for state in states if rng.random() < 0.4]
        automaton = without_the_unreachable(states[-1], accepting, transitions)
        if states[-1] in steps_needed(automaton):
            return automaton


def without_the_unreachable(start, accepting, transitions):
    reached, pending = set(), {start}
    while pending:
        reached |= pending
        pending = {after for state in pending for after in transitions[state].values()} - reached
    return {
        "start": start,
        "accepting": [state for state in accepting if state in reached],
        "transitions": {state: moves for state, moves in transitions.items() if state in reached},
    }


def draw_table(draw, vocab):
    """Rows of distinct logits of both signs, all above 0 or all below 0."""
    import torch

    rng, dtype = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.float_dtypes())
    rows = np.array([rng.permutation(vocab) for _ in range(draw(st.integers(1, 6)))])
    level = draw(st.sampled_from([-1.0, 1.0, -vocab, 0.1]))
    return torch.from_numpy(((rows + level) * draw(st.sampled_from([0.5, 1.0, 3.7]))).astype(dtype))


@KATA.cases
def cases(draw):
    """An automaton, a state of it with steps enough, a model, and a text with tokens enough."""
    kind = draw(st.sampled_from(["plain", "plain", "plain", "zero", "prompt"]))
    vocab = draw(st.integers(2, 5))
    eos_id = 0 if kind == "zero" else draw(st.integers(1, vocab - 1))
    automaton = draw_automaton(draw, vocab, eos_id)
    needed = steps_needed(automaton)
    state = draw(st.sampled_from(sorted(needed)))
    return {
        "table": draw_table(draw, vocab),
        "automaton": automaton,
        "state": state,
        "steps_left": needed[state] + draw(st.integers(0, 2)),
        "prompt": draw_prompt(draw, vocab, eos_id, kind == "prompt"),
        "max_new_tokens": needed[automaton["start"]] + draw(st.integers(0, 3)),
        "eos_id": eos_id,
    }


def draw_prompt(draw, vocab, eos_id, with_eos):
    """One to three ids; the eos is the last of them, the first, or none."""
    prompt = [token for token in draw(st.lists(st.integers(0, vocab), max_size=3)) if token != eos_id]
    if with_eos:
        return [*prompt, eos_id] if draw(st.booleans()) else [eos_id, *prompt]
    return prompt or [vocab]


@KATA.corner(points=0.5)
def eos_of_zero(eos_id):
    """The eos may be token 0."""
    return eos_id == 0


@KATA.corner(points=0.5)
def eos_in_the_prompt(prompt, eos_id):
    """An eos_id in the prompt ends nothing."""
    return eos_id in prompt


def printed(state, steps_left):
    """The example of the statement."""
    import torch

    return {
        "table": torch.tensor([[1.0, 3.0, 2.0, 0.0]]),
        "automaton": {
            "start": 0,
            "accepting": [0],
            "transitions": {0: {0: 1, 1: 2}, 1: {1: 0, 2: 1}, 2: {}},
        },
        "state": state,
        "steps_left": steps_left,
        "prompt": [9],
        "max_new_tokens": 6,
        "eos_id": 3,
    }


@KATA.example
def a_dead_end():
    return printed(0, 4)


@KATA.example
def no_room_for_the_eos():
    return printed(1, 2)


@KATA.example
def an_eos_that_begins_the_prompt():
    return {**printed(0, 3), "prompt": [3, 9]}


@KATA.example
def a_way_back_that_comes_first():
    """State 1 ends only by way of state 0, which is looked at first, and which leads into state 1 first."""
    transitions = {0: {0: 1, 1: 2}, 1: {0: 0, 1: 1}, 2: {}}
    return {**printed(0, 4), "automaton": {"start": 0, "accepting": [2], "transitions": transitions}}


@KATA.example
def an_eos_of_zero():
    """The states of the statement, other ways between them."""
    import torch

    transitions = {0: {1: 1}, 1: {2: 0, 1: 2}, 2: {2: 2}}
    automaton = {"start": 0, "accepting": [2], "transitions": transitions}
    case = {"automaton": automaton, "state": 1, "steps_left": 4, "prompt": [9], "max_new_tokens": 5}
    return {**case, "table": torch.tensor([[-1.0, 1.0, 2.0, 3.0], [1.0, -1.0, 0.5, 2.0]]), "eos_id": 0}


@KATA.example
def a_long_way():
    """Six states, named in the order in which they are passed."""
    import torch

    transitions = {state: {0: state + 1, 1: state} for state in range(5)}
    automaton = {"start": 0, "accepting": [5], "transitions": {**transitions, 5: {}}}
    case = {"automaton": automaton, "state": 0, "steps_left": 7, "prompt": [0], "max_new_tokens": 7}
    return {**case, "table": torch.tensor([[1.0, 2.0, 0.0]], dtype=torch.float64), "eos_id": 2}


@KATA.example
def logits_that_nearly_tie():
    """Token 1 leads by the ninth digit, which float32 does not hold."""
    import torch

    automaton = {"start": 0, "accepting": [0], "transitions": {0: {0: 0, 1: 0}}}
    case = {"automaton": automaton, "state": 0, "steps_left": 3, "prompt": [0], "max_new_tokens": 3}
    return {**case, "table": torch.tensor([[1.0, 1.0 + 1e-9, 0.0]], dtype=torch.float64), "eos_id": 2}


@KATA.example
def a_dead_end_two_tokens_away():
    """Token 0 leads to states that go round for ever; no state has the number of its place."""
    import torch

    transitions = {7: {0: 3, 1: 5}, 3: {0: 4, 1: 4}, 4: {1: 3}, 5: {0: 5, 1: 8}, 8: {}}
    automaton = {"start": 7, "accepting": [8], "transitions": transitions}
    case = {"automaton": automaton, "state": 5, "steps_left": 3, "prompt": [1], "max_new_tokens": 4}
    return {**case, "table": torch.tensor([[2.0, 1.0, 3.0], [3.0, -1.0, 2.0]]), "eos_id": 2}


@KATA.example
def an_accepting_state_that_goes_on():
    """The model prefers tokens to the eos, and the limit comes in the middle of a pair."""
    import torch

    automaton = {"start": 2, "accepting": [2], "transitions": {2: {1: 6, 3: 2}, 6: {0: 2}}}
    case = {"automaton": automaton, "state": 2, "steps_left": 2, "prompt": [0, 1], "max_new_tokens": 4}
    return {**case, "table": torch.tensor([[-1.0, -2.0, -4.0, -3.0]], dtype=torch.float64), "eos_id": 2}


@KATA.observe
def observe(student, table, automaton, state, steps_left, prompt, max_new_tokens, eos_id):
    """The constrained logits, and the text."""
    logits = student.constrain_logits(table[0], automaton, state, steps_left, eos_id)
    text = student.constrain_generate(Model(table), prompt, automaton, max_new_tokens, eos_id)
    return {"logits": logits, "text": text}


def constrained(student, logits, automaton, state, steps_left, eos_id):
    """The constrained logits, once they are a tensor of the right shape."""
    result = student.constrain_logits(logits, automaton, state, steps_left, eos_id)
    right = hasattr(result, "isneginf") and tuple(result.shape) == tuple(logits.shape)
    expect.true(right, "The result of constrain_logits must be a tensor like logits.")
    return result


def written(student, model, prompt, automaton, max_new_tokens, eos_id):
    """The new ids, once they are known to be ints behind the prompt."""
    text = student.constrain_generate(model, prompt, automaton, max_new_tokens, eos_id)
    whole = isinstance(text, list | tuple) and all(isinstance(token, int | np.integer) for token in text)
    expect.true(whole, "The text must be a list of ints.")
    expect.equal(list(text[: len(prompt)]), prompt, "the beginning of the text, which is the prompt,")
    return [int(token) for token in text[len(prompt) :]]


@KATA.law(points=0.5)
def test_text_is_accepted(student, table, automaton, prompt, max_new_tokens, eos_id):
    """The text is accepted, and has at most max_new_tokens new ids."""
    new = written(student, Model(table), prompt, automaton, max_new_tokens, eos_id)
    count = f"At most max_new_tokens={max_new_tokens} ids are generated; {len(new)} were: {new}."
    expect.true(len(new) <= max_new_tokens, count)
    expect.true(new[-1:] == [eos_id], f"A text must end with eos_id={eos_id}; the new ids are {new}.")
    state = automaton["start"]
    for place, token in enumerate(new[:-1]):
        moves = automaton["transitions"][state]
        due = f"Token {token}, number {place} of the new ids {new}, is possible in state {state}."
        expect.true(token in moves, f"{due} There only {sorted(moves)} are.")
        state = moves[token]
    due = f"The eos follows in an accepting state; after {new[:-1]} the state is {state}, which is not one."
    expect.true(state in automaton["accepting"], due)


@KATA.law(points=0.5)
def test_every_id_is_the_best_possible(student, table, automaton, prompt, max_new_tokens, eos_id):
    """Every new id is the most likely of those with which some accepted text goes on."""
    model = Model(table)
    new = written(student, model, prompt, automaton, max_new_tokens, eos_id)
    texts = accepted_texts(automaton, max_new_tokens, eos_id)
    for place, token in enumerate(new):
        before = new[:place]
        possible = {text[place] for text in texts if text[:place] == before and len(text) > place}
        logits = model.logits([*prompt, *before])
        best = max(possible, key=lambda other: float(logits[other]), default=None)
        due = f"After the new ids {before} the possible tokens are {sorted(possible)}, of which {best} is the"
        expect.true(token == best, f"{due} most likely. Token {token} was appended.")


def free_automata(draw):
    """One state, in which every token is possible and every text is accepted."""
    vocab = draw(st.integers(2, 5))
    eos_id = draw(st.integers(1, vocab - 1))
    return {
        "table": draw_table(draw, vocab),
        "automaton": {
            "start": 0,
            "accepting": [0],
            "transitions": {0: {token: 0 for token in range(vocab) if token != eos_id}},
        },
        "prompt": draw_prompt(draw, vocab, eos_id, False),
        "max_new_tokens": draw(st.integers(1, 6)),
        "eos_id": eos_id,
    }


@KATA.law(points=0.5, cases=free_automata)
def test_free_automaton_is_greedy(student, table, automaton, prompt, max_new_tokens, eos_id):
    """Where every text is accepted it is greedy decoding, with the eos at the last step at the latest."""
    model, greedy = Model(table), []
    while eos_id not in greedy:
        last = len(greedy) == max_new_tokens - 1
        greedy.append(eos_id if last else int(model.logits([*prompt, *greedy]).argmax()))
    new = written(student, model, prompt, automaton, max_new_tokens, eos_id)
    expect.equal(new, greedy, "the list of new ids under an automaton that accepts everything")


@KATA.law(points=0.5)
def test_kept_logits_are_unchanged(student, table, automaton, state, steps_left, eos_id):
    """Every logit is either unchanged, to the bit, or -inf."""
    result = constrained(student, table[0], automaton, state, steps_left, eos_id)
    expected = table[0].masked_fill(result.isneginf(), float("-inf"))
    expect.equal(result, expected, "a logit that is kept")


@KATA.law(points=0.5)
def test_one_step_less_allows_no_more(student, table, automaton, state, steps_left, eos_id):
    """One step less never allows more."""
    more = steps_left + 1
    wide = constrained(student, table[0], automaton, state, more, eos_id).isneginf()
    narrow = constrained(student, table[0], automaton, state, steps_left, eos_id).isneginf()
    extra = (wide & ~narrow).nonzero().flatten().tolist()
    due = (
        f"With {more} steps left nothing is forbidden that {steps_left} allow; {extra} are in state {state}."
    )
    expect.true(not extra, due)


def hopeless_states(draw):
    """A state from which no end can be reached in the steps that are left."""
    vocab = draw(st.integers(2, 5))
    eos_id = draw(st.integers(1, vocab - 1))
    automaton = draw_automaton(draw, vocab, eos_id)
    needed = steps_needed(automaton)
    dead = [state for state in automaton["transitions"] if state not in needed]
    state = draw(st.sampled_from(dead or sorted(needed)))
    return {
        "table": draw_table(draw, vocab),
        "automaton": automaton,
        "state": state,
        "steps_left": needed.get(state, draw(st.integers(2, 5))) - 1,
        "prompt": draw_prompt(draw, vocab, eos_id, False),
        "max_new_tokens": draw(st.integers(0, needed[automaton["start"]] - 1)),
        "eos_id": eos_id,
    }


@KATA.law(points=0.5, cases=hopeless_states)
def test_refuses_hopeless_states(student, table, automaton, state, steps_left, eos_id):
    """constrain_logits raises a ValueError where no token is kept."""
    why = f"from state {state} no accepted text can be finished in {steps_left} steps"
    expect.refuses(student.constrain_logits, table[0], automaton, state, steps_left, eos_id, why=why)


@KATA.law(points=0.5, cases=hopeless_states)
def test_refuses_impossible_lengths(student, table, automaton, prompt, max_new_tokens, eos_id):
    """constrain_generate raises a ValueError where no text so short is accepted."""
    why = f"the automaton accepts no text of {max_new_tokens} tokens or fewer"
    arguments = Model(table), prompt, automaton, max_new_tokens, eos_id
    expect.refuses(student.constrain_generate, *arguments, why=why)


@KATA.law(points=0.5)
def test_model_is_asked_once_a_token(student, table, automaton, prompt, max_new_tokens, eos_id):
    """The model is shown the prompt and all tokens so far, once for each new token."""
    model = Model(table)
    new = written(student, model, prompt, automaton, max_new_tokens, eos_id)
    due = [[*prompt, *new[:place]] for place in range(len(new))]
    what = f"For the new ids {new} the model is shown {due}, one list a token"
    expect.true(model.shown == due, f"{what}; it was shown {model.shown}.")
