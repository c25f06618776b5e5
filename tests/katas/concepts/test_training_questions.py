"""Questions on training: the loss, the schedule, clipping, and which fault causes which symptom."""

from grader.kata import Kata

KATA = Kata(
    "training_questions",
    track="concepts",
    title="Losses, schedules and symptoms",
    source="Vaswani et al. 2017, section 5; Pascanu et al. 2013",
    hints=(
        "A uniform guess gives each token the probability 1 / vocab.",
        "Reading all but the last id and predicting all but the first leaves tokens - 1 targets in each "
        "sequence.",
        "For each symptom ask when it shows: before training, in training, or only in generation.",
    ),
    questions={
        "LOSS_AT_START": (
            "The loss of a uniform guess follows from the size of the vocabulary.",
            "The loss is minus the logarithm of the probability of the right token; what is that "
            "probability here?",
        ),
        "PERPLEXITY": (
            "The perplexity is exp of the mean loss.",
            "Which function undoes the natural logarithm?",
        ),
        "TERMS_OF_THE_LOSS": (
            "The loss averages the targets that are not padding.",
            "How many targets has one sequence, and which of them does the loss leave out?",
        ),
        "LEARNING_RATE": (
            "The warmup is a straight line through 0.",
            "Which part of the warmup has passed at this step?",
        ),
        "CLIPPING_FACTOR": (
            "Clipping shrinks large gradients and leaves small ones.",
            "Compare the norm with the limit first.",
        ),
        "FIRST_FAULT": (
            "The first symptom belongs to this fault.",
            "Which fault could show at that time, and in that way?",
        ),
        "SECOND_FAULT": (
            "The second symptom belongs to this fault.",
            "Which fault could show at that time, and in that way?",
        ),
        "THIRD_FAULT": (
            "The third symptom belongs to this fault.",
            "Which fault could show at that time, and in that way?",
        ),
    },
    numbers={
        "vocab": (50, 100, 200, 400, 1000, 2000, 5000, 8000),
        "batch": (8, 4, 16, 6, 12, 32, 10, 24),
        "tokens": (17, 33, 9, 21, 13, 26, 41, 11),
        "pads": (5, 7, 11, 9, 6, 20, 13, 15),
        "loss": (2.1, 3.2, 1.7, 2.6, 3.7, 1.4, 2.9, 2.3),
        "step": (30, 250, 40, 120, 75, 600, 90, 500),
        "warmup": (100, 1000, 200, 400, 500, 1500, 300, 2000),
        "peak": (0.001, 0.0006, 0.002, 0.0004, 0.003, 0.0008, 0.0005, 0.0012),
        "norm": (4.0, 0.5, 2.5, 8.0, 0.8, 5.0, 3.2, 0.6),
        "limit": (0.5, 2.0, 2.0, 0.4, 1.6, 2.5, 0.8, 1.5),
        "symptoms": ("PQR", "STU", "RPS", "UQT", "QSP", "TRU", "SUQ", "PTR"),
    },
)
