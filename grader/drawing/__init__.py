"""Draw the pictures of a report, as text or as SVG. Pure Python; imported only if something is drawn."""
