"""`kata audit`: measure what the tests of any homework catch. `kata import` is its last page.

    homework       find the solution and the tests; a copy of the folder
    pool, server   run jobs on all cores, each in a confined fork with a copy of its own
    driver         run the tests inside a fork, and record lines and calls
    versions       run calls in one version of the homework
    search         search for calls to which two versions answer differently
    writing        tests that catch what was missed, and drafts of mistakes
    drafting       what becomes a kata
    audit          one run from the folder to the report, with last year's submissions; `report` renders it
    command        the options, progress and exit codes

The process that reports never loads code of the homework. All of it runs in forks of a server.
"""
