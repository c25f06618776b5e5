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
        "layers": (2, 3, 4, 6, 8, 12, 5, 10),
        "batch": (3, 2, 5, 4, 2, 3, 6, 4),
        "tokens": (50, 90, 70, 33, 120, 45, 100, 28),
        "heads": (8, 12, 8, 16, 12, 16, 9, 10),
        "group": (4, 3, 2, 4, 6, 8, 3, 5),
        "d_head": (16, 32, 64, 8, 16, 32, 64, 16),
        "window": (32, 24, 16, 64, 48, 20, 40, 64),
        "page": (16, 16, 8, 4, 32, 8, 16, 8),
        "head": (5, 7, 3, 9, 8, 10, 7, 6),
        "value": (0.3, -0.5, 0.7, -0.2, 0.9, -1.1, 0.45, -0.62),
        "largest": (1.1, 1.7, 2.3, 0.9, 2.9, 3.3, 1.3, 2.1),
        "target": (0.12, 0.6, 0.2, 0.3, 0.08, 0.5, 0.15, 0.24),
        "draft": (0.4, 0.35, 0.5, 0.8, 0.32, 0.2, 0.6, 0.9),
        "rank": (4, 8, 2, 16, 4, 8, 2, 6),
        "d_in": (64, 96, 128, 80, 256, 72, 48, 160),
        "d_out": (128, 64, 96, 240, 64, 144, 192, 32),
    },
)
