"""The code that runs in the worker process together with the submission."""
