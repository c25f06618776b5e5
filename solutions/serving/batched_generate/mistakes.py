"""What goes wrong in batched_generate: one function a mistake, its docstring what the student is told."""

import torch

from grader.mistakes import crude, subtle

_MASKS = {}


def _left(prompts, pad_id):
    """ids and mask of the prompts, padded on the left."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[pad_id] * (longest - len(prompt)) + list(prompt) for prompt in prompts])
    lengths = torch.tensor([[len(prompt)] for prompt in prompts])
    return ids, torch.arange(longest) >= longest - lengths


def _positions(mask, step=0):  # noqa: ARG001 - mistakes use it
    return (mask.long().cumsum(dim=1) - 1).clamp(min=0)


def _seen(ids, mask, step):  # noqa: ARG001 - mistakes use them
    return mask


def _best(logits):
    return logits.argmax(dim=-1).tolist()


def _run(
    model,
    prompts,
    max_new_tokens,
    pad_id,
    eos_id,
    *,
    pad=_left,
    seen=_seen,
    positions=_positions,
    best=_best,
    over=all,
    ended=None,
    writes_on=False,
    window=slice(None),
):
    """The new tokens of each row; right, but for the part that is given."""
    ids, mask = pad(prompts, pad_id)
    new, ended = [[] for _ in prompts], list(ended or [False] * len(prompts))
    for step in range(max_new_tokens):
        if over(ended):
            break
        visible = seen(ids, mask, step)
        shown = ids, visible, positions(visible, step)
        chosen = best(model(*(tensor[:, window] for tensor in shown)))
        for row, token in enumerate(chosen):
            if not ended[row] or writes_on:
                new[row].append(token)
            ended[row] = ended[row] or token == eos_id
        ids = torch.cat([ids, torch.tensor(chosen)[:, None]], dim=1)
        mask = torch.cat([mask, torch.ones(len(chosen), 1, dtype=torch.bool)], dim=1)
    return new


def _texts(prompts, new):
    return [[*prompt, *tokens] for prompt, tokens in zip(prompts, new, strict=True)]


def _right(model, prompts, max_new_tokens, pad_id, eos_id, **parts):
    return _texts(prompts, _run(model, prompts, max_new_tokens, pad_id, eos_id, **parts))


@crude
def pads_on_the_right(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Short prompts give nonsense in a batch: they are padded on the right, so the last column of their row
    is padding. The model answers for the last column; pad on the left."""

    def pad(prompts, pad_id):
        longest = max(map(len, prompts))
        ids = torch.tensor([list(prompt) + [pad_id] * (longest - len(prompt)) for prompt in prompts])
        return ids, torch.arange(longest) < torch.tensor([[len(prompt)] for prompt in prompts])

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, pad=pad)


def attends_to_padding(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Short prompts give another text in a batch than alone: the mask is True everywhere, and the model reads
    the padding as text. It is False there."""

    def positions(mask, step):  # noqa: ARG001 - the same for every step
        real = _left(prompts, pad_id)[1]
        more = torch.ones(len(mask), mask.shape[1] - real.shape[1], dtype=torch.bool)
        return _positions(torch.cat([real, more], dim=1))

    def seen(ids, mask, step):  # noqa: ARG001 - the mistake
        return torch.ones_like(mask)

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, seen=seen, positions=positions)


@subtle
def compares_ids_with_pad_id(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """A prompt that holds pad_id gives another text, and so does a generated pad_id: the mask is made by
    comparing ids with it. Any token may be pad_id; the lengths of the prompts say what is real."""

    def seen(ids, mask, step):  # noqa: ARG001 - the mistake
        return ids != pad_id

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, seen=seen)


@subtle
def compares_the_prompts_with_pad_id(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """A prompt that holds pad_id gives another text: the mask of the prompts is made by comparing the padded
    ids with it. Any token may be pad_id; the lengths of the prompts say what is real."""

    def pad(prompts, pad_id):
        ids, _ = _left(prompts, pad_id)
        return ids, ids != pad_id

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, pad=pad)


@crude
def turns_the_mask_round(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Every text is nonsense: the mask is True at padding, as some layers of the library want it. This model
    wants True at real tokens."""

    def seen(ids, mask, step):  # noqa: ARG001 - the mistake
        return ~mask

    def positions(mask, step):  # noqa: ARG001 - the same for every step
        return _positions(~mask)

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, seen=seen, positions=positions)


def marks_one_padding_as_real(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Short prompts give another text in a batch than alone: the mask begins one column too early. Count how
    many columns of a row are True."""

    def seen(ids, mask, step):  # noqa: ARG001 - the mistake
        return mask | torch.cat([mask[:, 1:], mask[:, -1:]], dim=1)

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, seen=seen)


def hides_the_first_token(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The first token of short prompts has no effect: the mask begins one column too late. Count how many
    columns of a row are True."""

    def seen(ids, mask, step):  # noqa: ARG001 - the mistake
        late = mask & torch.cat([mask[:, :1], mask[:, :-1]], dim=1)
        late[:, -1] = True
        return late

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, seen=seen)


def hides_the_generated_tokens(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The first token is right and the others are not: the mask does not grow with the ids, or grows by
    False. What has been generated is real."""

    def seen(ids, mask, step):  # noqa: ARG001 - the mistake
        return torch.cat([mask[:, : mask.shape[1] - step], torch.zeros_like(mask[:, :step])], dim=1)

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, seen=seen)


@crude
def gives_the_mask_as_integers(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The model refuses the mask, which is of 1 and 0: it takes True and False. Check the dtype of what is
    handed over."""

    def seen(ids, mask, step):  # noqa: ARG001 - the mistake
        return mask.long()

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, seen=seen)


def counts_positions_by_columns(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Short prompts give another text in a batch than alone: the position of a token is its column. Padding
    counts for nothing; a row's first token has position 0."""

    def positions(mask, step):  # noqa: ARG001 - the mistake
        return torch.arange(mask.shape[1]).expand(mask.shape)

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, positions=positions)


def counts_new_positions_by_columns(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The first token of every row is right, and later ones are not: new tokens get the number of their
    column as position. It goes on from the row's own length."""

    def positions(mask, step):
        right = _positions(mask)
        start = mask.shape[1] - step
        right[:, start:] = torch.arange(start, mask.shape[1])
        return right

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, positions=positions)


def keeps_the_last_position(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The first token of every row is right, and later ones are not: all new tokens have the position of the
    last token of the prompt. Each is one further than the one before."""

    def positions(mask, step):
        right = _positions(mask)
        start = mask.shape[1] - step
        right[:, start:] = right[:, start - 1 : start]
        return right

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, positions=positions)


def leaves_minus_one_at_padding(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Short prompts fail in a batch: positions at padding are -1, which no table of positions has. They are
    counted by a cumulative sum minus 1; put any number from 0 up there."""

    def positions(mask, step):  # noqa: ARG001 - the same for every step
        return mask.long().cumsum(dim=1) - 1

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, positions=positions)


def counts_positions_from_one(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Every text differs: positions are counted from 1. The first token of a row has position 0."""

    def positions(mask, step):  # noqa: ARG001 - the same for every step
        return mask.long().cumsum(dim=1)

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, positions=positions)


@crude
def shows_only_the_last_token(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Every token follows from the one before it alone: the model is shown the last column. Without a cache
    of keys and values it needs the whole text at each step."""
    return _right(model, prompts, max_new_tokens, pad_id, eos_id, window=slice(-1, None))


@crude
def shows_the_prompts_at_every_step(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The same token is appended again and again: the tensors are built once, from the prompts. Build them
    from the longer texts at every step."""
    shown = *_left(prompts, pad_id), _positions(_left(prompts, pad_id)[1])

    def first(*tensors):  # noqa: ARG001 - the mistake
        return model(*shown)

    return _right(first, prompts, max_new_tokens, pad_id, eos_id)


@subtle
def fills_with_zero(model, prompts, max_new_tokens, pad_id, eos_id=None):  # noqa: ARG001 - the mistake
    """The texts are right, and the columns before a row hold 0, whatever pad_id is: a tensor of zeros was
    filled in. Fill with pad_id."""
    return _right(model, prompts, max_new_tokens, 0, eos_id)


def cuts_prompts_to_the_shortest(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Long prompts give another text in a batch than alone: all are cut to the length of the shortest. Fill
    the short ones up."""
    shortest = min(map(len, prompts))
    ends = [prompt[-shortest:] for prompt in prompts]
    return _texts(prompts, _run(model, ends, max_new_tokens, pad_id, eos_id))


@crude
def writes_the_same_token_in_every_row(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """All rows of a batch get the first row's token: it is right for one prompt. Take the argmax along the
    vocabulary, and look for an index that drops the batch."""

    def best(logits):
        return [int(logits[0].argmax())] * len(logits)

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, best=best)


@subtle
def never_writes_pad_id(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Where pad_id is the most likely token another one is written: it is forbidden as padding. Any token may
    be pad_id, and it may be generated."""

    def best(logits):
        return _best(logits.index_fill(1, torch.tensor([pad_id]), float("-inf")))

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, best=best)


@subtle
def ends_rows_by_pad_id(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Rows end with a generated pad_id: it is taken for the end. Only eos_id ends a row."""
    new = _run(model, prompts, max_new_tokens, pad_id, eos_id)
    return _texts(prompts, [row[: row.index(pad_id) + 1] if pad_id in row else row for row in new])


def stops_when_one_row_has_ended(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The texts of a batch are cut off where the shortest ends: any row's eos ends the loop. It is over when
    all rows have ended."""
    return _right(model, prompts, max_new_tokens, pad_id, eos_id, over=any)


def ignores_the_eos(model, prompts, max_new_tokens, pad_id, eos_id=None):  # noqa: ARG001 - the mistake
    """Every row has max_new_tokens new ids: nothing looks for the eos. A row ends with the one that it
    generates."""
    return _right(model, prompts, max_new_tokens, pad_id, None)


def lets_ended_rows_write_on(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Behind its eos a row goes on with other tokens, until the last row has ended: nothing remembers that it
    is over. Keep a flag for each row, or take it out of the batch."""
    return _right(model, prompts, max_new_tokens, pad_id, eos_id, writes_on=True)


def fills_ended_rows(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Behind its eos a row holds pad_id, up to the length of the longest: the result of a tensor was turned
    into lists. A text ends with its eos."""
    new = _run(model, prompts, max_new_tokens, pad_id, eos_id)
    most = max(map(len, new))
    return _texts(prompts, [row + [pad_id] * (most - len(row)) for row in new])


def drops_the_eos(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The eos that ends a row is missing from its text: the row is left before the token is appended. It
    belongs to the text."""
    new = _run(model, prompts, max_new_tokens, pad_id, eos_id)
    return _texts(prompts, [row[:-1] if row and row[-1] == eos_id else row for row in new])


@crude
def returns_the_padding(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Texts of short prompts begin with pad_id: the rows of the tensor came back as they are. A text begins
    with its prompt."""
    longest = max(map(len, prompts))
    texts = _right(model, prompts, max_new_tokens, pad_id, eos_id)
    return [[pad_id] * (longest - len(prompt)) + text for prompt, text in zip(prompts, texts, strict=True)]


@crude
def returns_only_the_new_tokens(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The texts begin with the first generated token: the prompts are missing. What comes back is each prompt
    and what follows it."""
    return _run(model, prompts, max_new_tokens, pad_id, eos_id)


@subtle
def removes_pad_id_from_the_texts(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """A text loses every pad_id, those of its prompt and the generated ones: the padding is taken out by its
    id. Any token may be pad_id; cut by the lengths."""
    texts = _right(model, prompts, max_new_tokens, pad_id, eos_id)
    return [[token for token in text if token != pad_id] for text in texts]


@subtle
def cuts_at_the_first_eos(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """A prompt that holds the eos is cut off there: the whole text is searched for it in the end. Only a
    generated eos ends a row."""
    texts = _right(model, prompts, max_new_tokens, pad_id, eos_id)
    return [text[: text.index(eos_id) + 1] if eos_id in text else text for text in texts]


@subtle
def lets_a_prompt_end_its_row(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """A prompt that holds eos_id gets no text: the whole row is searched for it. Only a generated one ends
    the row."""
    ended = [eos_id in prompt for prompt in prompts]
    return _right(model, prompts, max_new_tokens, pad_id, eos_id, ended=ended)


@subtle
def lets_the_last_id_of_a_prompt_end_its_row(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """A prompt whose last id is eos_id gets no text: each step looks at the last id of a row, the first step
    at the prompt's. Only a generated eos ends a row."""
    ended = [prompt[-1] == eos_id for prompt in prompts]
    return _right(model, prompts, max_new_tokens, pad_id, eos_id, ended=ended)


@subtle
def takes_eos_of_zero_for_none(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Nothing ends if eos_id is 0: a condition asks whether eos_id is true, and 0 is not. Compare it with
    None."""
    return _right(model, prompts, max_new_tokens, pad_id, eos_id or None)


@subtle
def always_writes_a_token(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """With max_new_tokens of 0 a token is appended all the same: the count is looked at after the first step.
    Zero new tokens give back the prompts."""
    return _right(model, prompts, max(max_new_tokens, 1), pad_id, eos_id)


def writes_one_token_too_many(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """One more token is generated than was asked for. Count the turns of the loop, for max_new_tokens of 0
    and of 1."""
    return _right(model, prompts, max_new_tokens + 1, pad_id, eos_id)


def counts_the_prompt_as_new(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Long prompts get fewer tokens: max_new_tokens is taken for the length of the whole text. It counts
    generated tokens alone."""
    steps = max(max_new_tokens - max(map(len, prompts)) + 1, 0)
    return _right(model, prompts, steps, pad_id, eos_id)


@subtle
def calls_once_for_each_row(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The texts are right, and the model is called for every prompt by itself: nothing is batched. One call a
    step serves all rows."""
    return [_right(model, [prompt], max_new_tokens, pad_id, eos_id)[0] for prompt in prompts]


@subtle
def calls_once_for_each_length(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The texts are right, and the model is called once for each length of prompt: those of one length are
    batched, so that no padding is needed. One call a step serves all rows."""
    texts = {}
    for length in {len(prompt) for prompt in prompts}:
        rows = [row for row, prompt in enumerate(prompts) if len(prompt) == length]
        some = _right(model, [prompts[row] for row in rows], max_new_tokens, pad_id, eos_id)
        texts.update(zip(rows, some, strict=True))
    return [texts[row] for row in range(len(prompts))]


@subtle
def asks_once_more_after_the_end(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The texts are right, and the model is called once more than is needed: the end is looked for after the
    next call. Look for it before."""
    texts = _right(model, prompts, max_new_tokens, pad_id, eos_id)
    ids, mask = _left(texts, pad_id)
    model(ids, mask, _positions(mask))
    return texts


@subtle
def runs_on_and_cuts_afterwards(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The texts are right, and the model is called max_new_tokens times for them: the rows are searched for
    the eos when all is written. End the loop with the last row."""
    new = _run(model, prompts, max_new_tokens, pad_id, None)
    return _texts(prompts, [row[: row.index(eos_id) + 1] if eos_id in row else row for row in new])


@crude
def returns_the_longest_first(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The texts are right, and in another order than the prompts: they were sorted by length and not put
    back. The first text belongs to the first prompt."""
    ordered = sorted(prompts, key=len, reverse=True)
    return _right(model, ordered, max_new_tokens, pad_id, eos_id)


def mixes_up_rows_that_are_left(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Once a row has ended, the rows after it get each other's tokens: the batch has become smaller, and its
    rows are counted as before. Keep track of which row of the batch belongs to which prompt."""
    rows, running = [list(prompt) for prompt in prompts], list(range(len(prompts)))
    for _ in range(max_new_tokens):
        if not running:
            break
        ids, mask = _left([rows[row] for row in running], pad_id)
        chosen = _best(model(ids, mask, _positions(mask)))
        for row, token in enumerate(chosen):
            rows[row].append(token)
        running = [row for row, token in zip(running, chosen, strict=True) if token != eos_id]
    return rows


@crude
def returns_tensors(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The result is a list of tensors: the rows were cut out of one, and not made lists. Each text is a list
    of ints."""
    texts = _right(model, prompts, max_new_tokens, pad_id, eos_id)
    return [torch.tensor(text) for text in texts]


@subtle
def appends_to_the_callers_prompts(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The caller's prompts have grown after the call: the new ids are appended to the very lists that came
    in. Copy each of them; a copy of the outer list shares them."""
    texts = _right(model, prompts, max_new_tokens, pad_id, eos_id)
    for prompt, text in zip(prompts, texts, strict=True):
        prompt[:] = text
    return prompts


@subtle
def keeps_the_mask_of_the_first_batch(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """The first call is right, and a later one with as many rows of the same width gets its mask: what was
    built once outlives the call. Check what is kept between calls."""

    def pad(prompts, pad_id):
        ids, mask = _left(prompts, pad_id)
        return ids, _MASKS.setdefault(ids.shape, mask)

    return _right(model, prompts, max_new_tokens, pad_id, eos_id, pad=pad)


@subtle
def chooses_in_float32(model, prompts, max_new_tokens, pad_id, eos_id=None):
    """Where float64 logits lie close together, a token is chosen that is not the most likely: they are cast
    to float32 before the argmax."""
    return _right(model, prompts, max_new_tokens, pad_id, eos_id, best=lambda logits: _best(logits.float()))
