"""`grade probe`: find an input that tells a right function from a wrong one."""
