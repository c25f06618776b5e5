"""The protocol between the grader and a worker: frames, encoding and messages."""
