"""Wrong answers to training_questions: each is wrong in one question, and its docstring is the reason."""

import math

from reference import CAUSES

from grader.mistakes import crude, subtle


def _blame(symptom, fault):
    """The three last questions, answered by somebody who takes one symptom for the sign of another fault."""
    believed = {**CAUSES, symptom: fault}
    return [lambda symptoms, number=number, **_: believed[symptoms[number]] for number in range(3)]


class counts_in_bits:
    """That is the loss in bits. The cross-entropy here is in natural logarithms, as PyTorch computes
    it."""

    def LOSS_AT_START(vocab, **_):
        return math.log2(vocab)


class takes_the_decimal_logarithm:
    """That is the decimal logarithm; the cross-entropy takes the natural one."""

    def LOSS_AT_START(vocab, **_):
        return math.log10(vocab)


class returns_the_probability:
    """That is the probability of each token. The loss is minus its logarithm."""

    def LOSS_AT_START(vocab, **_):
        return 1 / vocab


class forgets_the_logarithm:
    """That is the perplexity of the uniform guess. The loss is its logarithm."""

    def LOSS_AT_START(vocab, **_):
        return vocab


class raises_two_to_the_loss:
    """You raised 2 to the loss. That is right for a loss in bits; this one is in natural logarithms."""

    def PERPLEXITY(loss, **_):
        return 2**loss


class inverts_the_perplexity:
    """That is the mean probability of the right token. The perplexity is its inverse."""

    def PERPLEXITY(loss, **_):
        return math.exp(-loss)


@crude
class takes_the_loss_for_the_perplexity:
    """That is the loss itself."""

    def PERPLEXITY(loss, **_):
        return loss


@subtle
class predicts_the_first_token:
    """You counted `tokens` targets for each sequence. The first id has nothing before it to be
    predicted from."""

    def TERMS_OF_THE_LOSS(batch, tokens, pads, **_):
        return batch * tokens - pads


class averages_the_padding:
    """You counted the padding. The loss leaves those targets out."""

    def TERMS_OF_THE_LOSS(batch, tokens, **_):
        return batch * (tokens - 1)


@crude
class predicts_one_token_of_each_sequence:
    """You counted one prediction for each sequence. A decoder predicts the next token at every
    position."""

    def TERMS_OF_THE_LOSS(batch, **_):
        return batch


class leaves_padding_out_of_each_sequence:
    """You left out `pads` targets of each sequence. It is the number in the whole batch."""

    def TERMS_OF_THE_LOSS(batch, tokens, pads, **_):
        return batch * (tokens - 1 - pads)


class begins_at_the_peak:
    """That is the rate at the end of the warmup."""

    def LEARNING_RATE(peak, **_):
        return peak


class falls_in_the_warmup:
    """Your rate falls. In the warmup it rises from 0."""

    def LEARNING_RATE(step, warmup, peak, **_):
        return peak * (warmup - step) / warmup


class rises_with_the_root:
    """Your rate rises with the root of the step. The warmup here is a straight line."""

    def LEARNING_RATE(step, warmup, peak, **_):
        return peak * math.sqrt(step / warmup)


@subtle
class stretches_small_gradients:
    """You enlarged gradients whose norm is below the limit. Clipping leaves them as they are."""

    def CLIPPING_FACTOR(norm, limit, **_):
        return limit / norm


class inverts_the_factor:
    """That is how many times the limit the norm is. The factor must bring the norm down to the
    limit."""

    def CLIPPING_FACTOR(norm, limit, **_):
        return norm / limit


class scales_to_norm_one:
    """With that factor the norm becomes 1. It must become the limit."""

    def CLIPPING_FACTOR(norm, **_):
        return 1 / norm


class blames_the_initialisation_for_a_low_loss:
    """A large initialisation makes the first loss high, and does not make a later one too good. What
    does a model see that predicts almost perfectly in training alone?"""

    FIRST_FAULT, SECOND_FAULT, THIRD_FAULT = _blame("P", "C")


class blames_the_positions_for_a_low_loss:
    """Wrong positions in generation leave the training loss as it is. What does a model see that
    predicts almost perfectly in training alone?"""

    FIRST_FAULT, SECOND_FAULT, THIRD_FAULT = _blame("P", "F")


class blames_the_mask_for_changing_logits:
    """A wrong mask gives the same wrong logits at each call. What draws random numbers in a forward
    pass?"""

    FIRST_FAULT, SECOND_FAULT, THIRD_FAULT = _blame("Q", "A")


class blames_the_positions_for_changing_logits:
    """Wrong positions give the same wrong logits at each call. What draws random numbers in a forward
    pass?"""

    FIRST_FAULT, SECOND_FAULT, THIRD_FAULT = _blame("Q", "F")


class blames_dropout_for_a_high_first_loss:
    """Dropout changes the loss by little. To be several times worse than a uniform guess a model must
    be sure of wrong tokens: its logits are far too large."""

    FIRST_FAULT, SECOND_FAULT, THIRD_FAULT = _blame("R", "B")


class blames_detaching_for_a_high_first_loss:
    """Detaching changes gradients, not the loss of an untrained model. To be several times worse than a
    uniform guess its logits must be far too large."""

    FIRST_FAULT, SECOND_FAULT, THIRD_FAULT = _blame("R", "E")


class blames_the_causal_mask_for_nan:
    """A token too many changes the scores and leaves them finite. What is the softmax of a row that is
    -inf throughout?"""

    FIRST_FAULT, SECOND_FAULT, THIRD_FAULT = _blame("S", "A")


class blames_the_initialisation_for_nan:
    """A large initialisation would show from the first batch on. What is the softmax of a row that is
    -inf throughout?"""

    FIRST_FAULT, SECOND_FAULT, THIRD_FAULT = _blame("S", "C")


class blames_dropout_for_frozen_parameters:
    """Dropout lets gradients pass to all layers. Where does the path of the gradients end, if only the
    output layer learns?"""

    FIRST_FAULT, SECOND_FAULT, THIRD_FAULT = _blame("T", "B")


class blames_infinite_masks_for_frozen_parameters:
    """A row of -inf gives NaN, and no parameter would keep its value. Where does the path of the
    gradients end, if only the output layer learns?"""

    FIRST_FAULT, SECOND_FAULT, THIRD_FAULT = _blame("T", "D")


class blames_the_mask_for_the_cache:
    """With that mask, training and generation without a cache are wrong as well. What does the cached run
    know of a new token's place?"""

    FIRST_FAULT, SECOND_FAULT, THIRD_FAULT = _blame("U", "A")


class blames_dropout_for_the_cache:
    """Dropout would change the first new token as well, with and without a cache. What does the cached
    run know of a new token's place?"""

    FIRST_FAULT, SECOND_FAULT, THIRD_FAULT = _blame("U", "B")
