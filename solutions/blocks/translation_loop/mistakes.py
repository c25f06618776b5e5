"""What people write instead, and what to tell them."""

import numpy as np

from grader.mistakes import crude, subtle


def _translate(next_logits, start_id, end_id, max_steps, *, shown=list, choose=np.argmax, ends=None):
    ids = [start_id]
    for _ in range(max_steps):
        ids.append(int(choose(next_logits(shown(ids)))))
        if ends(ids) if ends else ids[-1] == end_id:
            break
    return ids


@subtle
def takes_the_start_for_the_end(next_logits, start_id, end_id, max_steps=10):
    """Nothing is generated where start_id equals end_id: the loop asks whether the last id is the end before
    it has generated one. Only generated ids end the loop. Check where the condition stands."""
    return [start_id] if start_id == end_id else _translate(next_logits, start_id, end_id, max_steps)


def drops_the_end(next_logits, start_id, end_id, max_steps=10):
    """The end token is missing from the list: the loop stopped before appending it. It belongs to the
    sentence. Check the order of the append and the condition."""
    ids = _translate(next_logits, start_id, end_id, max_steps)
    return ids[:-1] if len(ids) > 1 and ids[-1] == end_id else ids


@subtle
def takes_an_end_of_zero_for_none(next_logits, start_id, end_id, max_steps=10):
    """The sentence runs on past an end_id of 0, which is taken for "no end token": 0 is false in a condition,
    but it is an id like any other."""
    return _translate(next_logits, start_id, end_id, max_steps, ends=lambda ids: end_id and ids[-1] == end_id)


def runs_past_the_end(next_logits, start_id, end_id, max_steps=10):
    """Every list has max_steps generated ids: the end token does not end the loop. Check what happens right
    after an id was appended."""
    return _translate(next_logits, start_id, end_id, max_steps, ends=lambda _: False)


def fills_up_with_the_end(next_logits, start_id, end_id, max_steps=10):
    """Short sentences are filled up with end tokens to max_steps ids. A single sentence has no need of
    padding: one end token is kept, and nothing follows."""
    ids = _translate(next_logits, start_id, end_id, max_steps)
    return ids + [end_id] * (max_steps + 1 - len(ids))


def counts_the_start_as_a_step(next_logits, start_id, end_id, max_steps=10):
    """Long sentences are one id too short. max_steps counts the generated ids alone, without the start token.
    Check what the limit is compared with."""
    return _translate(next_logits, start_id, end_id, max(max_steps - 1, 0))


def takes_a_step_too_many(next_logits, start_id, end_id, max_steps=10):
    """Long sentences are one id too long. The limit is off by one: after max_steps generated ids there is no
    further step. Check the comparison."""
    return _translate(next_logits, start_id, end_id, max_steps + 1)


@subtle
def takes_one_step_at_least(next_logits, start_id, end_id, max_steps=10):
    """With max_steps=0 one id is generated all the same: the limit is looked at after the step. Check it
    before the model is asked."""
    return _translate(next_logits, start_id, end_id, max(max_steps, 1))


@subtle
def takes_a_limit_of_zero_for_none(next_logits, start_id, end_id, max_steps=10):
    """With max_steps=0 ten ids are generated: 0 was taken for "not given", as it is false in a condition. It
    is a limit like any other."""
    return _translate(next_logits, start_id, end_id, max_steps or 10)


def ignores_the_limit(next_logits, start_id, end_id, max_steps=10):  # noqa: ARG001 - the mistake
    """Right by default; another max_steps changes nothing. The number 10 is written into the loop. Check that
    the parameter is what the steps are compared with."""
    return _translate(next_logits, start_id, end_id, 10)


@subtle
def has_another_default(next_logits, start_id, end_id, max_steps=20):
    """Right where max_steps is given; without it, long sentences are longer than 10 ids. Check the default in
    the signature."""
    return _translate(next_logits, start_id, end_id, max_steps)


def drops_the_start(next_logits, start_id, end_id, max_steps=10):
    """The list begins with the first generated id. The start token is the first entry of the result; check
    what is returned."""
    return _translate(next_logits, start_id, end_id, max_steps)[1:]


def shows_the_last_id_alone(next_logits, start_id, end_id, max_steps=10):
    """The first id is right, the rest is not: the model is shown the last id only and forgets the sentence.
    It takes the list of all ids so far."""
    return _translate(next_logits, start_id, end_id, max_steps, shown=lambda ids: ids[-1:])


@crude
def shows_the_start_alone(next_logits, start_id, end_id, max_steps=10):
    """The same id comes again and again: the model is shown the start at every step. It takes the list of all
    ids so far; check that what is appended is also what is shown."""
    return _translate(next_logits, start_id, end_id, max_steps, shown=lambda ids: ids[:1])


def hides_the_start(next_logits, start_id, end_id, max_steps=10):
    """The model is shown the generated ids without the start token, and nothing at all at first. The
    list that it takes begins with start_id."""
    return _translate(next_logits, start_id, end_id, max_steps, shown=lambda ids: ids[1:])


def shows_the_ids_backwards(next_logits, start_id, end_id, max_steps=10):
    """The first steps are right, the rest is not: the newest id is put in front when the model is asked. The
    list begins with start_id and grows at its end."""
    return _translate(next_logits, start_id, end_id, max_steps, shown=lambda ids: ids[::-1])


@subtle
def asks_once_more_at_the_end(next_logits, start_id, end_id, max_steps=10):
    """The list is right, but the model is asked once more after it is complete: the next logits are computed
    before the loop knows whether they are needed. The model is the expensive part; ask it after looking."""
    ids, logits = [start_id], next_logits([start_id])
    for _ in range(max_steps):
        ids.append(int(np.argmax(logits)))
        logits = next_logits(list(ids))
        if ids[-1] == end_id:
            break
    return ids


@subtle
def asks_twice_a_step(next_logits, start_id, end_id, max_steps=10):
    """The list is right, but takes twice as long as it should: the model is asked two times in every step.
    Keep its answer under a name."""

    def shown(ids):
        next_logits(list(ids))
        return list(ids)

    return _translate(next_logits, start_id, end_id, max_steps, shown=shown)


@crude
def takes_the_least_likely(next_logits, start_id, end_id, max_steps=10):
    """Every id is that of the smallest logit. An argsort goes upwards; check which end is taken."""
    return _translate(next_logits, start_id, end_id, max_steps, choose=np.argmin)


@subtle
def expects_a_positive_logit(next_logits, start_id, end_id, max_steps=10):
    """Where all logits are negative, the id is 0: the search for the largest began at 0. Logits are of any
    sign; begin with the first of them."""

    def choose(logits):
        return np.argmax(np.maximum(logits, 0))

    return _translate(next_logits, start_id, end_id, max_steps, choose=choose)


@subtle
def lets_exp_overflow(next_logits, start_id, end_id, max_steps=10):
    """Large logits give id 0 or the wrong one: their softmax is NaN, for exp overflows above 88 in float32
    and above 709 in float64. The largest logit has the largest probability; no softmax is needed."""

    def choose(logits):
        return np.argmax(np.exp(logits) / np.exp(logits).sum())

    return _translate(next_logits, start_id, end_id, max_steps, choose=choose)


@subtle
def clips_the_logits(next_logits, start_id, end_id, max_steps=10):
    """Right for logits up to 50; of several larger ones the first is taken: the logits were clipped, and are
    alike afterwards. The largest logit needs neither clipping nor a softmax."""

    def choose(logits):
        return np.argmax(np.clip(logits, -50, 50))

    return _translate(next_logits, start_id, end_id, max_steps, choose=choose)


@subtle
def remembers_the_logits_of_earlier_calls(next_logits, start_id, end_id, max_steps=10):
    """The first call is right; later ones with another model get the first model's logits for the same ids.
    The table of answers outlives the call. Ask the model that was given, once a step."""

    def choose(ids):
        return np.argmax(_ANSWERS.setdefault(tuple(ids), next_logits(ids)))

    ids = [start_id]
    while len(ids) <= max_steps:
        ids.append(int(choose(list(ids))))
        if ids[-1] == end_id:
            break
    return ids


_ANSWERS = {}


@subtle
def stops_at_a_repetition(next_logits, start_id, end_id, max_steps=10):
    """The sentence ends as soon as an id comes twice in a row. Some words do; only end_id and the limit end
    the loop."""
    return _translate(
        next_logits, start_id, end_id, max_steps, ends=lambda ids: ids[-1] == end_id or ids[-1] == ids[-2]
    )


@subtle
def keeps_the_ids_of_earlier_calls(next_logits, start_id, end_id, max_steps=10):
    """The first call is right; later ones begin with the sentences of earlier ones. The list outlives the
    call: a default argument or a global is made only once. Make the list inside the function."""
    _IDS.append(start_id)
    _IDS.extend(_translate(next_logits, start_id, end_id, max_steps)[1:])
    return list(_IDS)


_IDS = []


@subtle
def appends_floats(next_logits, start_id, end_id, max_steps=10):
    """The generated ids are floats, 2.0 for 2, which index no vocabulary. Check the type of what is appended:
    argmax gives an integer, and arrays of zeros are floats unless told otherwise."""
    ids = _translate(next_logits, start_id, end_id, max_steps)
    return [*ids[:1], *map(float, ids[1:])]


@subtle
def returns_an_array(next_logits, start_id, end_id, max_steps=10):
    """The ids are right, but they come as an array. A list is asked for; next_logits takes one, too."""
    return np.array(_translate(next_logits, start_id, end_id, max_steps))


@subtle
def rounds_the_probabilities(next_logits, start_id, end_id, max_steps=10):
    """Logits of ordinary distances are right; of some that lie close together the first is taken: they become
    probabilities in float32, which are equal. The largest logit is known without any exp."""

    def choose(logits):
        powers = np.exp(np.float32(logits - logits.max()))
        return (powers / powers.sum()).argmax()

    return _translate(next_logits, start_id, end_id, max_steps, choose=choose)


@subtle
def begins_the_search_at_minus_1e9(next_logits, start_id, end_id, max_steps=10):
    """Where all logits are below -1e9 the first token is appended: the search for the largest begins at that
    number. Logits are of any size; begin at the first of them.
    """

    def choose(logits):
        return max(range(len(logits)), key=lambda token: max(logits[token], -1e9))

    return _translate(next_logits, start_id, end_id, max_steps, choose=choose)


@subtle
def compares_in_float32(next_logits, start_id, end_id, max_steps=10):
    """Of logits that float32 does not tell apart the first is appended: they were cast to it. Compare them as
    they come.
    """
    return _translate(
        next_logits, start_id, end_id, max_steps, choose=lambda x: np.argmax(np.asarray(x, np.float32))
    )


@subtle
def shows_an_array(next_logits, start_id, end_id, max_steps=10):
    """The ids are right, and the model is given an array. It takes a list, as the statement says; a model may
    do with it what arrays cannot.
    """
    return _translate(next_logits, start_id, end_id, max_steps, shown=np.array)
