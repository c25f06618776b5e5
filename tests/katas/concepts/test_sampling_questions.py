"""Questions on sampling: what temperature, top-k, top-p, min-p and a penalty do to a distribution."""

from grader.kata import Kata

KATA = Kata(
    "sampling_questions",
    track="concepts",
    title="What a filter does to a distribution",
    source="Holtzman et al. 2020, sections 3 and 4",
    hints=(
        "Compute exp of each logit, then divide by their sum; sort the result once, and keep it beside you.",
        "The temperature divides the logits, before the exponentials.",
        "For top-p add up the probabilities from the likeliest down, and stop as soon as the sum reaches p.",
    ),
    questions={
        "GREEDY": (
            "Greedy decoding takes the most likely token.",
            "Which logit is the largest, and which index has it, counted from 0?",
        ),
        "PROBABILITY": (
            "The softmax makes logits into probabilities.",
            "Divide exp of its logit by the sum of exp of all logits.",
        ),
        "AT_TEMPERATURE": (
            "The temperature divides the logits.",
            "Divide every logit by the temperature first, then take the softmax.",
        ),
        "AFTER_TOP_K": (
            "The tokens kept by top-k sum to one again.",
            "Keep the k likeliest tokens, and divide by the sum of what is kept.",
        ),
        "NUCLEUS": (
            "The nucleus is the smallest set whose mass is at least p.",
            "Add up from the likeliest token down; the token that takes the sum to p or past it is still "
            "kept.",
        ),
        "AFTER_MIN_P": (
            "The threshold of min-p moves with the largest probability.",
            "A token is kept if its probability is at least min_p times the largest one.",
        ),
        "PENALISED": (
            "A penalty makes a token less likely, whatever its sign.",
            "Look at the sign of the logit: which of dividing and multiplying makes it smaller?",
        ),
        "LIMIT": (
            "A high temperature makes the distribution uniform.",
            "What do all logits become when they are divided by a huge number?",
        ),
    },
    numbers={
        "logits": (
            (3.0, 2.8, -1.4, 0.9, 1.9, 2.3),
            (2.5, -0.5, 2.9, 1.1, -0.2, 1.8),
            (1.5, -0.6, 0.6, 2.9, 2.2),
            (2.1, 2.7, 0.4, -1.4, 1.6, 1.3),
            (-2.0, 2.5, 0.8, 3.1, 2.0, -1.4),
            (-1.4, 2.4, 2.3, -1.1, 3.0, 1.6),
            (2.0, 1.5, -0.8, 1.8, 0.7, 2.5),
            (-1.0, 0.8, 1.5, 2.7, -0.8, 0.6),
        ),
        "temperature": (2.5, 0.5, 1.6, 1.6, 1.6, 1.6, 1.6, 0.8),
        "k": (2, 2, 3, 4, 2, 2, 4, 2),
        "p": (0.85, 0.85, 0.85, 0.75, 0.7, 0.8, 0.85, 0.7),
        "min_p": (0.25, 0.3, 0.2, 0.3, 0.2, 0.3, 0.2, 0.25),
        "penalty": (1.2, 1.25, 1.25, 1.8, 1.25, 1.3, 1.6, 1.3),
        "seen": (2, 3, 1, 0, 2, 3, 0, 4),
    },
)
