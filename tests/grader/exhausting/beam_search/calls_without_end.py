"""Calls a function of the grader in an endless loop, with as many tokens as the codec allows."""

import torch


def beam_search(next_log_probs, prompt, beam_size, max_new_tokens, eos_id):
    while True:
        next_log_probs(torch.zeros(2**6, 2**7, dtype=torch.int64))
