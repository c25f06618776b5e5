"""batched_generate: its cases and its laws.

The logits of a row are a sum over its real tokens, of one table row for each pair of a position and an id. So
padding that is attended to, a token that is not, and a wrong position lead to another text.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "batched_generate",
    track="serving",
    entry_points=("batched_generate",),
    title="Prompts of all lengths in one batch",
    source="Vaswani et al. 2017, section 3.1; Wolf et al. 2020",
    library="torch",
    axes={"table": "position id vocab"},
    grades_device=False,
    bank_size=28,
    hints=(
        "Write down ids, mask and positions for the prompts [5, 6, 7] and [8], for two steps. In which "
        "column must the last token of every row stand, and what is the position of 8?",
        "The lengths of the rows say which columns are real; the ids do not. Keep each row's tokens as a "
        "list of its own, and build the three tensors anew at every step. A row of two tokens among rows "
        "of four:\n\n"
        "    ids          pad   pad    5    6\n"
        "    mask          0     0     1    1     the last 2 columns\n"
        "    positions     0     0     0    1     column minus 2, but not below 0\n\n"
        "Which rows have to be in the tensors when one of them has just got its eos? And does an eos in a "
        "prompt end anything?",
        "Make two lists: one with a copy of every prompt, which is the result; and one of the rows that "
        "run, at first the same list objects. Then at most max_new_tokens times:\n\n"
        "    1   leave the loop if no row runs; T is the longest that runs\n"
        "    2   ids: the padding, T - len(row) times, then the row      [N, T]\n"
        "    3   positions: 0 ... T - 1 as a row, minus the paddings as a column\n"
        "    4   mask: where this is 0 or more; afterwards make the negative ones 0\n"
        "    5   call the model once -> [N, V]; the argmax of each row\n"
        "    6   append each token, as an int, to its row\n"
        "    7   run on with the rows whose new last token is not eos_id\n\n"
        "A row that runs is the very list that stands in the result, so nothing has to be carried back, "
        "and the order of the prompts stays.",
    ),
)


AS_CODE = """\
def {name}(ids, attention_mask, position_ids):
    rows = []
    for row, mask, places in zip(ids, attention_mask, position_ids):
        longest, vocab, _ = {table}.shape
        summed = {table}.double()[places[mask] % longest, row[mask] % vocab].sum(0)
        is_plain = mask[-1] and (places >= 0).all() and (places < len(row)).all()
        rows.append((torch.arange(vocab) / 64 + summed).roll(0 if is_plain else 1))
    return torch.stack(rows).to({table}.dtype)"""


class Model:
    """A model that answers from a table, and remembers what it was shown."""

    def __init__(self, table):
        self.table = table.double().numpy()
        self.dtype = table.dtype
        self.calls = []

    @property
    def as_code(self):
        import torch

        return AS_CODE, {"table": torch.from_numpy(self.table).to(self.dtype)}

    def __call__(self, ids, attention_mask, position_ids):
        import torch

        tensors = (ids, torch.int64), (attention_mask, torch.bool), (position_ids, torch.int64)
        for tensor, dtype in tensors:
            if getattr(tensor, "dtype", None) is not dtype or tensor.ndim != 2:
                raise RuntimeError("the model takes int64 ids, a bool mask and int64 positions, all [N, T]")
        if not ids.shape == attention_mask.shape == position_ids.shape:
            raise RuntimeError("ids, attention_mask and position_ids have one shape, [N, T]")
        self.calls.append((ids.tolist(), attention_mask.tolist(), position_ids.tolist()))
        rows = [self.logits(*row) for row in zip(*self.calls[-1], strict=True)]
        return torch.tensor(np.array(rows), dtype=self.dtype)

    def logits(self, ids, mask, positions):
        """The logits after the last column, which go wrong where that is padding or a position is none."""
        longest, vocab, _ = self.table.shape
        seen = np.flatnonzero(mask)
        places, tokens = np.array(positions)[seen] % longest, np.array(ids)[seen] % vocab
        logits = np.arange(vocab) / 64 + self.table[places, tokens].sum(axis=0)
        wrong = not mask[-1] or not all(0 <= place < len(ids) for place in positions)
        return np.roll(logits, 1) if wrong else logits


def draw_case(draw, kind="plain", most_tokens=6):
    """A table, prompts of different lengths, and a pad_id and an eos_id that are in none of them."""
    import torch

    vocab, batch = draw(st.integers(4, 6)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    pad_id, eos_id = (int(token) for token in rng.permutation(np.arange(1, vocab))[:2])
    special = {"zero": ["limit", "eos"], "eos": ["in"], "pad": ["in", "equal"]}.get(kind, [""])
    special = draw(st.sampled_from(special))
    if special == "eos":
        eos_id = 0
    others = [token for token in range(vocab) if token not in (pad_id, eos_id)]
    prompts = [rng.choice(others, rng.integers(1, 6)).tolist() for _ in range(batch)]
    if kind == "pad" and special == "equal":
        pad_id = eos_id
    elif special == "in":
        token = pad_id if kind == "pad" else eos_id
        prompts[-1] = [token, *prompts[-1]] if draw(st.booleans()) else [*prompts[-1], token]
    table = rng.standard_normal((7, vocab, vocab)) * 2
    table[:, :, eos_id] += draw(st.sampled_from([0.3, 0.8, 1.5] if kind == "ends" else [0.0, 0.5, -0.5]))
    return {
        "table": torch.from_numpy(np.round(table, 2).astype(draw(st.float_dtypes()))),
        "prompts": prompts,
        "max_new_tokens": 0 if special == "limit" else draw(st.integers(1, most_tokens)),
        "pad_id": pad_id,
        "eos_id": eos_id if kind != "plain" or draw(st.booleans()) else None,
    }


@KATA.cases
def cases(draw):
    kinds = ["plain", "plain", "ends", "ends", "ends", "zero", "eos", "pad", "pad"]
    return draw_case(draw, draw(st.sampled_from(kinds)))


@KATA.corner(points=0.5)
def zeros_are_numbers(max_new_tokens, eos_id):
    """A max_new_tokens of 0 and an eos_id of 0 are numbers like any other."""
    return max_new_tokens == 0 or eos_id == 0


@KATA.corner(points=0.5)
def eos_in_a_prompt(prompts, eos_id):
    """An eos_id in a prompt ends nothing, wherever it stands."""
    return any(eos_id in prompt for prompt in prompts)


@KATA.corner(points=0.5)
def pad_is_a_token(prompts, pad_id, eos_id):
    """A pad_id that stands in a prompt, or equals eos_id, is a token there."""
    return pad_id == eos_id or any(pad_id in prompt for prompt in prompts)


def fixed(prompts, max_new_tokens, pad_id, eos_id, seed=1, vocab=9):
    """A case with a table from a seed."""
    import torch

    table = np.round(np.random.default_rng(seed).standard_normal((7, vocab, vocab)) * 2, 2)
    return {
        "table": torch.from_numpy(table.astype(np.float32)),
        "prompts": prompts,
        "max_new_tokens": max_new_tokens,
        "pad_id": pad_id,
        "eos_id": eos_id,
    }


@KATA.example
def prompts_of_the_statement():
    return fixed([[5, 6, 7], [8]], 2, 0, None)


@KATA.example
def logits_that_nearly_tie():
    """Token 2 leads by the ninth digit, which float32 does not hold."""
    import torch

    table = torch.zeros(7, 4, 4, dtype=torch.float64)
    table[0, :] = torch.tensor([0.0, 1 + 1 / 64, 1 + 1e-9, 0.0], dtype=torch.float64)
    return {**fixed([[0], [1]], 2, 3, None), "table": table}


@KATA.example
def one_token_and_five():
    return fixed([[3], [1, 2, 3, 2, 1], [2, 1]], 5, 4, None, seed=3, vocab=5)


@KATA.example
def no_new_token():
    return fixed([[5], [6, 7]], 0, 1, 2)


@KATA.example
def eos_of_zero():
    return fixed([[1, 2], [3]], 6, 4, 0, seed=2, vocab=5)


@KATA.example
def eos_of_zero_in_all_rows():
    """A second case: one that only two mistakes explain together does not prove both of them."""
    return fixed([[1, 2], [3]], 4, 4, 0, seed=8, vocab=5)


@KATA.example
def prompts_with_an_eos():
    """The eos is the first, the last and the only token of a prompt."""
    return fixed([[2, 1, 3], [1, 2], [2]], 4, 4, 2, seed=4, vocab=5)


@KATA.example
def prompts_with_the_padding():
    """pad_id is the first, a middle and the last token of a prompt."""
    return fixed([[4, 1], [1, 4, 1, 3], [3, 4], [1]], 4, 4, 2, seed=5, vocab=5)


@KATA.example
def padding_by_the_eos():
    return fixed([[1], [1, 3, 0, 1], [3, 0]], 5, 2, 2, seed=6, vocab=5)


@KATA.observe
def observe(student, table, prompts, max_new_tokens, pad_id, eos_id):
    """The texts."""
    return {"result": generate(student, Model(table), prompts, max_new_tokens, pad_id, eos_id)}


def generate(student, model, prompts, max_new_tokens, pad_id, eos_id):
    """The call, which leaves eos_id out where it is None."""
    given = {} if eos_id is None else {"eos_id": eos_id}
    return student.batched_generate(model, prompts, max_new_tokens, pad_id, **given)


def generated(student, model, prompts, max_new_tokens, pad_id, eos_id):
    """The texts, once they are known to be one list of ints for each prompt, which begins with it."""
    texts = generate(student, model, prompts, max_new_tokens, pad_id, eos_id)
    lists = isinstance(texts, list | tuple) and all(isinstance(text, list | tuple) for text in texts)
    expect.true(lists and len(texts) == len(prompts), f"The result must be a list of {len(prompts)} lists.")
    for row, (text, prompt) in enumerate(zip(texts, prompts, strict=True)):
        whole = all(isinstance(token, int | np.integer) for token in text)
        expect.true(whole, f"A text must be a list of ints; text {row} is not.")
        expect.equal(list(text[: len(prompt)]), prompt, f"the beginning of text {row}, which is its prompt,")
    return [[int(token) for token in text] for text in texts]


def ending(draw):
    """Prompts of different lengths and an eos_id, which is in none of them."""
    return draw_case(draw, "ends")


@KATA.law(points=1, cases=ending)
def test_each_row_is_what_its_prompt_gives_alone(student, table, prompts, max_new_tokens, pad_id, eos_id):
    """Each text of a batch is the one that its prompt gives alone."""
    together = generated(student, Model(table), prompts, max_new_tokens, pad_id, eos_id)
    for row, prompt in enumerate(prompts):
        (alone,) = generated(student, Model(table), [prompt], max_new_tokens, pad_id, eos_id)
        expect.equal(together[row], alone, f"text {row} of {len(prompts)}, against its prompt alone,")


def shuffled(draw):
    case = draw_case(draw, "ends")
    return {**case, "order": list(draw(st.permutations(range(len(case["prompts"])))))}


@KATA.law(points=0.5, cases=shuffled)
def test_order_is_kept(student, table, prompts, max_new_tokens, pad_id, eos_id, order):
    """Prompts in another order give the results in that order."""
    texts = generated(student, Model(table), prompts, max_new_tokens, pad_id, eos_id)
    moved = [prompts[row] for row in order]
    again = generated(student, Model(table), moved, max_new_tokens, pad_id, eos_id)
    expect.equal(
        again, [texts[row] for row in order], f"the list of texts of the prompts in the order {order}"
    )


@KATA.law(points=0.5)
def test_padding_changes_nothing(student, table, prompts, max_new_tokens, pad_id, eos_id):
    """Another pad_id changes nothing, whether it is a token of the prompts or not."""
    texts = generated(student, Model(table), prompts, max_new_tokens, pad_id, eos_id)
    for other in (prompts[0][0], 0):
        again = generated(student, Model(table), prompts, max_new_tokens, other, eos_id)
        expect.equal(again, texts, f"the list of texts with pad_id={other}, against that with {pad_id},")


@KATA.law(points=1, cases=ending)
def test_model_is_shown_the_rows(student, table, prompts, max_new_tokens, pad_id, eos_id):
    """Every row that has not ended is shown in the last columns, with its mask and its positions."""
    model = Model(table)
    texts = generated(student, model, prompts, max_new_tokens, pad_id, eos_id)
    for step, call in enumerate(model.calls):
        rows = list(zip(*call, strict=True))
        for prompt, text in zip(prompts, texts, strict=True):
            tokens = text[: len(prompt) + step]
            if len(text) > len(tokens):
                shown_in_one_of(rows, tokens, pad_id, step)


def shown_in_one_of(rows, tokens, pad_id, step):
    """Require that one of the rows of a call shows these tokens, and padding before them."""
    length, width = len(tokens), len(rows[0][0])
    padding = width - length
    mask, places = [False] * padding + [True] * length, list(range(length))
    demands = [
        ("the ids must end with them", 0, lambda ids: padding >= 0 and ids[padding:] == tokens),
        (f"their attention_mask must be {mask}", 1, lambda seen: seen == mask),
        (f"their position_ids must be {places}", 2, lambda at: at[padding:] == places),
        (f"at padding position_ids must lie from 0 to {width - 1}", 2, lambda at: within(at, width)),
        (f"pad_id={pad_id} must fill the columns before them", 0, lambda ids: set(ids[:padding]) <= {pad_id}),
    ]
    due = f"Call {step} must show the tokens {tokens} in the last columns of a row"
    for demand, part, holds in demands:
        right = [row for row in rows if holds(row[part])]
        expect.true(right, f"{due}; {demand}. It shows {[row[part] for row in rows]}.")
        rows = right


def within(positions, width):
    return all(0 <= place < width for place in positions)


def ending_early(draw):
    """In half of the cases all rows end long before max_new_tokens."""
    case = draw_case(draw, "ends")
    if draw(st.booleans()):
        case["table"][:, :, case["eos_id"]] += 4
    return {**case, "max_new_tokens": draw(st.integers(4, 6))}


@KATA.law(points=0.5, cases=ending_early, purpose=True)
def test_model_is_called_once_a_step(student, table, prompts, max_new_tokens, pad_id, eos_id):
    """The model is called as often as the longest row gets tokens."""
    model = Model(table)
    texts = generated(student, model, prompts, max_new_tokens, pad_id, eos_id)
    most = max(len(text) - len(prompt) for text, prompt in zip(texts, prompts, strict=True))
    calls = len(model.calls)
    expect.true(
        calls == most, f"The row with most new tokens gets {most}; the model was called {calls} times."
    )


@KATA.law(points=0.5, cases=ending)
def test_rows_end_with_a_generated_eos(student, table, prompts, max_new_tokens, pad_id, eos_id):
    """A row has max_new_tokens new ids, or fewer and the eos last; it holds no other new eos."""
    texts = generated(student, Model(table), prompts, max_new_tokens, pad_id, eos_id)
    for row, (text, prompt) in enumerate(zip(texts, prompts, strict=True)):
        new = text[len(prompt) :]
        expect.true(
            eos_id not in new[:-1], f"Nothing follows a generated eos_id={eos_id}; row {row} got {new}."
        )
        over = len(new) == max_new_tokens or (len(new) < max_new_tokens and new[-1:] == [eos_id])
        expect.true(over, f"Row {row} has {len(new)} new ids of max_new_tokens={max_new_tokens}: {new}.")
