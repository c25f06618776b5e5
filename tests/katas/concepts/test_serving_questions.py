"""Questions on serving: caches, pages, grouped heads, int8, LoRA and speculative sampling."""

from grader.kata import Kata

KATA = Kata(
    "serving_questions",
    track="concepts",
    title="What serving a model costs",
    source="Kwon et al. 2023, section 4; Ainslie et al. 2023",
    hints=(
        "A cache holds keys and values: two numbers for each feature, token, layer and head of keys and "
        "values.",
        "Pages are handed out whole: the last one of a text is rarely full.",
        "int8 with a scale for the largest magnitude maps that magnitude to 127.",
    ),
    questions={
        "CACHE": (
            "The cache holds keys and values of the shared heads.",
            "Count keys and values, in each layer, for each token, for each head that they have.",
        ),
        "ROLLING_CACHE": (
            "A rolling cache holds at most a window.",
            "How many tokens of one text can a later query still see, and are there as many?",
        ),
        "PAGES": (
            "The last page may be only begun.",
            "Divide, and mind the remainder.",
        ),
        "UNUSED_SLOTS": (
            "Only the last page has empty slots.",
            "Subtract the tokens from all slots of the pages.",
        ),
        "KEY_HEAD": (
            "Neighbouring query heads share a head of keys.",
            "Which query heads make up the first group, and which the second?",
        ),
        "INT8": (
            "The scale maps the largest magnitude to 127.",
            "Divide the value by the scale and round to the nearest integer.",
        ),
        "ACCEPTED": (
            "A token that the target likes better is always accepted.",
            "Compare the two probabilities: how much too often does the draft propose this token?",
        ),
        "LORA": (
            "LoRA trains two thin matrices.",
            "Which two matrices does LoRA train, and what are their shapes?",
        ),
    },
    numbers={
        "layers": (5, 5, 5, 4, 10, 10, 5, 4),
        "batch": (6, 2, 4, 5, 4, 3, 4, 3),
        "tokens": (47, 41, 94, 33, 109, 102, 77, 33),
        "heads": (28, 42, 14, 14, 30, 20, 42, 42),
        "group": (4, 6, 2, 2, 6, 4, 6, 6),
        "d_head": (64, 16, 64, 16, 8, 64, 16, 32),
        "window": (24, 24, 32, 40, 24, 48, 48, 48),
        "page": (32, 8, 8, 8, 16, 16, 32, 16),
        "head": (14, 30, 12, 11, 9, 12, 24, 39),
        "value": (1.05, 2.03, 0.8, 1.31, 1.59, 0.85, 0.87, 1.11),
        "largest": (1.5, 3.0, 0.9, 1.7, 1.7, 0.9, 0.9, 1.5),
        "target": (0.15, 0.15, 0.24, 0.24, 0.2, 0.2, 0.24, 0.08),
        "draft": (0.9, 0.25, 0.2, 0.5, 0.8, 0.9, 0.2, 0.6),
        "rank": (2, 2, 4, 8, 16, 2, 6, 4),
        "d_in": (96, 96, 128, 64, 48, 80, 48, 80),
        "d_out": (240, 144, 240, 240, 72, 192, 72, 240),
    },
)
