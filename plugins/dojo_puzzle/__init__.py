"""`grade puzzle`: put the lines of a kata's reference in order, where its hints were not enough."""
