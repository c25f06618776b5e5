"""Questions on parameters: what each part of a GPT holds, and what training it takes."""

from grader.kata import Kata

KATA = Kata(
    "parameter_questions",
    track="concepts",
    title="Where a GPT's numbers are, counted",
    source="Radford et al. 2019; Ainslie et al. 2023, section 2",
    hints=(
        "Write down each matrix with its shape, and each bias with its length.",
        "The number of heads changes nothing unless a question has `kv_heads`.",
        "A tied matrix is one matrix, however often it is used.",
    ),
    questions={
        "EMBEDDINGS": (
            "Both tables count.",
            "Each table has one vector of the width d_model for each of its entries.",
        ),
        "ATTENTION": (
            "Every linear layer of the attention counts.",
            "Queries, keys, values and the output: four linear layers from d_model to d_model, each with "
            "its bias.",
        ),
        "FEED_FORWARD": (
            "The feed-forward has two layers with unequal biases.",
            "One layer leads from d_model to d_ff, the other one back; how long is each bias?",
        ),
        "LAYER_NORM": (
            "A layer norm learns vectors as wide as a token.",
            "Which two vectors does a layer norm learn?",
        ),
        "BLOCK": (
            "A pre-norm block has two layer norms.",
            "Add the attention, the feed-forward and the layer norms before them.",
        ),
        "MODEL": (
            "The tied matrix counts once.",
            "Both tables, all blocks, the last layer norm; what does the tied output layer add?",
        ),
        "GROUPED_ATTENTION": (
            "Only keys and values get narrower.",
            "What is the width of all keys of one token, and which of the four matrices have it?",
        ),
        "TRAINING_BYTES": (
            "Training holds more than the weights.",
            "How many numbers of four bytes does training keep for each parameter?",
        ),
    },
    numbers={
        "vocab": (1200, 2000, 800, 2000, 3000, 2000, 1200, 1500),
        "positions": (256, 512, 200, 256, 256, 64, 128, 100),
        "d_model": (72, 80, 96, 108, 120, 84, 72, 72),
        "d_ff": (288, 320, 384, 432, 480, 336, 288, 288),
        "heads": (8, 16, 16, 12, 12, 12, 8, 8),
        "kv_heads": (2, 2, 2, 2, 2, 3, 4, 2),
        "layers": (5, 6, 5, 3, 3, 2, 3, 6),
        "weights": (1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000),
    },
)
