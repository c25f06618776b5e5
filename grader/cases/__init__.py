"""Where cases and expected answers come from."""
