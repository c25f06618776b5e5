"""What goes wrong in constrained_decoding: one class a mistake, its docstring what the student is told."""

import math

import torch

from grader.mistakes import crude, subtle


class _Answer:
    """Right answers to both functions; each mistake overrides a step of them."""

    def __init_subclass__(cls):
        answer = cls()
        cls.constrain_logits = staticmethod(lambda *args: answer.constrain(*args))
        cls.constrain_generate = staticmethod(lambda *args: answer.generate(*args))

    def needed(self, automaton):
        """The fewest tokens that end a text from each state, the eos among them."""
        accepting = automaton["accepting"]
        needed = {state: 1 if state in accepting else math.inf for state in automaton["transitions"]}
        for _ in needed:
            for state, moves in automaton["transitions"].items():
                needed[state] = min([needed[state], *(1 + needed[after] for after in moves.values())])
        return needed

    def is_possible(self, needed, after, steps_left):
        return needed[after] < steps_left

    def ends(self, automaton, state, steps_left):
        return state in automaton["accepting"] and steps_left > 0

    def kept(self, automaton, state, steps_left, eos_id):
        needed, moves = self.needed(automaton), automaton["transitions"][state]
        kept = [token for token, after in moves.items() if self.is_possible(needed, after, steps_left)]
        return kept + [eos_id] * self.ends(automaton, state, steps_left)

    def fill(self, logits, kept):
        result = torch.full_like(logits, -math.inf)
        result[kept] = logits[kept]
        return result

    def refuse(self, logits):  # noqa: ARG002 - a mistake uses it
        raise ValueError("no token is left")

    def constrain(self, logits, automaton, state, steps_left, eos_id):
        kept = self.kept(automaton, state, steps_left, eos_id)
        return self.fill(logits, kept) if kept else self.refuse(logits)

    def ask(self, next_logits, prompt, new, automaton, state, steps_left, eos_id):  # noqa: ARG002
        return next_logits([*prompt, *new])

    def choose(self, logits, automaton, state, steps_left, eos_id):
        return int(self.constrain(logits, automaton, state, steps_left, eos_id).argmax())

    def start(self, automaton, prompt):  # noqa: ARG002 - a mistake uses it
        return automaton["start"]

    def steps(self, max_new_tokens, done):
        return max_new_tokens - done

    def is_over(self, automaton, state, token, eos_id):  # noqa: ARG002 - a mistake uses it
        return token == eos_id

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        state, new = self.start(automaton, prompt), []
        for done in range(max(max_new_tokens, 1)):
            steps_left = self.steps(max_new_tokens, done)
            logits = self.ask(next_logits, prompt, new, automaton, state, steps_left, eos_id)
            new.append(self.choose(logits, automaton, state, steps_left, eos_id))
            state = automaton["transitions"][state].get(new[-1], state)
            if self.is_over(automaton, state, new[-1], eos_id):
                break
        return [*prompt, *new]


class masks_by_the_state_alone(_Answer):
    """The text runs into dead ends, or is cut off at the limit: a token is kept wherever the state allows it.
    That is not enough; an accepted text must still be within reach after it."""

    def is_possible(self, needed, after, steps_left):  # noqa: ARG002 - the mistake
        return True


class gives_up_at_the_limit(_Answer):
    """Possible texts are refused: a token is kept wherever the state allows it, and where the text is not
    ended by the last step a ValueError is raised. Keep only tokens after which an end is within reach."""

    def is_possible(self, needed, after, steps_left):  # noqa: ARG002 - the mistake
        return True

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        text = super().generate(next_logits, prompt, automaton, max_new_tokens, eos_id)
        if text[-1] != eos_id:
            raise ValueError("the text has not ended")
        return text


class looks_one_state_ahead(_Answer):
    """A dead end right behind the token is avoided, one that is two tokens away is not: the look ahead goes
    as far as the next state, which has some way on. Follow the ways to an accepting state."""

    def kept(self, automaton, state, steps_left, eos_id):
        transitions, accepting = automaton["transitions"], automaton["accepting"]
        moves = transitions[state]
        kept = [token for token, after in moves.items() if transitions[after] or after in accepting]
        return kept + [eos_id] * self.ends(automaton, state, steps_left)


class looks_ahead_without_counting(_Answer):
    """Dead ends are avoided, and the text is cut off before its end: whether an end can be reached is asked,
    and not in how many steps. Compare the number of steps with `steps_left`."""

    def is_possible(self, needed, after, steps_left):  # noqa: ARG002 - the mistake
        return needed[after] < math.inf


class leaves_no_room_for_the_eos(_Answer):
    """The text reaches an accepting state with its last token, and there is no step left for the eos: the
    steps are counted to the accepting state. The eos takes one more."""

    def is_possible(self, needed, after, steps_left):
        return needed[after] - 1 < steps_left


class demands_a_step_too_many(_Answer):
    """Texts that fit exactly are refused: the look ahead wants one step more than is needed. Take a state
    from which a token and the eos end the text, with two steps left."""

    def is_possible(self, needed, after, steps_left):
        return needed[after] + 1 < steps_left


class judges_the_state_before_the_token(_Answer):
    """A token into a dead end is kept where another token of the state leads to an end: the number of steps
    is that of the present state. It is the state after each token that counts."""

    def kept(self, automaton, state, steps_left, eos_id):
        within = self.needed(automaton)[state] <= steps_left
        kept = list(automaton["transitions"][state]) if within else []
        return kept + [eos_id] * self.ends(automaton, state, steps_left)


@crude
class allows_every_token(_Answer):
    """Tokens that the state does not know are kept: all tokens are allowed, and only the eos is watched. Only
    the tokens of the state's transitions lead on."""

    def constrain(self, logits, automaton, state, steps_left, eos_id):
        if not self.kept(automaton, state, steps_left, eos_id):
            self.refuse(logits)
        tokens = [token for token in range(len(logits)) if token != eos_id]
        return self.fill(logits, tokens + [eos_id] * self.ends(automaton, state, steps_left))


@crude
class forbids_the_allowed_tokens(_Answer):
    """What is possible gets -inf, and what is not keeps its logit: the mask is turned round. Check which side
    is filled."""

    def fill(self, logits, kept):
        result = logits.clone()
        result[kept] = -math.inf
        return result


class allows_the_eos_anywhere(_Answer):
    """Texts end in the middle: the eos keeps its logit in every state. Only an accepting state may be
    followed by it."""

    def ends(self, automaton, state, steps_left):  # noqa: ARG002 - the mistake
        return steps_left > 0


@crude
class never_allows_the_eos(_Answer):
    """No text ends: the eos stands in no transition, so it is never among the tokens that are kept. It is
    possible in every accepting state."""

    def ends(self, automaton, state, steps_left):  # noqa: ARG002 - the mistake
        return False


class ends_only_where_nothing_else_is_possible(_Answer):
    """Texts are as long as they can be: the eos is kept only where no other token is. In an accepting state
    it is one token among the others, and the logits decide."""

    def kept(self, automaton, state, steps_left, eos_id):
        kept = super().kept(automaton, state, steps_left, eos_id)
        return kept if kept == [eos_id] else [token for token in kept if token != eos_id]


@crude
class ends_at_once_where_it_may(_Answer):
    """Texts stop at the first accepting state, though the model would go on: the eos alone is kept there. It
    is one token among the others, and the logits decide."""

    def kept(self, automaton, state, steps_left, eos_id):
        kept = super().kept(automaton, state, steps_left, eos_id)
        return [eos_id] if eos_id in kept else kept


class allows_the_eos_with_the_last_step_only(_Answer):
    """The text must fill all steps, and is refused where it cannot: the eos is kept with the last step alone.
    `steps_left` is a limit; a text may end before."""

    def ends(self, automaton, state, steps_left):
        return state in automaton["accepting"] and steps_left == 1


class knows_one_accepting_state(_Answer):
    """Texts that end in the second accepting state are not possible: only the first of the list is looked at.
    Any of them ends a text."""

    def needed(self, automaton):
        return super().needed({**automaton, "accepting": automaton["accepting"][:1]})

    def ends(self, automaton, state, steps_left):
        return state in automaton["accepting"][:1] and steps_left > 0


class takes_a_dead_end_for_the_end(_Answer):
    """Texts end where no token leads on, and not in accepting states: a state without transitions is taken
    for an end. Look the state up in `accepting`."""

    def needed(self, automaton):
        stuck = [state for state, moves in automaton["transitions"].items() if not moves]
        return super().needed({**automaton, "accepting": stuck})

    def ends(self, automaton, state, steps_left):
        return not automaton["transitions"][state] and steps_left > 0


@crude
class takes_the_shortest_way(_Answer):
    """The text is the shortest one, whatever the model says: only tokens that come nearer to the end are
    kept. A detour is possible as long as steps are left."""

    def kept(self, automaton, state, steps_left, eos_id):
        needed = self.needed(automaton)
        steps = min(steps_left, needed[state])
        return super().kept(automaton, state, steps, eos_id)


class starts_in_state_zero(_Answer):
    """Automata that start elsewhere give an error or another text: the first state is taken to be 0. It is
    named by "start"."""

    def start(self, automaton, prompt):  # noqa: ARG002 - the mistake
        return 0 if 0 in automaton["transitions"] else min(automaton["transitions"])


class stays_in_the_start_state(_Answer):
    """Every token is chosen as if it were the first: the state does not move on with the tokens. After each
    token it is the one that the transition names."""

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        new = []
        while eos_id not in new:
            steps_left = max_new_tokens - len(new)
            logits = next_logits([*prompt, *new])
            new.append(self.choose(logits, automaton, automaton["start"], steps_left, eos_id))
        return [*prompt, *new]


class moves_on_with_the_prompt(_Answer):
    """The text begins in the middle of the form: the tokens of the prompt have moved the automaton. It is in
    its start state at the first new token."""

    def start(self, automaton, prompt):
        state = automaton["start"]
        for token in prompt:
            state = automaton["transitions"][state].get(token, state)
        return state


class counts_no_steps(_Answer):
    """Texts are cut off at the limit: every step is made as if all `max_new_tokens` were still to come. Each
    token leaves one step less."""

    def steps(self, max_new_tokens, done):  # noqa: ARG002 - the mistake
        return max_new_tokens


class counts_the_prompt_as_steps(_Answer):
    """Long prompts leave no room for a text: their tokens are counted as steps. `max_new_tokens` counts new
    tokens alone."""

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        return super().generate(next_logits, prompt, automaton, max_new_tokens - len(prompt), eos_id)


class takes_one_step_too_many(_Answer):
    """Texts have up to one token more than is allowed: the eos is not counted among the steps of the loop. It
    is a new token too."""

    def steps(self, max_new_tokens, done):
        return max_new_tokens + 1 - done

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        return super().generate(next_logits, prompt, automaton, max_new_tokens + 1, eos_id)


class ends_without_the_eos(_Answer):
    """The eos is missing from the text: the loop is left before it is appended. It belongs to the result."""

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        return super().generate(next_logits, prompt, automaton, max_new_tokens, eos_id)[:-1]


@crude
class returns_only_the_new_tokens(_Answer):
    """The result begins with the first new token: the prompt is missing. What comes back is the prompt and
    what follows it."""

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        return super().generate(next_logits, prompt, automaton, max_new_tokens, eos_id)[len(prompt) :]


class shows_only_the_new_tokens(_Answer):
    """The text does not follow from the prompt: the model is shown the new tokens alone. It takes the list of
    the prompt and all tokens so far."""

    def ask(self, next_logits, prompt, new, *rest):  # noqa: ARG002 - the mistake
        return next_logits(list(new))


class shows_only_the_last_token(_Answer):
    """Every token follows from the one before it alone: the model is shown a list of one id. It takes the
    prompt and all tokens so far."""

    def ask(self, next_logits, prompt, new, *rest):  # noqa: ARG002 - the mistake
        return next_logits([*prompt, *new][-1:])


class shows_only_the_prompt(_Answer):
    """The model is shown the prompt at every step, and never sees what has been written. Ask again with the
    longer list for each token."""

    def ask(self, next_logits, prompt, new, *rest):  # noqa: ARG002 - the mistake
        return next_logits(list(prompt))


class chooses_before_it_masks(_Answer):
    """Where the model's favourite is not possible, the lowest possible token is taken: the argmax is of the
    logits as they came. Choose the most likely of what is kept."""

    def choose(self, logits, automaton, state, steps_left, eos_id):
        kept = self.constrain(logits, automaton, state, steps_left, eos_id) > -math.inf
        favourite = int(logits.argmax())
        return favourite if kept[favourite] else int(kept.nonzero()[0])


class takes_the_first_transition(_Answer):
    """Texts do not depend on the logits: the first possible token of the state is taken. Of those that are
    possible it is the most likely one."""

    def choose(self, logits, automaton, state, steps_left, eos_id):
        self.constrain(logits, automaton, state, steps_left, eos_id)
        return self.kept(automaton, state, steps_left, eos_id)[0]


@crude
class returns_zero_for_what_is_forbidden(_Answer):
    """Forbidden tokens have the logit 0, and where all others are below 0 one of them is chosen: the mask is
    multiplied. A logit of 0 is no small one; the statement asks for -inf."""

    def fill(self, logits, kept):
        result = torch.zeros_like(logits)
        result[kept] = logits[kept]
        return result


class drops_tokens_to_a_large_negative_number(_Answer):
    """Forbidden tokens get a large negative number, which is a possible logit and cannot be told from one.
    The statement asks for -inf."""

    def fill(self, logits, kept):
        return super().fill(logits, kept).clamp(min=-1e9)


class renormalises_what_is_kept(_Answer):
    """Kept logits have changed: they are log-probabilities of what is kept. A kept logit is unchanged; a
    softmax will follow."""

    def fill(self, logits, kept):
        return super().fill(logits, kept).log_softmax(dim=-1)


class raises_the_kept_logits(_Answer):
    """Kept logits have changed: a bonus is added to what is possible. Kept logits are unchanged, and what is
    not possible gets -inf."""

    def fill(self, logits, kept):
        return super().fill(logits, kept) + 100


class returns_the_mask(_Answer):
    """The result holds True and False: it is the mask, and the logits are missing. A kept token has its
    logit, any other -inf."""

    def fill(self, logits, kept):
        return super().fill(logits, kept) > -math.inf

    def choose(self, logits, automaton, state, steps_left, eos_id):
        kept = self.constrain(logits, automaton, state, steps_left, eos_id)
        return int(logits.masked_fill(~kept, -math.inf).argmax())


@subtle
class appends_tensors(_Answer):
    """The text holds tensors of one number: what argmax gives is appended as it is. A text is a list of
    ints."""

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        text = super().generate(next_logits, prompt, automaton, max_new_tokens, eos_id)
        return [*prompt, *(torch.tensor(token) for token in text[len(prompt) :])]


@subtle
class returns_nothing_but_minus_infinity(_Answer):
    """Where no token is possible the result is all -inf, and its argmax is token 0: nothing refuses the
    hopeless state. A ValueError is due, with the reason."""

    def refuse(self, logits):
        return torch.full_like(logits, -math.inf)

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        if self.needed(automaton)[automaton["start"]] > max_new_tokens:
            raise ValueError("no accepted text is so short")
        return super().generate(next_logits, prompt, automaton, max_new_tokens, eos_id)


@subtle
class answers_an_impossible_task(_Answer):
    """Where the automaton accepts no text so short, the prompt comes back: the loop ends as if all were well.
    A result that is not accepted helps no one; a ValueError is due."""

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        try:
            return super().generate(next_logits, prompt, automaton, max_new_tokens, eos_id)
        except ValueError:
            return list(prompt)


@subtle
class generates_one_token_at_least(_Answer):
    """With max_new_tokens of 0 a text of one token comes back: the limit is looked at after the first step.
    No text is so short; a ValueError is due."""

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        return super().generate(next_logits, prompt, automaton, max(max_new_tokens, 1), eos_id)


@subtle
class takes_eos_of_zero_for_none(_Answer):
    """Nothing ends if eos_id is 0: a condition asks whether eos_id is true, and 0 is not. Here there is
    always an eos."""

    def kept(self, automaton, state, steps_left, eos_id):
        kept = super().kept(automaton, state, steps_left, eos_id)
        return [token for token in kept if token != eos_id or eos_id]


@subtle
class lets_the_prompt_end_the_text(_Answer):
    """A prompt whose last id is eos_id gets no text: the last id is looked at before the first step. Only a
    generated eos ends the text."""

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        if prompt[-1] == eos_id:
            return list(prompt)
        return super().generate(next_logits, prompt, automaton, max_new_tokens, eos_id)


@subtle
class looks_for_the_eos_in_the_prompt(_Answer):
    """A prompt that holds eos_id anywhere gets no text: the whole list is searched for it. Only a generated
    eos ends the text."""

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        if eos_id in prompt:
            return list(prompt)
        return super().generate(next_logits, prompt, automaton, max_new_tokens, eos_id)


@subtle
class asks_twice_a_token(_Answer):
    """The text is right, and the model runs twice for each token: once for the mask and once for the choice.
    Ask once and keep the logits."""

    def ask(self, next_logits, prompt, new, *rest):
        super().ask(next_logits, prompt, new, *rest)
        return super().ask(next_logits, prompt, new, *rest)


@subtle
class asks_again_at_the_end(_Answer):
    """The text is right, and the model runs once more after the eos: the next logits are asked for at the end
    of each step. After the eos there is no next token."""

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        text = super().generate(next_logits, prompt, automaton, max_new_tokens, eos_id)
        next_logits(list(text))
        return text


@subtle
class asks_nothing_where_one_token_is_left(_Answer):
    """The text is right, and the model is not asked where one token alone is possible: a shortcut that some
    programs take. Here it is asked once for each new token."""

    def ask(self, next_logits, prompt, new, automaton, state, steps_left, eos_id):
        kept = self.kept(automaton, state, steps_left, eos_id)
        if len(kept) == 1:
            return torch.zeros(max(kept) + 1)
        return next_logits([*prompt, *new])


@subtle
class overwrites_the_logits(_Answer):
    """The caller's logits hold -inf after the call: they are filled in place. Fill a copy."""

    def fill(self, logits, kept):
        return logits.copy_(super().fill(logits, kept))


@subtle
class writes_behind_the_callers_prompt(_Answer):
    """The caller's prompt has grown after the call: the new tokens are appended to the very list that came
    in. Begin with a copy of it."""

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        text = super().generate(next_logits, prompt, automaton, max_new_tokens, eos_id)
        prompt[:] = text
        return prompt


@subtle
class adds_the_eos_to_the_automaton(_Answer):
    """The caller's automaton has transitions for the eos after the call: they were written into its dicts.
    Build a structure of your own."""

    def generate(self, next_logits, prompt, automaton, max_new_tokens, eos_id):
        text = super().generate(next_logits, prompt, automaton, max_new_tokens, eos_id)
        for state in automaton["accepting"]:
            automaton["transitions"][state][eos_id] = state
        return text


@subtle
class keeps_the_distances_of_the_first_automaton(_Answer):
    """The first automaton is right, and a later one with the same states gets its distances: what the look
    ahead has found is kept between calls, by the states alone. Check what the memory depends on."""

    def __init__(self):
        self.found = {}

    def needed(self, automaton):
        key = tuple(sorted(automaton["transitions"]))
        return self.found.setdefault(key, super().needed(automaton))


@subtle
class remembers_what_a_cycle_cut_short(_Answer):
    """Ways that lead through a cycle are forbidden although a text can be finished: a search from state to
    state takes a state that it has on hand for one without an end, and remembers what it found on the way.
    What was found while a state was left out holds for that search alone.
    """

    def needed(self, automaton):
        known = {}

        def search(state, on_hand):
            if state in known or state in on_hand:
                return known.get(state, math.inf)
            further = [search(after, {*on_hand, state}) for after in automaton["transitions"][state].values()]
            ends = [1] if state in automaton["accepting"] else []
            known[state] = min([*ends, *(1 + steps for steps in further)], default=math.inf)
            return known[state]

        return {state: search(state, set()) for state in automaton["transitions"]}


@subtle
class chooses_in_float32(_Answer):
    """Where float64 logits lie close together, a token is chosen that is not the most likely: they are cast
    to float32 before the argmax."""

    def choose(self, logits, automaton, state, steps_left, eos_id):
        return int(self.constrain(logits, automaton, state, steps_left, eos_id).float().argmax())
