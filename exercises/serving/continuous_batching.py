"""Continuous batching: requests join and leave the batch at every step.

Requests reach a server at any time, with prompts of all lengths. A batch that stays
together until its longest text has ended lets short requests wait, and keeps new ones
out. So the batch is made anew for each run of the model: what has ended leaves, what
has arrived joins. A long prompt would still delay the next token of everybody else. So
a step processes at most `token_budget` tokens, and a prompt that does not fit is read
in chunks, over several steps.

You write the scheduler. The model is given, and keeps the keys and values of all tokens
that it has processed. A batch is a list of entries, at most one for each request:

    (request, start, tokens)    the place in `requests`; how many tokens of this request
                                the model has processed before; the next ones, a list

The model answers with a list of ints: for each entry the most likely token after the
last one of the entry. Steps are numbered 0, 1, 2, ... and each goes like this:

    1  Requests take part from the step of their arrival on, until they have ended.
    2  A request whose prompt was read whole in earlier steps has an entry with one
       token, the one that it generated last (a decode).
    3  What is left of the budget goes to the other prompts, in order of arrival: each
       gets all that is left, or all that it still needs where this is less. A prompt
       for which nothing is left has no entry.
    4  The model is called once with all entries. If there is none it is not called, and
       the step passes.
    5  The answer to a decode, and to an entry that holds the last token of a prompt, is
       the next token of the request. The answer to another chunk is not used.
    6  A request ends with a generated `eos_id`, which it keeps, or with its last token
       by `max_new_tokens`. An eos in a prompt ends nothing.

In order of arrival a smaller step comes first; of the same step, what stands first in
`requests`. All decodes fit into the budget, since each of these requests had a token in
the step before as well. Each token of a prompt is processed once, each generated one
too, but for the last of a request, which is never shown. Each text is what its prompt
gives alone.

Example: token_budget 4, eos_id None. The answers that are used are 2 and 3 for request
0, then 2 and 5 for request 1, and 6 for request 2.

    requests = [(0, [5, 6, 7], 2), (0, [8, 9, 8, 9], 2), (1, [4], 1)]

    step 0    (0, 0, [5, 6, 7])   (1, 0, [8])           one token is left for request 1
    step 1    (0, 3, [2])         (1, 1, [9, 8, 9])     request 0 ends; 2 has to wait
    step 2    (1, 4, [2])         (2, 0, [4])           requests 1 and 2 end

The result is ([[2, 3], [2, 5], [6]], [1, 2, 2]).

(A report shows a model as a `table`: which of its numbers is the answer depends on all
tokens of the request up to the last one of the entry, and on their order.)

Elsewhere: Orca reads each prompt whole, and limits the number of requests instead of
the tokens. Sarathi-Serve orders as here: decodes, prompts that have begun, new ones.
Servers also send a request back when the cache is full; here it has room for all.

What goes wrong: decodes wait for a long prompt; the answer to half a prompt becomes a
token; short prompts overtake a long one, which then waits for ever; tokens are shown
twice.

Edge cases with their own checks: an eos_id of 0, requests that are not in order of
arrival, steps in which there is nothing to do.

Not graded: the order of the entries in a batch, tuples or lists.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Yu et al. 2022, "Orca: A Distributed Serving System for Transformer-Based
Generative Models" (iteration-level scheduling); Agrawal et al. 2024, "Taming
Throughput-Latency Tradeoff in LLM Inference with Sarathi-Serve" (budget and chunks).
"""

from collections.abc import Callable


def continuous_batching(
    model: Callable[[list[tuple[int, int, list[int]]]], list[int]],
    requests: list[tuple[int, list[int], int]],
    token_budget: int,
    eos_id: int | None = None,
) -> tuple[list[list[int]], list[int]]:
    """Serve all requests with the model.

    model:        called as model(batch), at most once a step; see above.
    requests:     one or more, each (arrival, prompt, max_new_tokens): the step in which
                  it arrives, 0 or more; a list of ids, at least one; and the most
                  tokens that it gets, at least 1. They may stand in any order.
    token_budget: the most tokens that a step processes, prompts and decodes together.
    eos_id:       the token that ends a request once it is generated; None: none does.
    returns:      a list of the generated tokens of each request, without the prompt;
                  and a list of the steps in which they ended. Both are in the order of
                  `requests`.

    Raises ValueError where token_budget is below 1. `requests` stays as it is.
    """
    raise NotImplementedError
