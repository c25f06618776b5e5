"""The parts make a whole: a Transformer built from the references learns to translate."""

from pathlib import Path

import pytest

from grader.course.catalog import Course, load_file

COURSE = Course(Path(__file__).resolve().parents[2])
PAIRS = [
    ("Today is sunday", "Hoje é domingo"),
    ("Today is monday", "Hoje é segunda"),
    ("Tomorrow is sunday", "Amanhã é domingo"),
    ("Tomorrow is monday", "Amanhã é segunda"),
]
PAD, START, EOS = range(3)
STEPS = 60


def reference(name):
    return load_file(f"whole_{name}", COURSE.solution(COURSE.kata_info(name), "reference"))


def vocabulary(sentences):
    words = dict.fromkeys(word for sentence in sentences for word in sentence.split())
    return {word: number for number, word in enumerate(words, start=EOS + 1)}


SOURCE = vocabulary(source for source, _ in PAIRS)
TARGET = vocabulary(target for _, target in PAIRS)


@pytest.fixture(scope="module")
def translator():
    """A tiny encoder-decoder after a few steps of teacher forcing."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    torch.manual_seed(7)
    src = torch.tensor([[SOURCE[word] for word in source.split()] for source, _ in PAIRS])
    goal = torch.tensor([[TARGET[word] for word in target.split()] + [EOS] for _, target in PAIRS])
    given = torch.from_numpy(reference("shift_right").shift_right(goal.numpy(), START))
    model = reference("transformer").Transformer(
        EOS + 1 + len(SOURCE), EOS + 1 + len(TARGET), 32, 4, 64, 1, dropout=0.0, pad_id=PAD
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(STEPS):
        loss = torch.nn.functional.cross_entropy(model(src, given).flatten(0, 1), goal.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def translated(model, sentence):
    """The sentence put through the reference's own loop, a token at a time."""
    import torch

    src = torch.tensor([[SOURCE[word] for word in sentence.split()]])
    names = {number: word for word, number in TARGET.items()} | {EOS: "EOS"}

    def next_logits(ids):
        with torch.no_grad():
            return model(src, torch.tensor([ids]))[0, -1].numpy()

    ids = reference("translation_loop").translate(next_logits, START, EOS, max_steps=8)
    return " ".join(names[number] for number in ids[1:])


@pytest.mark.slow
@pytest.mark.parametrize(("sentence", "meaning"), PAIRS)
def test_a_trained_transformer_translates(translator, sentence, meaning):
    assert translated(translator, sentence) == f"{meaning} EOS"
