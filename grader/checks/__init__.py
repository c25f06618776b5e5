"""Run the built-in checks and the laws of a kata."""
