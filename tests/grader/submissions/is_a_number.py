"""Binds the entry point to a number."""

softmax = 1
