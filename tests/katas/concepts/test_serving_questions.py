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
        "layers": (6, 6, 3, 10, 3, 7, 10, 8),
        "batch": (4, 6, 2, 3, 5, 5, 4, 4),
        "tokens": (31, 116, 68, 82, 63, 79, 37, 46),
        "heads": (6, 30, 20, 20, 8, 30, 20, 6),
        "group": (2, 6, 4, 4, 2, 6, 4, 2),
        "d_head": (16, 64, 32, 8, 8, 16, 8, 32),
        "window": (24, 24, 24, 32, 32, 48, 40, 64),
        "page": (32, 32, 16, 16, 32, 8, 8, 32),
        "head": (4, 20, 9, 17, 6, 20, 18, 4),
        "value": (0.84, 2.53, 0.3, 0.25, -0.03, 2.96, 1.43, 0.64),
        "largest": (0.9, 3.0, 1.5, 1.3, 1.0, 3.2, 1.5, 1.3),
        "target": (0.15, 0.15, 0.24, 0.24, 0.2, 0.2, 0.24, 0.08),
        "draft": (0.9, 0.25, 0.2, 0.5, 0.8, 0.9, 0.2, 0.6),
        "rank": (2, 2, 4, 8, 16, 2, 6, 4),
        "d_in": (96, 96, 128, 64, 48, 80, 48, 80),
        "d_out": (240, 144, 240, 240, 72, 192, 72, 240),
    },
)
