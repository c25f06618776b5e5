"""Everything that runs beside a submission, and the two ends of the channel to it.

The child's side (`codec`, `channel`, `executor`, `measures`, `sandbox`, `rules`, `child`) imports the
standard library and the array library alone, so that it can be read, and trusted, by itself.
"""
