"""Write texts for students: wrapped, escaped, within bounds."""
