"""Generate the cases of a kata, and compute and cache the reference's answers to them."""
