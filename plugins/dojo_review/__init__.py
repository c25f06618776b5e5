"""`grade review`: find and mend one fault in an answer of your own that has passed."""
