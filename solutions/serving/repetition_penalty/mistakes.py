"""What goes wrong in repetition_penalty: one function a mistake, its docstring what the student is told."""

import math

import torch

from grader.mistakes import crude, subtle

_SEEN = {}


def _require_penalty(penalty):
    if penalty <= 0:
        raise ValueError("penalty must be above 0")


def _occurs(logits, ids):
    return torch.zeros_like(logits, dtype=torch.bool).scatter(1, ids, True)


def _by_sign(logits, penalty):
    return torch.where(logits > 0, logits / penalty, logits * penalty)


def _right(logits, ids, penalty):
    _require_penalty(penalty)
    return torch.where(_occurs(logits, ids), _by_sign(logits, penalty), logits)


def divides_whatever_the_sign(logits, ids, penalty):
    """Tokens with a logit below 0 become more likely by a penalty above 1: every logit is divided, as in the
    paper's equation, and a division brings a negative number nearer to 0. Check a token at -1."""
    _require_penalty(penalty)
    return torch.where(_occurs(logits, ids), logits / penalty, logits)


@crude
def multiplies_whatever_the_sign(logits, ids, penalty):
    """Tokens with a logit above 0 become more likely by a penalty above 1: every logit is multiplied. Check a
    token at 2: which of 1 and 4 is due for a penalty of 2?"""
    _require_penalty(penalty)
    return torch.where(_occurs(logits, ids), logits * penalty, logits)


@crude
def goes_by_the_sign_the_wrong_way_round(logits, ids, penalty):
    """A penalty above 1 makes every repeated token more likely: the two branches of the sign are exchanged.
    Check what each of them does to a logit of 2 and one of -2."""
    _require_penalty(penalty)
    return torch.where(_occurs(logits, ids), _by_sign(logits, 1 / penalty), logits)


def decides_by_the_sign_of_the_row(logits, ids, penalty):
    """Rows of one sign are right, mixed ones are not: one sign is taken for the whole row, that of its
    largest logit. Each logit has its own sign."""
    _require_penalty(penalty)
    positive = logits.amax(dim=-1, keepdim=True) > 0
    changed = torch.where(positive, logits / penalty, logits * penalty)
    return torch.where(_occurs(logits, ids), changed, logits)


def compares_with_one(logits, ids, penalty):
    """Logits between 0 and 1 grow by a penalty above 1: the border between dividing and multiplying lies at
    1. Probabilities are compared with 1 and log-probabilities with 0; the sign of a logit changes at 0."""
    _require_penalty(penalty)
    changed = torch.where(logits > 1, logits / penalty, logits * penalty)
    return torch.where(_occurs(logits, ids), changed, logits)


def penalises_each_occurrence(logits, ids, penalty):
    """A token that occurs twice is penalised twice: the rule is applied in a loop over the ids, or raised to
    the count. Occurring once is enough, and occurring again adds nothing."""
    _require_penalty(penalty)
    counts = torch.zeros_like(logits).scatter_add(1, ids, torch.ones_like(ids, dtype=logits.dtype))
    return torch.where(logits > 0, logits / penalty**counts, logits * penalty**counts)


def penalises_from_the_second_occurrence(logits, ids, penalty):
    """Tokens that occur once keep their logit: a repetition is taken to begin with the second time. Whatever
    has occurred is penalised."""
    _require_penalty(penalty)
    counts = torch.zeros_like(logits).scatter_add(1, ids, torch.ones_like(ids, dtype=logits.dtype))
    return torch.where(counts > 1, _by_sign(logits, penalty), logits)


def penalises_the_last_token_only(logits, ids, penalty):
    """Only the token before the next one is penalised: the last column of ids is used. The whole text
    counts."""
    return _right(logits, ids[:, -1:], penalty)


def skips_the_last_token(logits, ids, penalty):
    """The token that was generated last can be said again at once: the ids are cut before it. Check the end
    of the slice."""
    _require_penalty(penalty)
    return _right(logits, ids[:, :-1], penalty)


def skips_the_first_token(logits, ids, penalty):
    """The first token of a text is never penalised: it is taken for a start token. `ids` holds tokens alone,
    and each counts."""
    return _right(logits, ids[:, 1:], penalty)


def penalises_neighbours_only(logits, ids, penalty):
    """Only tokens that stand twice in a row are penalised: each id is compared with the one before it. A
    token has occurred wherever it stands."""
    _require_penalty(penalty)
    again = ids[:, 1:] == ids[:, :-1]
    seen = torch.zeros_like(logits).scatter_add(1, ids[:, 1:], again.to(logits.dtype)) > 0
    return torch.where(seen, _by_sign(logits, penalty), logits)


def penalises_the_tokens_of_all_rows(logits, ids, penalty):
    """A single row is right; in a batch, tokens are penalised that only other rows hold: the ids of all rows
    are poured together. Each row has its own text."""
    return _right(logits, ids.reshape(1, -1).expand(len(ids), -1), penalty)


def penalises_the_tokens_of_the_first_row(logits, ids, penalty):
    """The first row is right, and the others are penalised for its text: one row of ids is used for the whole
    batch. Check how rows of logits meet rows of ids."""
    return _right(logits, ids[:1].expand(len(ids), -1), penalty)


def penalises_the_first_row_only(logits, ids, penalty):
    """Only the first row is penalised: the batch is left out of an index. Every row has its text."""
    first = _right(logits[:1], ids[:1], penalty)
    return torch.cat([first, logits[1:]])


@crude
def penalises_all_tokens(logits, ids, penalty):  # noqa: ARG001 - the mistake
    """Every logit is penalised, whatever the text: ids plays no part. Only what has occurred is penalised."""
    _require_penalty(penalty)
    return _by_sign(logits, penalty)


@crude
def penalises_what_has_not_occurred(logits, ids, penalty):
    """Tokens that have occurred keep their logit and all others change: the mask is turned round. Check which
    side of the choice takes the penalised logit."""
    _require_penalty(penalty)
    return torch.where(_occurs(logits, ids), logits, _by_sign(logits, penalty))


def penalises_the_next_token(logits, ids, penalty):
    """The token after each token of the text, by its number, is penalised: ids are counted from 1. They index
    the vocabulary from 0."""
    return _right(logits, (ids + 1) % logits.shape[1], penalty)


@crude
def forbids_what_has_occurred(logits, ids, penalty):
    """What has occurred can never be said again: its logit is -inf. A penalty makes it less likely by a
    factor."""
    _require_penalty(penalty)
    return logits.masked_fill(_occurs(logits, ids), float("-inf"))


@crude
def subtracts_the_penalty(logits, ids, penalty):
    """Every seen logit falls by the same amount: the penalty is subtracted, as a presence penalty is. Here it
    is a factor."""
    _require_penalty(penalty)
    return torch.where(_occurs(logits, ids), logits - penalty, logits)


@crude
def subtracts_the_penalty_times_the_count(logits, ids, penalty):
    """Seen logits fall by an amount that grows with the number of occurrences: that is a frequency penalty.
    Here the penalty is a factor, and counts play no part."""
    _require_penalty(penalty)
    return logits - penalty * torch.zeros_like(logits).scatter_add(
        1, ids, torch.ones_like(ids, dtype=logits.dtype)
    )


def subtracts_the_logarithm(logits, ids, penalty):
    """Every seen logit falls by the logarithm of the penalty: that divides the probability by it. The rule
    divides or multiplies the logit itself."""
    _require_penalty(penalty)
    return torch.where(_occurs(logits, ids), logits - math.log(penalty), logits)


def subtracts_a_share_of_the_size(logits, ids, penalty):
    """Logits below 0 are right and those above 0 fall too far: (penalty - 1) times their size is subtracted,
    which takes 2 to 0 for a penalty of 2. A division takes it to 1."""
    _require_penalty(penalty)
    return torch.where(_occurs(logits, ids), logits - (penalty - 1) * logits.abs(), logits)


def works_on_log_probabilities(logits, ids, penalty):
    """Tokens that have not occurred have other logits too: the row is made log-probabilities first, all of
    which are below 0. The rule takes the logits as they come."""
    return _right(logits.log_softmax(dim=-1), ids, penalty)


@crude
def penalises_the_probabilities(logits, ids, penalty):
    """The result is made of logarithms of probabilities, of which the seen ones were divided by the penalty.
    The rule acts on logits, before any softmax."""
    _require_penalty(penalty)
    probabilities = logits.softmax(dim=-1)
    return torch.where(_occurs(logits, ids), probabilities / penalty, probabilities).log()


@crude
def returns_probabilities(logits, ids, penalty):
    """The result holds numbers between 0 and 1: a softmax was taken at the end. It must hold logits, for
    other filters and a softmax follow."""
    return _right(logits, ids, penalty).softmax(dim=-1)


def subtracts_the_largest_first(logits, ids, penalty):
    """All logits have moved, and every one counts as negative: the row's largest was subtracted, as for a
    softmax. This rule depends on where 0 is; leave the level of the logits alone."""
    return _right(logits - logits.amax(dim=-1, keepdim=True), ids, penalty)


def divides_by_the_size_of_the_text(logits, ids, penalty):
    """The longer the text, the weaker the penalty: it is spread over the number of tokens. The penalty is the
    same for a text of any length."""
    _require_penalty(penalty)
    return _right(logits, ids, penalty ** (1 / ids.shape[1]))


@subtle
def treats_token_zero_as_padding(logits, ids, penalty):
    """Token 0 is never penalised: it is left out as padding. There is no padding among ids, and 0 is a token
    like any other."""
    right = _right(logits, ids, penalty)
    return torch.cat([logits[:, :1], right[:, 1:]], dim=1)


@subtle
def looks_back_sixty_four_tokens(logits, ids, penalty):
    """Short texts are right, and in long ones an early token is forgotten: only the last 64 ids are used, as
    some programs do by default. The whole text counts."""
    return _right(logits, ids[:, -64:], penalty)


@subtle
def ignores_a_penalty_below_one(logits, ids, penalty):
    """A penalty below 1 changes nothing: it is raised to 1. It rewards what has occurred, by the same
    rule."""
    _require_penalty(penalty)
    return _right(logits, ids, max(penalty, 1.0))


@subtle
def refuses_a_penalty_below_one(logits, ids, penalty):
    """A penalty of 0.5 raises: only penalties from 1 up are accepted. Every number above 0 is a penalty;
    below 1 it rewards."""
    if penalty < 1:
        raise ValueError("penalty must be at least 1")
    return _right(logits, ids, penalty)


@subtle
def accepts_a_penalty_of_zero(logits, ids, penalty):
    """A penalty of 0 is accepted: only negative ones are refused. Dividing by 0 makes no sense. Raise a
    ValueError for 0 too."""
    if penalty < 0:
        raise ValueError("penalty must not be negative")
    return torch.where(_occurs(logits, ids), _by_sign(logits, penalty), logits)


@subtle
def accepts_a_negative_penalty(logits, ids, penalty):
    """A penalty of -1.5 is answered, with logits of the other sign: only 0 is refused. A ValueError is due
    for every penalty that is not above 0."""
    if penalty == 0:
        raise ValueError("penalty must not be 0")
    return torch.where(_occurs(logits, ids), _by_sign(logits, penalty), logits)


@subtle
def accepts_any_penalty(logits, ids, penalty):
    """A penalty of 0 or below is answered: nothing looks at it before it is used. A ValueError is due, with
    the reason."""
    return torch.where(_occurs(logits, ids), _by_sign(logits, penalty), logits)


@subtle
def multiplies_by_the_mask(logits, ids, penalty):
    """Logits of -inf become NaN: the mask is multiplied with the logits and the parts are added, and
    0 * inf is NaN. Choose between two values, in place of computing with the mask."""
    _require_penalty(penalty)
    seen = _occurs(logits, ids).to(logits.dtype)
    return seen * _by_sign(logits, penalty) + (1 - seen) * logits


@subtle
def replaces_minus_infinity(logits, ids, penalty):
    """Logits of -inf come back as large negative numbers: they were clamped to be finite. A token at -inf is
    forbidden, and stays so."""
    return _right(logits, ids, penalty).clamp(min=-1e9)


@subtle
def overwrites_the_logits(logits, ids, penalty):
    """The caller's logits are penalised after the call: the result is written into them, so the next call
    penalises them again. Write into a new tensor."""
    return logits.copy_(_right(logits, ids, penalty))


@subtle
def answers_as_the_first_time(logits, ids, penalty):
    """The first call is right, and later ones of the same shape penalise its tokens again: something outlives
    the call. Check what is kept between calls."""
    _require_penalty(penalty)
    seen = _SEEN.setdefault((logits.shape, ids.shape, logits.dtype), _occurs(logits, ids))
    return torch.where(seen, _by_sign(logits, penalty), logits)


@subtle
def flattens_by_view(logits, ids, penalty):
    """Logits or ids that are a transposed view raise: `view` flattens what is contiguous in memory alone.
    Check how rows and tokens are joined to one index."""
    _require_penalty(penalty)
    rows = torch.arange(len(ids), device=ids.device)[:, None]
    flat = (ids + rows * logits.shape[1]).view(-1)
    result = logits.clone(memory_format=torch.contiguous_format).view(-1)
    result[flat] = _by_sign(logits, penalty).view(-1)[flat]
    return result.view(logits.shape)


@subtle
def makes_the_mask_on_the_cpu(logits, ids, penalty):
    """Right on the CPU, and on a GPU the call raises: the mask is made without a device. Take the device from
    `logits`."""
    _require_penalty(penalty)
    seen = torch.zeros(logits.shape, dtype=torch.bool).scatter(1, ids, True)
    return torch.where(seen, _by_sign(logits, penalty), logits)


@subtle
def rounds_the_penalty_to_float32(logits, ids, penalty):
    """float64 logits lose half of their digits where they are penalised: the penalty was made a float32
    tensor. Leave it a Python number, or give it the dtype of the logits."""
    _require_penalty(penalty)
    return _right(logits, ids, torch.tensor(penalty, device=logits.device))
