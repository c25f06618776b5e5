"""`kata mistakes`: draft the mistakes of a kata. An author reads each draft before a student is told it."""
