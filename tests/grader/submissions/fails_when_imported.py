"""Cannot be imported."""

raise RuntimeError
