"""The model that speaks: a small GPT made of the course's functions, which tells stories."""

from __future__ import annotations

from dojo_show.speech import Setting, Speech, Switch, Way

from .decoder import Decoder

SPEECH = Speech(
    parts={
        "token_embedding": ("embed",),
        "causal_mask": ("causal_mask",),
        "multi_head_attention": ("multi_head_attention",),
        "layer_norm": ("layer_norm",),
        "feed_forward": ("feed_forward",),
        "next_token": ("next_token",),
    },
    more={
        "temperature_sampling": ("sample",),
        "top_k": ("top_k_filter",),
        "top_p": ("top_p_filter",),
        "min_p": ("min_p_filter",),
        "kv_cache": ("KVCache", "cached_attention"),
        "mini_gpt": ("MiniGPT",),
    },
    switches={
        "mask": Switch("the mask", "each token also sees those behind it, as it never did in training."),
        "scale": Switch(
            "the scale", "the scores are four times as large, so each head sees one token alone."
        ),
        "positions": Switch("the positions", "a token is the same wherever it stands, so the order is lost."),
        "norm": Switch(
            "layer norm", "the numbers grow from layer to layer, and no layer knows such numbers."
        ),
        "heads": Switch("heads joined right", "what one head has read goes where another one's belongs."),
    },
    settings={
        "temperature": Setting(
            "temperature_sampling", 0.0, 2.0, 0.1, "draw each token; 0 takes the likeliest"
        ),
        "top_k": Setting("top_k", 1, 40, 1, "keep the k likeliest tokens"),
        "top_p": Setting("top_p", 0.05, 1.0, 0.05, "keep the likeliest tokens that share p"),
        "min_p": Setting("min_p", 0.0, 1.0, 0.05, "keep tokens with this share of the likeliest's"),
        "seed": Setting("temperature_sampling", 0, 9999, 1, "draw other tokens"),
    },
    ways={
        "cache": Way(("kv_cache",), "attention with your cache: only the new token runs through the layers"),
        "whole": Way(("mini_gpt",), "your whole model, with the same weights"),
    },
    lessons={
        "token_embedding": "positions",
        "causal_mask": "mask",
        "multi_head_attention": "heads",
        "layer_norm": "norm",
    },
    prompt="The small boat",
    writer=Decoder,
)
