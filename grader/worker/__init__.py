"""Start worker processes, send them calls, and run submissions in them.

The code inside a worker process (`child` and `protocol`) imports only the standard library and the array
library, so that it can be reviewed on its own.
"""
