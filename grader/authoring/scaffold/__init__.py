"""`kata new`: the files of a kata, each with a part that works."""
