"""What is read of a text that a student wrote, without running it: pure functions of the standard library.

`answers.answered` is the one way in. It runs in a child process with limits of CPU time and of memory: in the
worker that judges the answer afterwards, or in a reader (`grader.worker.reader`). The trusted end gets plain
data from it, and no syntax tree.
"""
