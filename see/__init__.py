"""What `grade see` shows of this course: the decoder that a student's functions make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dojo_show.answers import Answers
from dojo_show.demonstration import Demonstration, Recording, recorded
from dojo_show.sections import Section
from dojo_show.speech import recorded_speech

from .decoder import TEXTS, Sections
from .example import example_of
from .experiments import train_norms
from .speech import SPEECH

KATAS = {
    "token_embedding": ("embed",),
    "sinusoidal_positions": ("sinusoidal_positions",),
    "softmax": ("softmax",),
    "causal_mask": ("causal_mask",),
    "scaled_dot_product_attention": ("scaled_dot_product_attention",),
    "head_split_merge": ("split_heads", "merge_heads"),
    "multi_head_attention": ("multi_head_attention",),
    "cross_attention": ("cross_attention",),
    "layer_norm": ("layer_norm",),
    "feed_forward": ("feed_forward",),
    "decoder_layer": ("decoder_layer",),
    "decoder_stack": ("decoder_stack",),
    "next_token": ("next_token",),
    "parameter_count": ("parameter_count",),
    "temperature_sampling": ("sample",),
    "top_k": ("top_k_filter",),
    "top_p": ("top_p_filter",),
    "min_p": ("min_p_filter",),
    "greedy_generate": ("generate",),
    "beam_search": ("beam_search",),
    "kv_cache": ("KVCache", "cached_attention"),
    "softmax_cross_entropy_backward": ("softmax_cross_entropy_backward",),
    "layer_norm_backward": ("layer_norm_backward",),
    "attention_backward": ("attention_backward",),
}


def show(answers: Answers, recording: Recording, text: str | None) -> list[Section]:
    """Run the decoder on a text, or on the support reply if there is none, and return all sections."""
    return Sections(answers, recording, example_of(text)).all()


def record(answers: Answers) -> dict[str, Any]:
    """Run the decoder on the reply, train the small models, and return what they gave."""
    run = Sections(answers, {}, example_of())
    run.all()
    steps = {name: step for name, step in run.steps.items() if not name.startswith("compare/")}
    return {"norms": train_norms(), "speech": recorded_speech(SPEECH, answers), "steps": recorded(steps)}


#: What a first pass lets one see, and in which section.
MILESTONES = {
    "sinusoidal_positions": ("Your positions have their clock hands. See each column turn", "embeddings"),
    "causal_mask": ("Your mask works. See what it hides", "attention"),
    "multi_head_attention": ("Your heads attend. See where each looks", "stack"),
    "next_token": ("Your decoder chooses. See between which tokens", "next"),
    "top_p": ("Your nucleus is cut. Move p and see what stays", "choice"),
    "beam_search": ("Your search keeps the best. See its tree", "search"),
    "kv_cache": ("Your cache holds the past. See what a step saves", "cache"),
    "softmax_cross_entropy_backward": ("Your gradient points uphill. See a loss fall by it", "training"),
    "attention_backward": ("Your attention learns. See its loss beside that of a bigram", "training"),
}

SEE = Demonstration(KATAS, TEXTS["titles"], show, record, Path(__file__).parent, SPEECH, MILESTONES)
