"""Decoder Dojo: Transformer-decoder katas and the grader that judges them."""

__version__ = "0.1.0"
