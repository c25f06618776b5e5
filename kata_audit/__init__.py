"""`kata audit`: measure what the tests of any homework catch.

    homework       find the solution and the tests; a copy of the folder
    cells          notebooks and otter's tests as lists of cells
    pool, server   run jobs on all cores, each in a fork with a copy of its own
    confine        what a fork may not do
    driver         run the tests inside a fork; `tracing` records lines and calls
    worlds, drawing, comparing, witness   search for an input on which two versions differ
    submissions    last year's answers
    writing        tests that catch what was missed
    audit          one run from the folder to the report; `report` and `shown` render it

The process that reports never loads code of the homework. All of it runs in forks of a server.
"""
