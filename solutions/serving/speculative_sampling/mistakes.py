"""What goes wrong in speculative_sampling: one function a mistake, its docstring what the student is told."""

import torch

from grader.mistakes import crude, subtle


def _draw(probs, uniform):
    """The first token whose cumulative probability exceeds the uniform."""
    return (probs.cumsum(dim=-1) <= uniform).sum(dim=-1, keepdim=True)


def _accepts(p, q, uniform):
    return uniform < p / q


def _rest(p, q):
    rest = (p - q).clamp(min=0)
    return rest / rest.sum()


def _step(
    target_probs,
    draft_probs,
    draft_ids,
    uniforms,
    *,
    accepts=_accepts,
    rest=_rest,
    draw=_draw,
    join=lambda accepted, token: torch.cat([accepted, token]),
):
    """The right step, but for the part that is given."""
    for i, token in enumerate(draft_ids):
        if not accepts(target_probs[i, token], draft_probs[i, token], uniforms[i]):
            return join(draft_ids[:i], draw(rest(target_probs[i], draft_probs[i]), uniforms[-1]))
    return join(draft_ids, draw(target_probs[-1], uniforms[-1]))


def _generate(
    target,
    draft,
    prompt,
    max_new_tokens,
    num_draft,
    uniforms,
    *,
    step=_step,
    row_of=lambda rounds, new: rounds,  # noqa: ARG005
    shown=lambda ids, drafted: drafted,  # noqa: ARG005
    draft_draw=_draw,
    rows=lambda probs, start: probs[start - 1 :],
):
    """The right text, but for the part that is given."""
    ids, rounds = prompt, 0
    while len(ids) < len(prompt) + max_new_tokens:
        row = uniforms[row_of(rounds, len(ids) - len(prompt))]
        drafted, draft_probs = ids, []
        for uniform in row[:num_draft]:
            draft_probs.append(draft(shown(ids, drafted))[-1])
            drafted = torch.cat([drafted, draft_draw(draft_probs[-1], uniform)])
        target_probs = rows(target(drafted), len(ids))
        new = step(target_probs, torch.stack(draft_probs), drafted[len(ids) :], row[num_draft:])
        ids, rounds = torch.cat([ids, new]), rounds + 1
    return ids[: len(prompt) + max_new_tokens]


def _in_both(step):
    """Return a class with this step and the text that is made of such steps, as most answers are written."""

    def speculative_generate(target, draft, prompt, max_new_tokens, num_draft, uniforms):
        return _generate(target, draft, prompt, max_new_tokens, num_draft, uniforms, step=step)

    both = {"speculative_step": step, "speculative_generate": speculative_generate}
    members = {name: staticmethod(function) for name, function in both.items()}
    return type(step.__name__, (), {**members, "__doc__": step.__doc__, "__module__": __name__})


def _but_for(part):
    """Return the text's function but for one part: an argument of `_generate`, which the decorated function
    returns by name."""

    def speculative_generate(target, draft, prompt, max_new_tokens, num_draft, uniforms):
        return _generate(target, draft, prompt, max_new_tokens, num_draft, uniforms, **part())

    speculative_generate.__name__, speculative_generate.__doc__ = part.__name__, part.__doc__
    return speculative_generate


@crude
@_in_both
def accepts_every_token(target_probs, draft_probs, draft_ids, uniforms):
    """All drafted tokens come back, whatever the target says: none is refused, so the text is the draft's.
    Each has to pass its uniform."""
    return _step(target_probs, draft_probs, draft_ids, uniforms, accepts=lambda *_: True)


@crude
@_in_both
def accepts_no_token(target_probs, draft_probs, draft_ids, uniforms):
    """One token comes back, whatever was drafted: the first is always refused. Nothing is gained then, and
    the rest of the target is no fair draw by itself."""
    return _step(target_probs, draft_probs, draft_ids, uniforms, accepts=lambda *_: False)


@_in_both
def accepts_below_the_target(target_probs, draft_probs, draft_ids, uniforms):
    """Too few tokens are accepted: the uniform is compared with the target's probability. A token that the
    draft gives seldom has to be accepted the more often; divide by the draft's."""
    return _step(target_probs, draft_probs, draft_ids, uniforms, accepts=lambda p, _, u: u < p)


@_in_both
def divides_the_draft_by_the_target(target_probs, draft_probs, draft_ids, uniforms):
    """Tokens that the target likes are refused and others accepted: the ratio is upside down. Which of the
    two did the guessing, and is to be corrected?"""
    return _step(target_probs, draft_probs, draft_ids, uniforms, accepts=lambda p, q, u: u < q / p)


@_in_both
def accepts_above_the_ratio(target_probs, draft_probs, draft_ids, uniforms):
    """Tokens that the draft gives no more often than the target are refused: the comparison points the wrong
    way. A ratio of 1 or more means always accepted."""
    return _step(target_probs, draft_probs, draft_ids, uniforms, accepts=lambda p, q, u: u > p / q)


@_in_both
def accepts_where_the_target_is_larger(target_probs, draft_probs, draft_ids, uniforms):
    """A token is accepted if the target gives it at least what the draft does, and refused else: the uniform
    does not take part. Below a ratio of 1 it has to be accepted now and then."""
    return _step(target_probs, draft_probs, draft_ids, uniforms, accepts=lambda p, q, _: p >= q)


@_in_both
def accepts_the_greedy_token_alone(target_probs, draft_probs, draft_ids, uniforms):
    """A token is accepted only if it is the target's most likely one: that is right for greedy decoding. Here
    the target's distribution is to come out, so less likely tokens must have their chance."""
    for i, token in enumerate(draft_ids):
        if token != target_probs[i].argmax():
            return torch.cat([draft_ids[:i], _draw(_rest(target_probs[i], draft_probs[i]), uniforms[-1])])
    return torch.cat([draft_ids, _draw(target_probs[-1], uniforms[-1])])


@_in_both
def uses_one_uniform_for_all(target_probs, draft_probs, draft_ids, uniforms):
    """Right for one drafted token; with more, all are accepted or refused by the same number: the first
    uniform. Each token has its own."""
    same = torch.cat([uniforms[:1].expand(len(draft_ids)), uniforms[-1:]])
    return _step(target_probs, draft_probs, draft_ids, same)


@_in_both
def draws_the_rest_from_the_target(target_probs, draft_probs, draft_ids, uniforms):
    """A refused token is replaced by a draw from the target itself, so that tokens the draft likes come too
    often: they had their chance before. What is left to draw is what the target has more than the draft."""
    return _step(target_probs, draft_probs, draft_ids, uniforms, rest=lambda p, _: p)


@crude
@_in_both
def draws_the_rest_from_the_draft(target_probs, draft_probs, draft_ids, uniforms):
    """A refused token is replaced by another one of the draft's. What is left to draw is what the target has
    more than the draft."""
    return _step(target_probs, draft_probs, draft_ids, uniforms, rest=lambda _, q: q)


@_in_both
def takes_the_size_of_the_difference(target_probs, draft_probs, draft_ids, uniforms):
    """A refused token can be replaced by one that the draft gives too often already: negative differences
    became positive. They count as 0."""

    def rest(p, q):
        return (p - q).abs() / (p - q).abs().sum()

    return _step(target_probs, draft_probs, draft_ids, uniforms, rest=rest)


@_in_both
def keeps_negative_differences(target_probs, draft_probs, draft_ids, uniforms):
    """The replacement is a wrong token, or none at all: target minus draft has negative entries, which make
    the cumulative sums fall. They count as 0."""

    def rest(p, q):
        return (p - q) / (p - q).clamp(min=0).sum()

    return _step(target_probs, draft_probs, draft_ids, uniforms, rest=rest)


@_in_both
def subtracts_the_target_from_the_draft(target_probs, draft_probs, draft_ids, uniforms):
    """The replacement is always a token that the draft gives too often: the difference is the wrong way
    round. What the target has more is left to draw."""
    return _step(target_probs, draft_probs, draft_ids, uniforms, rest=lambda p, q: _rest(q, p))


@_in_both
def forgets_to_divide_the_rest(target_probs, draft_probs, draft_ids, uniforms):
    """The replacement is too late a token, or none below V: what is left does not sum to 1, and was not
    divided by its sum."""

    def draw(probs, uniform):
        return _draw(probs, uniform).clamp(max=len(probs) - 1)

    return _step(
        target_probs, draft_probs, draft_ids, uniforms, rest=lambda p, q: (p - q).clamp(min=0), draw=draw
    )


@_in_both
def takes_the_rest_of_the_next_position(target_probs, draft_probs, draft_ids, uniforms):
    """The replacement is drawn from the target one position too late: the row behind the refused token was
    taken. A refused token's own row says what should stand in its place."""
    for i, token in enumerate(draft_ids):
        if not _accepts(target_probs[i, token], draft_probs[i, token], uniforms[i]):
            p = target_probs[i + 1]
            rest = (p - draft_probs[i]).clamp(min=0)
            rest = rest / rest.sum() if rest.sum() > 0 else p
            return torch.cat([draft_ids[:i], _draw(rest, uniforms[-1])])
    return torch.cat([draft_ids, _draw(target_probs[-1], uniforms[-1])])


@_in_both
def keeps_the_refused_token(target_probs, draft_probs, draft_ids, uniforms):
    """The refused token comes back, and behind it the one that should stand in its place. The result has one
    token more than were accepted."""
    new = _step(target_probs, draft_probs, draft_ids, uniforms)
    return torch.cat([draft_ids[: len(new)], new[-1:]]) if len(new) <= len(draft_ids) else new


@_in_both
def goes_on_behind_a_refusal(target_probs, draft_probs, draft_ids, uniforms):
    """Drafted tokens behind a refused one come back: the loop goes on. They were guessed after a token that
    is not in the text; the step ends at the first refusal."""
    kept = []
    for i, token in enumerate(draft_ids):
        if _accepts(target_probs[i, token], draft_probs[i, token], uniforms[i]):
            kept.append(draft_ids[i : i + 1])
    if len(kept) == len(draft_ids):
        return torch.cat([draft_ids, _draw(target_probs[-1], uniforms[-1])])
    new = _step(target_probs, draft_probs, draft_ids, uniforms)
    return torch.cat([*kept, new[-1:]])


@_in_both
def forgets_the_token_after_the_last(target_probs, draft_probs, draft_ids, uniforms):
    """Right where a token is refused; where all are accepted one is missing: the target's last row gives a
    token for nothing."""
    return _step(target_probs, draft_probs, draft_ids, uniforms)[: len(draft_ids)]


@_in_both
def forgets_to_replace(target_probs, draft_probs, draft_ids, uniforms):
    """Right where all are accepted; where one is refused only those before it come back, maybe none. The
    target gives a token in its place, so that every step yields at least one."""
    new = _step(target_probs, draft_probs, draft_ids, uniforms)
    return new if len(new) > len(draft_ids) else new[:-1]


@_in_both
def draws_the_last_from_the_row_before(target_probs, draft_probs, draft_ids, uniforms):
    """Right where a token is refused; where all are accepted the last token is drawn from the row of the last
    drafted one. The target has one row more than the draft; what is it for?"""
    return _step(torch.cat([target_probs[:-1], target_probs[-2:-1]]), draft_probs, draft_ids, uniforms)


@_in_both
def draws_with_the_refused_uniform(target_probs, draft_probs, draft_ids, uniforms):
    """Right where all are accepted; a replacement is drawn with the uniform that refused the token, which is
    a large one. A draw takes the last."""
    new = _step(target_probs, draft_probs, draft_ids, uniforms)
    i = len(new) - 1
    if i == len(draft_ids):
        return new
    return torch.cat([new[:-1], _draw(_rest(target_probs[i], draft_probs[i]), uniforms[i])])


@_in_both
def takes_the_likeliest_of_the_rest(target_probs, draft_probs, draft_ids, uniforms):
    """The token that the step adds is always the most likely one: `argmax` stands where a draw is expected.
    The text is then less varied than the target's."""
    return _step(
        target_probs, draft_probs, draft_ids, uniforms, draw=lambda probs, _: probs.argmax(-1, keepdim=True)
    )


@_in_both
def draws_one_token_too_late(target_probs, draft_probs, draft_ids, uniforms):
    """Each drawn token is the one behind the right one: one was added to the number of cumulative
    probabilities below the uniform. The first token counts from 0."""
    return _step(
        target_probs,
        draft_probs,
        draft_ids,
        uniforms,
        draw=lambda probs, uniform: (_draw(probs, uniform) + 1).clamp(max=len(probs) - 1),
    )


@_in_both
def draws_one_token_too_early(target_probs, draft_probs, draft_ids, uniforms):
    """Each drawn token is the one before the right one: the last whose cumulative probability does not exceed
    the uniform was taken. It is the first that does."""
    return _step(
        target_probs,
        draft_probs,
        draft_ids,
        uniforms,
        draw=lambda probs, uniform: (_draw(probs, uniform) - 1).clamp(min=0),
    )


@_in_both
def draws_without_the_uniforms(target_probs, draft_probs, draft_ids, uniforms):
    """The accepted tokens are right, the drawn one changes from call to call: it comes from PyTorch's own
    generator. The last uniform decides it."""
    return _step(
        target_probs,
        draft_probs,
        draft_ids,
        uniforms,
        draw=lambda probs, _: torch.multinomial(probs.clamp(min=0), 1),
    )


@crude
@_in_both
def returns_the_last_token_alone(target_probs, draft_probs, draft_ids, uniforms):
    """Only the drawn token comes back; the accepted ones are missing before it."""
    return _step(target_probs, draft_probs, draft_ids, uniforms)[-1:]


@_in_both
def returns_floats(target_probs, draft_probs, draft_ids, uniforms):
    """The tokens are right and are no int64: they were joined with floats. An id must be usable as an
    index."""
    return _step(target_probs, draft_probs, draft_ids, uniforms).to(uniforms.dtype)


@subtle
@_in_both
def subtracts_in_place(target_probs, draft_probs, draft_ids, uniforms):
    """The caller's target_probs hold the difference after the call: `-=` or a method with an underscore
    writes into the caller's memory."""
    new = _step(target_probs, draft_probs, draft_ids, uniforms)
    target_probs[:-1].sub_(draft_probs).clamp_(min=0)
    return new


@subtle
@_in_both
def trusts_the_memory_layout(target_probs, draft_probs, draft_ids, uniforms):
    """Where the probabilities are a transposed view the call fails, elsewhere it is right: `view` needs
    contiguous memory. `reshape` and `flatten` do not."""
    shape = target_probs.shape
    return _step(target_probs.view(-1).view(shape), draft_probs, draft_ids, uniforms)


@_but_for
def shows_the_draft_the_prompt_alone():
    """Right for one drafted token a round; with more, all are guessed from the same ids: the draft does not
    see what it has drafted itself. Append each token before the next guess."""
    return {"shown": lambda ids, drafted: ids}  # noqa: ARG005


@_but_for
def drafts_greedily():
    """The drafted tokens are the draft's most likely ones, though they are judged as if they had been drawn
    from its probabilities: the text is no longer the target's. Draw them."""
    return {"draft_draw": lambda probs, _: probs.argmax(-1, keepdim=True)}


@_but_for
def reads_the_target_one_position_early():
    """Drafted tokens are judged by the row before theirs: row t of the target is the probabilities of the
    token after position t. Which row speaks about the first drafted token?"""
    return {"rows": lambda probs, start: probs[max(start - 2, 0) :][: len(probs) - start + 1]}


@_but_for
def reads_the_target_one_position_late():
    """Drafted tokens are judged by the row at their own place: row t of the target is the probabilities of
    the token after position t. Which row speaks about the first drafted token?"""
    return {"rows": lambda probs, start: torch.cat([probs[start:], probs[-1:]])}


def hides_the_earlier_text_from_the_target(target, draft, prompt, max_new_tokens, num_draft, uniforms):
    """The target judges the drafted tokens without what stands before them: it was called with the new tokens
    and the one before. It has no cache here and needs all ids."""
    length = []

    def shown(ids, drafted):
        length[:] = [len(ids)]
        return drafted

    def forgetful(ids):
        probs = target(ids[length[0] - 1 :])
        return torch.cat([probs[:1].expand(length[0] - 1, -1), probs])

    return _generate(forgetful, draft, prompt, max_new_tokens, num_draft, uniforms, shown=shown)


@_but_for
def uses_one_round_for_all():
    """The first round is right, and every later one reads the first row of uniforms again. Round r has row
    r."""
    return {"row_of": lambda rounds, new: 0}  # noqa: ARG005


@_but_for
def counts_rows_by_tokens():
    """The first round is right, later ones read a row too far down: rows are counted by the new tokens. Round
    r has row r, however many tokens the rounds before gave."""
    return {"row_of": lambda rounds, new: new}  # noqa: ARG005


def reads_a_round_from_its_beginning_twice(target, draft, prompt, max_new_tokens, num_draft, uniforms):
    """Tokens are accepted by the numbers that drew them: the step gets the beginning of the row again. It
    gets what is left when the draft has taken its part."""

    doubled = torch.cat([uniforms[:, :num_draft], uniforms[:, : num_draft + 1]], dim=1)
    return _generate(target, draft, prompt, max_new_tokens, num_draft, doubled)


@subtle
def drafts_fewer_at_the_end(target, draft, prompt, max_new_tokens, num_draft, uniforms):
    """The last round drafts only what is missing, so it reads its row otherwise: other numbers accept and
    draw. The text would be as good, but every round drafts num_draft tokens here, and what is too much is cut
    off."""
    ids, rounds = prompt, 0
    while (missing := len(prompt) + max_new_tokens - len(ids)) > 0:
        fewer = min(num_draft, missing)
        row = uniforms[rounds : rounds + 1, : 2 * fewer + 1]
        ids, rounds = _one_round(target, draft, ids, fewer, row), rounds + 1
    return ids[: len(prompt) + max_new_tokens]


def _one_round(target, draft, ids, num_draft, row):
    """The ids after one round, nothing cut off."""
    drafted, draft_probs = ids, []
    for uniform in row[0, :num_draft]:
        draft_probs.append(draft(drafted)[-1])
        drafted = torch.cat([drafted, _draw(draft_probs[-1], uniform)])
    target_probs = target(drafted)[len(ids) - 1 :]
    new = _step(target_probs, torch.stack(draft_probs), drafted[len(ids) :], row[0, num_draft:])
    return torch.cat([ids, new])


def forgets_to_cut(target, draft, prompt, max_new_tokens, num_draft, uniforms):
    """The text is too long by up to num_draft tokens: a round gives more than are missing, and what is too
    much stays. Cut it off."""
    ids, rounds = prompt, 0
    while len(ids) < len(prompt) + max_new_tokens:
        ids, rounds = _one_round(target, draft, ids, num_draft, uniforms[rounds : rounds + 1]), rounds + 1
    return ids


def stops_after_one_round(target, draft, prompt, max_new_tokens, num_draft, uniforms):
    """The text is too short: one round was made. Go on until max_new_tokens are there."""
    if not max_new_tokens:
        return prompt
    return _one_round(target, draft, prompt, num_draft, uniforms)[: len(prompt) + max_new_tokens]


def counts_the_prompt(target, draft, prompt, max_new_tokens, num_draft, uniforms):
    """The text is too short by the prompt: max_new_tokens was taken for the length of the whole text."""
    return _generate(target, draft, prompt, max(max_new_tokens - len(prompt), 0), num_draft, uniforms)


@crude
def returns_the_new_tokens_alone(target, draft, prompt, max_new_tokens, num_draft, uniforms):
    """The new tokens are right, and the prompt is missing before them."""
    return _generate(target, draft, prompt, max_new_tokens, num_draft, uniforms)[len(prompt) :]


@subtle
def runs_the_target_for_each_draft(target, draft, prompt, max_new_tokens, num_draft, uniforms):
    """The text is right, and the target runs once for each drafted token, as often as without a draft. One
    run on all ids gives the rows of all positions."""

    def one_by_one(ids):
        starts = range(len(ids) - num_draft, len(ids) + 1)
        rows = [target(ids[:end])[-1] for end in starts]
        return torch.cat([rows[0].expand(len(ids) - num_draft - 1, -1), torch.stack(rows)])

    return _generate(one_by_one, draft, prompt, max_new_tokens, num_draft, uniforms)


@subtle
def runs_the_draft_for_nothing(target, draft, prompt, max_new_tokens, num_draft, uniforms):
    """The text is right; with max_new_tokens=0 the models run all the same, for a token that is cut off. Ask
    how many are missing before the first round."""
    ids = _generate(target, draft, prompt, max(max_new_tokens, 1), num_draft, uniforms)
    return ids[: len(prompt) + max_new_tokens]
