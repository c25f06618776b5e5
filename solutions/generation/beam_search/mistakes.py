"""What goes wrong in beam_search: one function a mistake, its docstring what the student is told."""

import math

import torch

from grader.mistakes import crude, subtle


def _by_total(beams, start):  # noqa: ARG001 - a ranking may look at the length
    return sorted(beams, key=lambda beam: -beam[1])


def _joined(lists):
    return [item for items in lists for item in items]


def _parted(beams, start, eos_id):
    """The beams that have ended, and those that have not."""
    ended = [beam for beam in beams if len(beam[0]) > start and beam[0][-1] == eos_id]
    return ended, [beam for beam in beams if beam not in ended]


def _children(next_log_probs, live, total_of=lambda total, part: total + part, shown=lambda ids: ids):
    """For each live beam the list of what it can grow into."""
    rows = next_log_probs(torch.tensor([shown(ids) for ids, _ in live])).tolist()
    return [
        [([*ids, token], total_of(total, part)) for token, part in enumerate(row)]
        for (ids, total), row in zip(live, rows, strict=True)
    ]


def _search(
    next_log_probs,
    prompt,
    beam_size,
    steps,
    eos_id,
    *,
    rank=_by_total,
    final=None,
    stop=lambda ended, live: not live,  # noqa: ARG005
    **growth,
):
    """The right search, with a place for each mistake: how totals grow, what is shown, how beams rank."""
    beams, start = [(list(prompt), 0.0)], len(prompt)
    for _ in range(steps):
        ended, live = _parted(beams, start, eos_id)
        if stop(ended, live):
            break
        candidates = ended + _joined(_children(next_log_probs, live, **growth))
        beams = rank(candidates, start)[:beam_size]
    return (final or rank)(beams, start)[0]


@crude
def is_greedy(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):  # noqa: ARG001 - the mistake
    """The beam size changes nothing, the result is the greedy one: only one beam is grown, or all beams are
    copies of each other because the search began with several copies of the prompt. It begins with one, and
    its first step gives up to V different ones.
    """
    return _search(next_log_probs, prompt, 1, max_new_tokens, eos_id)


@crude
def ranks_by_the_last_token(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """The beams whose last token was likely survive, and the total is that token's alone: what the parent had
    gathered is not carried on. A candidate's total is its parent's total plus its token's log-probability.
    """
    total_of = lambda _, part: part  # noqa: E731
    return _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id, total_of=total_of)


@crude
def adds_up_probabilities(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """Totals are positive: probabilities are added. The probability of a sequence is a product, and it is
    their logarithms that are added.
    """
    total_of = lambda total, part: total + math.exp(part)  # noqa: E731
    return _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id, total_of=total_of)


@subtle
def multiplies_probabilities(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """Short sequences are right; after some hundred tokens all beams tie and the log-probability is -inf:
    probabilities are multiplied until the product is rounded to 0, and its logarithm is taken in the end.
    Add the logarithms.
    """
    beams, start = [(list(prompt), 1.0)], len(prompt)
    for _ in range(max_new_tokens):
        ended, live = _parted(beams, start, eos_id)
        if not live:
            break
        total_of = lambda total, part: total * math.exp(part)  # noqa: E731
        beams = _by_total(ended + _joined(_children(next_log_probs, live, total_of)), start)[:beam_size]
    ids, product = beams[0]
    return ids, math.log(product) if product else -math.inf


def returns_the_probability(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """The ids are right, and the second value lies between 0 and 1: it is the probability, exp of the total.
    The logarithm itself is asked for.
    """
    ids, total = _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id)
    return ids, math.exp(total)


def returns_the_mean(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """The ids are right, and the log-probability is too near to 0: it was divided by the number of new
    tokens. The plain sum is asked for.
    """
    ids, total = _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id)
    return ids, total / (len(ids) - len(prompt))


def ranks_by_the_mean(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """Longer sequences win over ended ones that are more likely: beams are compared by their log-probability
    per token. Length normalisation is common, and not asked for here: plain totals are compared.
    """
    rank = lambda beams, start: sorted(beams, key=lambda b: -b[1] / (len(b[0]) - start))  # noqa: E731
    return _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id, rank=rank)


def prunes_within_each_beam(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """After the first step the beams never compete: each keeps its own best child, as if greedy decoding were
    run from `beam_size` beginnings. All children of all beams are candidates for the same places, and one
    beam may fill several of them.
    """
    beams, start = [(list(prompt), 0.0)], len(prompt)
    for step in range(max_new_tokens):
        ended, live = _parted(beams, start, eos_id)
        if not live:
            break
        children = _children(next_log_probs, live)
        best = [max(own, key=lambda beam: beam[1]) for own in children] if step else children[0]
        beams = _by_total(ended + best, start)[:beam_size]
    return beams[0]


def never_prunes(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """More beams survive than `beam_size`: each keeps its `beam_size` best children, and their number grows
    from step to step. After each step only the `beam_size` best of all stay.
    """
    beams, start = [(list(prompt), 0.0)], len(prompt)
    for _ in range(max_new_tokens):
        ended, live = _parted(beams, start, eos_id)
        if not live:
            break
        children = _children(next_log_probs, live)
        beams = ended + _joined(_by_total(own, start)[:beam_size] for own in children)
    return _by_total(beams, start)[0]


@subtle
def raises_where_beams_exceed_the_vocabulary(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """A beam size above the number of candidates raises: topk cannot return more values than there are. The
    first step has V candidates; keep all of them then.
    """
    next_log_probs(torch.tensor([prompt])).flatten().topk(beam_size)
    return _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id)


@subtle
def narrows_the_beams_to_the_vocabulary(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """A beam size above V finds less than it should: it was cut to V, once and for all. Only the first step
    has no more than V candidates.
    """
    vocab = next_log_probs(torch.tensor([prompt])).shape[1]
    return _search(next_log_probs, prompt, min(beam_size, vocab), max_new_tokens, eos_id)


def takes_tokens_for_beams(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """Tokens are appended to the wrong beams: an index into the flattened totals [N * V] is taken apart the
    wrong way. Its beam is the index divided by V, its token what remains.
    """
    beams, start = [(list(prompt), 0.0)], len(prompt)
    for _ in range(max_new_tokens):
        ended, live = _parted(beams, start, eos_id)
        if not live:
            break
        flat = _joined(_children(next_log_probs, live))
        count = len(live)
        vocab = len(flat) // count
        mixed = [([*live[i % count][0], i // count % vocab], total) for i, (_, total) in enumerate(flat)]
        beams = _by_total(ended + mixed, start)[:beam_size]
    return beams[0]


def leaves_the_sequences_in_their_places(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """The total does not belong to the ids: totals and new tokens are those of the best candidates, but each
    token is appended to the sequence that stood in that place before, not to its parent.
    """
    beams, start = [(list(prompt), 0.0)], len(prompt)
    for _ in range(max_new_tokens):
        ended, live = _parted(beams, start, eos_id)
        if not live:
            break
        best = _by_total(ended + _joined(_children(next_log_probs, live)), start)[:beam_size]
        before = [beams[min(i, len(beams) - 1)][0] for i in range(len(best))]
        done = [ids for ids, _ in ended]
        beams = [
            (ids, total) if ids in done else ([*old[: len(ids) - 1], ids[-1]], total)
            for (ids, total), old in zip(best, before, strict=True)
        ]
    return beams[0]


def shows_the_last_token_alone(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """Everything before the last token is forgotten: the model is shown one id a beam. It must see the whole
    sequence, since the next token depends on all of it.
    """
    shown = lambda ids: ids[-1:]  # noqa: E731
    return _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id, shown=shown)


def forgets_the_prompt_after_the_first_step(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """From the second step on the model is shown the new tokens only. It must see the prompt before them at
    every step.
    """
    shown = lambda ids: ids[len(prompt) :] or ids  # noqa: E731
    return _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id, shown=shown)


def counts_the_prompt_as_new_tokens(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """The longer the prompt, the fewer tokens come: `max_new_tokens` is read as the length of the whole. It
    is the number of steps.
    """
    steps = max(1, max_new_tokens - len(prompt))
    return _search(next_log_probs, prompt, beam_size, steps, eos_id)


def leaves_the_prompt_out(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """The result begins with the first new token. It must begin with the prompt."""
    ids, total = _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id)
    return ids[len(prompt) :], total


@subtle
def extends_the_prompt_in_place(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """The caller's prompt holds the new tokens after the call: they were appended to that very list. Work on
    a copy.
    """
    ids, total = _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id)
    prompt += ids[len(prompt) :]
    return prompt, total


def returns_the_worst_beam(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """Of the last beams the least likely is returned: the sort runs upwards, or the last one is taken of
    beams sorted downwards. Log-probabilities are negative, and the best is the one nearest to 0.
    """
    final = lambda beams, start: _by_total(beams, start)[::-1]  # noqa: E731
    return _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id, final=final)


def grows_ended_beams(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):  # noqa: ARG001
    """Tokens come after the eos: a beam that has ended is grown like any other. It must stay as it is."""
    return _search(next_log_probs, prompt, beam_size, max_new_tokens, None)


@subtle
def ignores_an_eos_of_zero(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """With eos_id=0 no beam ends: 0 is false where it stands as a condition. Compare with None."""
    return _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id or None)


def drops_the_eos(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """The ids end before the eos, though its log-probability is in the total. It is kept: the caller sees
    from it that the sequence has ended.
    """
    ids, total = _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id)
    return (ids[:-1] if ids[-1] == eos_id else ids), total


def returns_the_padding(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """The eos comes several times: ended beams are filled up to the common length, and returned so. The first
    eos is the last id of the result.
    """
    ids, total = _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id)
    return ids + [eos_id] * (len(prompt) + max_new_tokens - len(ids)), total


def charges_for_the_padding(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """Ended beams sink from step to step: each filling eos adds its log-probability to the total. After the
    first eos the total stays as it is.
    """
    beams, start = [(list(prompt), 0.0)], len(prompt)
    for step in range(max_new_tokens):
        children = _children(next_log_probs, beams)
        over = [step and ids[-1] == eos_id for ids, _ in beams]
        candidates = [own[eos_id : eos_id + 1] if e else own for e, own in zip(over, children, strict=True)]
        beams = _by_total(_joined(candidates), start)[:beam_size]
    ids, total = beams[0]
    new = ids[start:]
    return (ids[: start + new.index(eos_id) + 1] if eos_id in new else ids), total


def loses_ended_beams(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """A sequence that has ended is never returned, unless it ends with the last step: once it is not grown
    any more, it is no candidate either. Put the ended beams beside what the others grow into.
    """
    beams, start = [(list(prompt), 0.0)], len(prompt)
    for _ in range(max_new_tokens):
        live = _parted(beams, start, eos_id)[1]
        if not live:
            break
        beams = _by_total(_joined(_children(next_log_probs, live)), start)[:beam_size]
    return beams[0]


@subtle
def sets_ended_beams_aside(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """An ended beam is returned that better ones had pushed out: it was put aside, where it is safe for ever.
    It stays among the candidates, and needs one of the `beam_size` places at every step.
    """
    live, aside, start = [(list(prompt), 0.0)], [], len(prompt)
    for _ in range(max_new_tokens):
        if not live:
            break
        best = _by_total(_joined(_children(next_log_probs, live)), start)[:beam_size]
        ended, live = _parted(best, start, eos_id)
        aside += ended
    return _by_total(aside + live, start)[0]


@subtle
def gives_ended_beams_a_place_for_ever(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """Fewer and fewer beams are grown: one that has ended keeps its place for ever, even where others are
    better. It competes with all candidates, and may be pushed out.
    """
    beams, start = [(list(prompt), 0.0)], len(prompt)
    for _ in range(max_new_tokens):
        ended, live = _parted(beams, start, eos_id)
        if not live:
            break
        grown = _by_total(_joined(_children(next_log_probs, live)), start)
        beams = ended + grown[: beam_size - len(ended)]
    return _by_total(beams, start)[0]


def stops_at_the_first_ended_beam(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """The search ends as soon as one beam has ended, and better ones are returned half-grown. Other beams may
    go on, until all have ended or the steps are taken.
    """
    stop = lambda ended, live: bool(ended) or not live  # noqa: E731
    return _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id, stop=stop)


def prefers_ended_beams(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """At the end an ended beam is returned although one that has not ended is more likely. The best total
    decides, ended or not.
    """
    final = lambda beams, start: _by_total(_parted(beams, start, eos_id)[0] or beams, start)  # noqa: E731
    return _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id, final=final)


def returns_tensors(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """The ids or the log-probability are tensors, where a list and a float are due; tolist() and item() make
    them.
    """
    ids, total = _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id)
    return torch.tensor(ids), torch.tensor(total)


@subtle
def reads_numbers_by_numpy(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """A model that records gradients raises: what it returns carries a graph, and `.numpy()` refuses that.
    Call `.detach()` first, or read the numbers by `.tolist()`, or disable gradients around the loop.
    """

    def read(ids):
        return torch.from_numpy(next_log_probs(ids).numpy())

    return _search(read, prompt, beam_size, max_new_tokens, eos_id)


@subtle
def counts_tokens_in_sixteen_bits(next_log_probs, prompt, beam_size, max_new_tokens, eos_id=None):
    """Small vocabularies are right; of 50,257 tokens those beyond 32,767 come back as other ids, negative
    ones too: ids are held in int16, which ends there. Ids are int64.
    """
    ids, total = _search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id)
    return torch.tensor(ids).to(torch.int16).tolist(), total
