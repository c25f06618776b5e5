"""What goes wrong in temperature_sampling: one function a mistake, its docstring what the student is told."""

import torch

from grader.mistakes import crude, subtle


def _require(temperature):
    if temperature < 0:
        raise ValueError(f"temperature={temperature} must not be negative")


def _draw(probabilities, generator):
    return torch.multinomial(probabilities, 1, generator=generator).squeeze(-1)


def _right(logits, temperature, generator):
    return _draw((logits / temperature).softmax(dim=-1), generator) if temperature else logits.argmax(dim=-1)


def _sampled(logits, temperature, generator, scaled=None, draw=_draw):
    """The right sampler, with a place for a mistake in what is drawn from, or in how."""
    _require(temperature)
    if temperature == 0:
        return logits.argmax(dim=-1)
    scaled = logits / temperature if scaled is None else scaled
    return draw(scaled.softmax(dim=-1), generator)


@crude
def ignores_the_temperature(logits, temperature, generator=None):
    """Every temperature but 0 gives the distribution of T = 1: it is not used, or it divides probabilities,
    which are then normalised again, so that it falls out. It must divide the logits.
    """
    return _sampled(logits, temperature, generator, scaled=logits)


def multiplies_by_the_temperature(logits, temperature, generator=None):
    """High temperatures make the draw careful and low ones make it bold: the logits are multiplied. They are
    to be divided.
    """
    return _sampled(logits, temperature, generator, scaled=logits * temperature)


@crude
def is_always_greedy(logits, temperature, generator=None):  # noqa: ARG001 - the mistake
    """The same tokens come in every draw, the most likely ones: nothing is drawn. Dividing by the temperature
    never changes which logit is the largest; a draw from the probabilities is due.
    """
    _require(temperature)
    return logits.argmax(dim=-1)


@subtle
def is_greedy_at_low_temperatures(logits, temperature, generator=None):
    """Below some temperature only the most likely token comes: low temperatures are taken for 0. Only 0
    itself is greedy; the softmax knows what 0.01 means.
    """
    _require(temperature)
    return _right(logits, temperature if temperature >= 0.02 else 0, generator)


@subtle
def lifts_low_temperatures(logits, temperature, generator=None):
    """Low temperatures draw too boldly: the temperature is held above some smallest value, to keep the
    exponents small. The softmax in its stable form needs no such help.
    """
    _require(temperature)
    return _right(logits, max(temperature, 0.02) if temperature else 0, generator)


@subtle
def divides_by_zero(logits, temperature, generator=None):
    """Temperature 0 raises, or gives nonsense: the logits are divided by it, and inf / inf is NaN. It has
    to be told apart before the division: greedy, the largest logit.
    """
    _require(temperature)
    return _draw((logits / temperature).softmax(dim=-1), generator)


@subtle
def takes_zero_for_a_tiny_temperature(logits, temperature, generator=None):
    """Temperature 0 draws now and then a token that is not the most likely: 0 is replaced by a tiny number,
    which is not small enough where logits lie nearer still. The largest logit needs no division.
    """
    _require(temperature)
    return _draw((logits / max(temperature, 1e-8)).softmax(dim=-1), generator)


@subtle
def compares_probabilities_at_zero(logits, temperature, generator=None):
    """At temperature 0 the first of several tokens is taken where logits lie so near that their
    probabilities are rounded to the same number. Compare the logits.
    """
    _require(temperature)
    return _right(logits, temperature, generator) if temperature else logits.softmax(dim=-1).argmax(dim=-1)


@subtle
def refuses_zero(logits, temperature, generator=None):
    """Temperature 0 raises a ValueError: it is counted among the negative ones. It is legal, and greedy."""
    if temperature <= 0:
        raise ValueError(f"temperature={temperature} must be above 0")
    return _right(logits, temperature, generator)


@subtle
def overflows_at_low_temperatures(logits, temperature, generator=None):
    """Low temperatures or large logits raise, as the probabilities are NaN: exp overflows before the division
    by the sum. Take the softmax in its stable form, with the largest logit moved to 0.
    """
    _require(temperature)
    if temperature == 0:
        return logits.argmax(dim=-1)
    powers = (logits / temperature).exp()
    return _draw(powers / powers.sum(dim=-1, keepdim=True), generator)


@subtle
def accepts_a_negative_temperature(logits, temperature, generator=None):
    """A negative temperature draws the unlikely tokens most often, without a word. A ValueError is due."""
    return _right(logits, temperature, generator)


@subtle
def takes_a_negative_temperature_for_greedy(logits, temperature, generator=None):
    """A negative temperature decodes greedily, as 0 does. A ValueError is due: the caller has made a mistake,
    and should learn of it.
    """
    return _right(logits, max(temperature, 0), generator)


@subtle
def ignores_the_generator(logits, temperature, generator=None):  # noqa: ARG001 - the mistake
    """The same seed gives different draws: the random numbers come from PyTorch's own generator. Hand the
    given one on to whatever draws.
    """
    return _sampled(logits, temperature, None)


@subtle
def seeds_the_generator_anew(logits, temperature, generator=None):
    """A second draw with the same generator equals the first: each call sets the generator back to its
    seed. It is the caller who seeds; a draw moves the state on.
    """
    if generator is not None:
        generator = generator.manual_seed(generator.initial_seed())
    return _sampled(logits, temperature, generator)


def draws_with_a_fixed_seed(logits, temperature, generator=None):
    """Every draw is the same, whatever generator comes: a fixed seed is set in each call. It is the caller
    who seeds; use the generator as it is.
    """
    generator = torch.Generator(logits.device).manual_seed(0)
    return _sampled(logits, temperature, generator)


def draws_one_number_for_all_rows(logits, temperature, generator=None):
    """Rows with the same logits always get the same token: one random number serves the whole batch. Each row
    needs a number of its own.
    """

    def draw(probabilities, generator):
        number = torch.rand(1, generator=generator, device=logits.device, dtype=logits.dtype)
        below = (probabilities.cumsum(dim=-1) <= number).sum(dim=-1)
        return below.clamp(max=logits.shape[-1] - 1)

    return _sampled(logits, temperature, generator, draw=draw)


@subtle
def draws_one_number_for_two_rows(logits, temperature, generator=None):
    """Rows are not independent: two of them share one random number, so they agree more often than chance
    allows, although each row alone has the right distribution.
    """

    def draw(probabilities, generator):
        half = (len(logits) + 1) // 2
        number = torch.rand(half, 1, generator=generator, device=logits.device, dtype=logits.dtype)
        number = torch.cat([number, number])[: len(logits)]
        below = (probabilities.cumsum(dim=-1) <= number).sum(dim=-1)
        return below.clamp(max=logits.shape[-1] - 1)

    return _sampled(logits, temperature, generator, draw=draw)


def draws_every_row_from_the_first(logits, temperature, generator=None):
    """All rows follow the distribution of the first: its probabilities serve the whole batch. Each row has
    its own.
    """
    first = (logits[:1] / (temperature or 1)).expand(logits.shape)
    return _sampled(logits, temperature, generator, scaled=first)


@crude
def normalises_down_the_batch(logits, temperature, generator=None):
    """Tokens of a single row are all equally likely, and in a batch the rows compete, not the tokens: the
    softmax runs along the first axis. Probabilities sum to one over the vocabulary, the last axis.
    """
    _require(temperature)
    if temperature == 0:
        return logits.argmax(dim=-1)
    return _draw((logits / temperature).softmax(dim=0).nan_to_num(0.0) + 1e-30, generator)


def returns_a_column(logits, temperature, generator=None):
    """The ids come as [B, 1]: multinomial returns a column for each draw. Take it off; [B] is asked for."""
    _require(temperature)
    if temperature == 0:
        return logits.argmax(dim=-1)
    return torch.multinomial((logits / temperature).softmax(dim=-1), 1, generator=generator)


@subtle
def returns_a_column_when_greedy(logits, temperature, generator=None):
    """At temperature 0 the ids come as [B, 1]: argmax has kept the axis of the vocabulary. [B] is asked
    for.
    """
    _require(temperature)
    return _right(logits, temperature, generator) if temperature else logits.argmax(dim=-1, keepdim=True)


@subtle
def squeezes_a_single_row_away(logits, temperature, generator=None):
    """A batch of one row comes without its axis: squeeze() takes off every axis of length 1. Name the one
    that is to go.
    """
    return _sampled(logits, temperature, generator).squeeze()


@crude
def adds_uniform_noise(logits, temperature, generator=None):
    """Tokens come too often or too seldom: uniform noise is added to the logits and the largest taken. That
    is a draw from the softmax with Gumbel noise only, which is -log(-log(u)).
    """
    _require(temperature)
    noise = torch.rand(logits.shape, generator=generator, device=logits.device, dtype=logits.dtype)
    return (logits / temperature + noise if temperature else logits).argmax(dim=-1)


def adds_the_noise_before_the_division(logits, temperature, generator=None):
    """Every temperature but 0 gives the distribution of T = 1: Gumbel noise is added, and the sum divided,
    which changes nothing about which is the largest. Divide the logits first.
    """
    _require(temperature)
    uniform = torch.rand(logits.shape, generator=generator, device=logits.device, dtype=torch.float64)
    noise = -torch.log(-torch.log(uniform.clamp(min=1e-300)))
    return (logits + noise if temperature else logits).argmax(dim=-1)


def counts_from_the_wrong_end(logits, temperature, generator=None):
    """The first token gets the probability of the last one, and so on: the sums that lie above the random
    number are counted. The token is the number of sums below it.
    """

    def draw(probabilities, generator):
        number = torch.rand(len(logits), 1, generator=generator, device=logits.device, dtype=logits.dtype)
        return ((probabilities.cumsum(dim=-1) > number).sum(dim=-1) - 1).clamp(min=0)

    return _sampled(logits, temperature, generator, draw=draw)


def never_draws_the_last_token(logits, temperature, generator=None):
    """The last token of the vocabulary never comes: the draw ends one place too early. Its share falls to the
    token before it.
    """

    def draw(probabilities, generator):
        number = torch.rand(len(logits), 1, generator=generator, device=logits.device, dtype=logits.dtype)
        below = (probabilities.cumsum(dim=-1)[:, :-1] <= number).sum(dim=-1)
        return below.clamp(max=max(logits.shape[-1] - 2, 0))

    return _sampled(logits, temperature, generator, draw=draw)


def returns_the_rank(logits, temperature, generator=None):
    """Token 0 comes most often: the logits were sorted, and what is drawn is a place in that order. The token
    that was sorted to that place is asked for.
    """
    _require(temperature)
    ordered = logits.sort(dim=-1, descending=True).values
    return _right(ordered, temperature, generator)


@subtle
def divides_the_logits_in_place(logits, temperature, generator=None):
    """The caller's logits are divided after the call, and its next draw divides them again. Divide a copy."""
    _require(temperature)
    if temperature == 0:
        return logits.argmax(dim=-1)
    return _draw(logits.div_(temperature).softmax(dim=-1), generator)


@subtle
def subtracts_one_maximum_for_all(logits, temperature, generator=None):
    """Rows far below the others are drawn from evenly, or raise: one maximum is subtracted from the whole
    batch, and exp of their logits is 0. Each row needs a maximum of its own.
    """
    _require(temperature)
    if temperature == 0:
        return logits.argmax(dim=-1)
    scaled = logits / temperature
    powers = (scaled - scaled.max()).exp() + torch.finfo(logits.dtype).tiny
    return _draw(powers, generator)


@subtle
def clips_the_logits(logits, temperature, generator=None):
    """At low temperatures tokens far apart are drawn alike: the divided logits are clipped, so that exp does
    not overflow. The softmax in its stable form needs no bounds.
    """
    _require(temperature)
    if temperature == 0:
        return logits.argmax(dim=-1)
    return _draw((logits / temperature).clamp(-80, 80).softmax(dim=-1), generator)


@subtle
def draws_from_the_fifty_likeliest(logits, temperature, generator=None):
    """Small vocabularies are right; of 50,257 tokens no more than 50 are ever drawn: the others are cut off
    before the softmax. Top-k is a filter of its own; here every token keeps its probability.
    """
    _require(temperature)
    likeliest = logits.topk(min(50, logits.shape[-1]), dim=-1)
    if temperature == 0:
        return logits.argmax(dim=-1)
    places = _right(likeliest.values, temperature, generator)
    return likeliest.indices.gather(-1, places[:, None])[:, 0]


@subtle
def counts_tokens_in_sixteen_bits(logits, temperature, generator=None):
    """Small vocabularies are right; of 50,257 tokens those beyond 32,767 come back as other ids, negative
    ones too: ids are held in int16, which ends there. Ids are int64.
    """
    return _sampled(logits, temperature, generator).to(torch.int16).long()


@subtle
def makes_a_generator_of_its_own(logits, temperature, generator=None):
    """After torch.manual_seed the draws without a generator are others each time: a new generator is made for
    them. Without one, PyTorch's own is used.
    """
    if generator is None:
        generator = torch.Generator(logits.device)
        generator.seed()
    return _sampled(logits, temperature, generator)


@subtle
def seeds_the_generator_of_pytorch(logits, temperature, generator=None):
    """A draw from a generator that is given changes all later draws of PyTorch's own: that one is seeded from
    it. Hand the given generator to the function that draws.
    """
    if generator is not None and temperature > 0:
        torch.manual_seed(int(torch.randint(2**31, (), generator=generator, device=generator.device)))
    return _sampled(logits, temperature, None)
