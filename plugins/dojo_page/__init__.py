"""The course as a page in the browser: the same files, the same judge."""
