"""Show the decoder that a student's functions make: `grade --see`, as a page and as text."""
