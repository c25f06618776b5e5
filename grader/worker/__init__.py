"""Everything that runs beside a submission, and the two ends of the channel to it.

The child's side (`child`, `executor`, `measures`, `pretence`, `rules`, `sandbox`, `channel`, `codec` and what
they import) needs the standard library and the array library alone, so that it can be read, and trusted,
by itself.
"""
