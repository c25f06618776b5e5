"""What goes wrong in greedy_generate, and what its student is told."""

import contextlib

import torch

from grader.mistakes import crude, subtle


def _last_ids(ids, context_length):
    return ids[:, -context_length:]


def _last_position(logits):
    return logits[:, -1].argmax(dim=-1)


def _generate(
    model,
    ids,
    max_new_tokens,
    context_length,
    eos_id,
    *,
    window=_last_ids,
    choose=_last_position,
    ended_at_first=None,
    fill=None,
    is_over=torch.all,
    quiet=torch.no_grad,
    switch_off=torch.nn.Module.eval,
    switch_back=torch.nn.Module.train,
):
    """Right, but for the part that is given."""
    was_training = model.training
    switch_off(model)
    ended = torch.zeros(len(ids), dtype=torch.bool, device=ids.device)
    if ended_at_first is not None and eos_id is not None:
        ended = ended_at_first(ids, eos_id)
    for _ in range(max_new_tokens):
        with quiet():
            chosen = choose(model(window(ids, context_length)))
        if eos_id is not None:
            chosen = chosen.masked_fill(ended, eos_id if fill is None else fill)
            ended = ended | (chosen == eos_id)
        ids = torch.cat([ids, chosen[:, None]], dim=1)
        if eos_id is not None and is_over(ended):
            break
    switch_back(model, was_training)
    return ids


def returns_only_the_new_tokens(model, ids, max_new_tokens, context_length, eos_id=None):
    """The result begins with the first generated token: the prompt is missing. What comes back is the prompt
    and what follows it, [B, T + n].
    """
    return _generate(model, ids, max_new_tokens, context_length, eos_id)[:, ids.shape[1] :]


def keeps_only_the_window(model, ids, max_new_tokens, context_length, eos_id=None):
    """A long text loses its beginning: the cut to context_length is stored under the name of the text
    itself. The window is what the model is shown; the ids that are returned are never cut.
    """
    for _ in range(max_new_tokens):
        before, ids = ids, ids[:, -context_length:]
        longer = _generate(model, before, 1, context_length, None)
        ids = torch.cat([ids, longer[:, -1:]], dim=1)
        if eos_id is not None and (ids[:, -1] == eos_id).all():
            break
    return ids


def shows_the_whole_text(model, ids, max_new_tokens, context_length, eos_id=None):
    """Long texts raise an index error inside the model, or come out different: it is shown more ids than it
    has positions. Cut what you show to the last context_length ids, at every step.
    """
    return _generate(model, ids, max_new_tokens, context_length, eos_id, window=lambda ids, _: ids)


def shows_the_first_ids(model, ids, max_new_tokens, context_length, eos_id=None):
    """A long text repeats one token: the window is the beginning of the text, so the model never sees what
    it has just written. It is the last context_length ids that count.
    """

    def window(ids, length):
        return ids[:, :length]

    return _generate(model, ids, max_new_tokens, context_length, eos_id, window=window)


def shows_only_the_last_id(model, ids, max_new_tokens, context_length, eos_id=None):
    """Every token follows from the one before it alone: the model is shown a single id. Without a cache of
    keys and values it needs the text again at each step, up to context_length ids of it.
    """

    def window(ids, _):
        return ids[:, -1:]

    return _generate(model, ids, max_new_tokens, context_length, eos_id, window=window)


def shows_one_id_too_few(model, ids, max_new_tokens, context_length, eos_id=None):
    """Short texts are right and long ones differ: the window is one id shorter than context_length. Count
    the ids in it when the text is longer.
    """

    def window(ids, length):
        return ids[:, -max(length - 1, 1) :]

    return _generate(model, ids, max_new_tokens, context_length, eos_id, window=window)


@crude
def shows_the_prompt_at_every_step(model, ids, max_new_tokens, context_length, eos_id=None):
    """The same token is appended again and again: the window is cut once, before the loop, so the model
    never sees what it has written. Cut it anew from the longer text at every step.
    """
    prompt = ids[:, -context_length:]
    return _generate(model, ids, max_new_tokens, context_length, eos_id, window=lambda *_: prompt)


@crude
def reads_the_first_position(model, ids, max_new_tokens, context_length, eos_id=None):
    """The choice does not depend on the end of the text: it is read at position 0, whose logits are about
    the second token. The next token's logits stand at the last position.
    """

    def choose(logits):
        return logits[:, 0].argmax(dim=-1)

    return _generate(model, ids, max_new_tokens, context_length, eos_id, choose=choose)


def writes_the_same_token_in_every_row(model, ids, max_new_tokens, context_length, eos_id=None):
    """All rows of a batch get the first row's token: it is right for a batch of one. Take the argmax along
    the vocabulary, so that one id a row is left, and look for an index or an `.item()` that drops the batch.
    """

    def choose(logits):
        return logits[:1, -1].argmax(dim=-1).expand(len(logits))

    return _generate(model, ids, max_new_tokens, context_length, eos_id, choose=choose)


def writes_one_token_too_many(model, ids, max_new_tokens, context_length, eos_id=None):
    """One more token is generated than was asked for. Count the turns of the loop, for max_new_tokens of 0
    and of 1.
    """
    return _generate(model, ids, max_new_tokens + 1, context_length, eos_id)


@subtle
def always_writes_a_token(model, ids, max_new_tokens, context_length, eos_id=None):
    """With max_new_tokens of 0 a token is appended all the same: the count is looked at after the first
    step. Zero new tokens give back the prompt.
    """
    return _generate(model, ids, max(max_new_tokens, 1), context_length, eos_id)


@subtle
def leaves_dropout_on(model, ids, max_new_tokens, context_length, eos_id=None):
    """A model that comes in training mode generates in training mode: with dropout the text differs from run
    to run. Switch to evaluation mode before the loop.
    """

    def switch_off(_):
        pass

    return _generate(model, ids, max_new_tokens, context_length, eos_id, switch_off=switch_off)


@subtle
def switches_the_outer_module_alone(model, ids, max_new_tokens, context_length, eos_id=None):
    """The model says that it is in evaluation mode, and its dropout layers are still in training mode: the
    attribute `training` was set on the outermost module alone. Which method reaches all submodules?
    """

    def switch_off(model):
        model.training = False

    return _generate(model, ids, max_new_tokens, context_length, eos_id, switch_off=switch_off)


@subtle
def leaves_the_model_in_evaluation_mode(model, ids, max_new_tokens, context_length, eos_id=None):
    """After a sample the model is in evaluation mode, and whoever goes on training it trains without
    dropout. Note `model.training` before you switch, and bring that mode back.
    """

    def switch_back(*_):
        pass

    return _generate(model, ids, max_new_tokens, context_length, eos_id, switch_back=switch_back)


@subtle
def leaves_the_model_in_training_mode(model, ids, max_new_tokens, context_length, eos_id=None):
    """A model that came in evaluation mode is in training mode afterwards: training mode is switched on at
    the end, whatever it was. Bring back the mode noted at the beginning.
    """

    def switch_back(model, _):
        model.train()

    return _generate(model, ids, max_new_tokens, context_length, eos_id, switch_back=switch_back)


@subtle
def forgets_the_mode_when_all_rows_end(model, ids, max_new_tokens, context_length, eos_id=None):
    """The mode is brought back after a full loop, and not when all rows have ended before: a `return` inside
    the loop passes by the line that restores it.
    """
    was_training, wanted = model.training, ids.shape[1] + max_new_tokens
    result = _generate(model, ids, max_new_tokens, context_length, eos_id)
    model.train(was_training and result.shape[1] == wanted)
    return result


@subtle
def records_gradients(model, ids, max_new_tokens, context_length, eos_id=None):
    """Memory grows with every token: autograd records each step, for a backward pass that never comes. Run
    the model with gradients disabled; evaluation mode alone does not do that.
    """
    return _generate(model, ids, max_new_tokens, context_length, eos_id, quiet=contextlib.nullcontext)


@subtle
def takes_eos_of_zero_for_none(model, ids, max_new_tokens, context_length, eos_id=None):
    """Nothing ends if eos_id is 0: a condition asks whether eos_id is true, and 0 is not. Compare it with
    None.
    """
    return _generate(model, ids, max_new_tokens, context_length, eos_id or None)


@subtle
def lets_the_prompt_end_a_row(model, ids, max_new_tokens, context_length, eos_id=None):
    """A prompt that holds eos_id gets no text: the whole row is searched for it. Separators in a prompt are
    often the same token; only a generated one ends the row.
    """

    def ended_at_first(ids, eos_id):
        return (ids == eos_id).any(dim=1)

    return _generate(model, ids, max_new_tokens, context_length, eos_id, ended_at_first=ended_at_first)


@subtle
def lets_the_last_id_of_the_prompt_end_a_row(model, ids, max_new_tokens, context_length, eos_id=None):
    """A prompt whose last id is eos_id gets no text: each step looks at the text's last id to see whether the
    row has ended, the first step at the prompt's. Only a generated eos_id ends a row.
    """

    def ended_at_first(ids, eos_id):
        return ids[:, -1] == eos_id

    return _generate(model, ids, max_new_tokens, context_length, eos_id, ended_at_first=ended_at_first)


def stops_when_one_row_has_ended(model, ids, max_new_tokens, context_length, eos_id=None):
    """The texts of a batch are cut off where the shortest ends: any row's eos_id ends the loop. It is over
    when all rows have ended.
    """
    return _generate(model, ids, max_new_tokens, context_length, eos_id, is_over=torch.any)


def runs_on_after_all_rows_have_ended(model, ids, max_new_tokens, context_length, eos_id=None):
    """The result is padded with eos_id up to T + max_new_tokens: the loop does not notice that every row has
    ended. Ask after each step whether any row is left.
    """
    return _generate(model, ids, max_new_tokens, context_length, eos_id, is_over=lambda _: False)


@subtle
def runs_on_and_cuts_afterwards(model, ids, max_new_tokens, context_length, eos_id=None):
    """The text is right, and the model ran max_new_tokens times for it: the rows are searched for eos_id when
    all is written. End the loop with the last row.
    """
    right = _generate(model, ids, max_new_tokens, context_length, eos_id)
    _generate(model, ids, max_new_tokens - right.shape[1] + ids.shape[1], context_length, None)
    return right


def _waiting_for_one_step(model, ids, max_new_tokens, context_length, eos_id):
    for _ in range(max_new_tokens):
        ids = _generate(model, ids, 1, context_length, None)
        if eos_id is not None and (ids[:, -1] == eos_id).all():
            break
    return ids


def lets_ended_rows_go_on(model, ids, max_new_tokens, context_length, eos_id=None):
    """Behind its eos_id a row goes on with other tokens: nothing remembers that it has ended, so the loop
    ends only if all rows give eos_id in one and the same step. Keep a flag for each row.
    """
    return _waiting_for_one_step(model, ids, max_new_tokens, context_length, eos_id)


def fills_ended_rows_with_zero(model, ids, max_new_tokens, context_length, eos_id=None):
    """Ended rows are filled with 0: that is some word of the vocabulary. An ended row is filled with
    eos_id.
    """
    if eos_id is None:
        return _generate(model, ids, max_new_tokens, context_length, None)
    text = _generate(model, ids, max_new_tokens, context_length, eos_id)
    new = text[:, ids.shape[1] :]
    behind = (new == eos_id).cumsum(dim=1) > 1
    return torch.cat([ids, new.masked_fill(behind, 0)], dim=1)


def drops_the_last_eos(model, ids, max_new_tokens, context_length, eos_id=None):
    """The eos_id that ends the last row is missing: the loop is left before the token is appended. It belongs
    to the result.
    """
    text = _generate(model, ids, max_new_tokens, context_length, eos_id)
    new = text[:, ids.shape[1] :]
    over = eos_id is not None and new.shape[1] > 0 and bool((new == eos_id).any(dim=1).all())
    return text[:, :-1] if over else text


@subtle
def starts_the_flags_from_the_mode(model, ids, max_new_tokens, context_length, eos_id=None):
    """With an eos_id, a model that comes in training mode writes eos_id at once, and one in evaluation mode
    is right: the flags of ended rows take up the mode that was noted. They are false at first.
    """

    def ended_at_first(ids, _):
        return torch.full((len(ids),), was_training, device=ids.device)

    was_training = model.training
    return _generate(model, ids, max_new_tokens, context_length, eos_id, ended_at_first=ended_at_first)


@subtle
def chooses_in_sixteen_bits(model, ids, max_new_tokens, context_length, eos_id=None):
    """Small vocabularies are right, and of 50,257 tokens a wrong one is chosen where others are nearly as
    likely: the logits are compared in float16 or bfloat16. Take the argmax in the dtype they come in.
    """

    def choose(logits):
        return logits[:, -1].half().argmax(dim=-1)

    return _generate(model, ids, max_new_tokens, context_length, eos_id, choose=choose)


@subtle
def compares_rounded_probabilities(model, ids, max_new_tokens, context_length, eos_id=None):
    """Logits of ordinary distances are right; of some that lie close together another than the largest is
    taken: they become probabilities, which are rounded to the same number. The largest logit is known
    without a softmax.
    """

    def choose(logits):
        return logits[:, -1].float().softmax(dim=-1).argmax(dim=-1)

    return _generate(model, ids, max_new_tokens, context_length, eos_id, choose=choose)


@subtle
def chooses_in_float32(model, ids, max_new_tokens, context_length, eos_id=None):
    """Where float64 logits lie close together, a token is chosen that is not the most likely: they are cast
    to float32 before the argmax.
    """

    def choose(logits):
        return logits[:, -1].float().argmax(dim=-1)

    return _generate(model, ids, max_new_tokens, context_length, eos_id, choose=choose)
