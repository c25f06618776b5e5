"""Questions on attention: shapes, what sums to one, and which keys a query sees."""

from grader.kata import Kata

KATA = Kata(
    "attention_questions",
    track="concepts",
    title="Shapes and masks of attention, predicted",
    source="Vaswani et al. 2017, sections 3.2 and 3.5",
    hints=(
        "Write the shape of every intermediate result under the formula, from x to the output.",
        "Draw the mask: one row for each new token, one column for each key, the cached ones first.",
        "The position of the new token number `query` is cached + query; all masks follow from it.",
    ),
    questions={
        "SHAPE_OF_Q": (
            "The queries have one matrix for each head.",
            "Start from [batch, queries, d_model] and say what the split does to the last axis.",
        ),
        "SHAPE_OF_SCORES": (
            "There is one score for each query and key.",
            "The scores compare each query with each key, in each head; how many keys are there, the cache "
            "included?",
        ),
        "SCALE": (
            "The scale belongs to the width of one head.",
            "The scale makes up for the number of terms in one dot product of a query and a key.",
        ),
        "ROWS_THAT_SUM_TO_ONE": (
            "Each query has one distribution in each head.",
            "Along which axis does the softmax run, and how many slices does that leave?",
        ),
        "VISIBLE_KEYS": (
            "The causal mask ends at the query's own position.",
            "At which position does the query stand, counted with the cached tokens?",
        ),
        "WINDOW_KEYS": (
            "The window holds exactly `window` keys, the query's own the last.",
            "Count the keys in your answer, and look at the last one.",
        ),
        "UNPADDED_KEYS": (
            "Padding is hidden, and the causal mask stays.",
            "Two masks apply at once: the causal one, and the one of the padding. Where does the padding "
            "stand?",
        ),
        "POSITION_ID": (
            "Padding does not move the words' positions.",
            "How many words stand before the token?",
        ),
    },
    numbers={
        "batch": (5, 7, 3, 3, 5, 2, 3, 3),
        "heads": (8, 8, 4, 4, 2, 8, 6, 4),
        "queries": (4, 5, 5, 5, 6, 5, 5, 5),
        "cached": (7, 9, 9, 8, 8, 9, 9, 8),
        "d_model": (112, 80, 80, 40, 24, 96, 144, 56),
        "query": (1, 1, 1, 1, 1, 1, 1, 1),
        "window": (3, 4, 5, 5, 4, 5, 4, 5),
        "pads": (2, 3, 2, 2, 3, 3, 2, 2),
    },
)
