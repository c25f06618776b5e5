"""`kata new`: write the files of a new kata, each a draft that already runs."""
