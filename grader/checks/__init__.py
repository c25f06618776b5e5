"""What is judged: the built-in checks and the laws of a kata, and how they are run."""
