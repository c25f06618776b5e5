"""Files of answer keys: what a course's solutions answer, without the solutions."""
