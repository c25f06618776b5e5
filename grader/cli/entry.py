"""The entry points of `grade` and `kata`: while their modules are imported, Ctrl-C ends them without a word.

Once a command runs, Ctrl-C raises KeyboardInterrupt, so that workers are ended: see `options.guarded`.
"""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a job in the background ignores it
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def grade() -> None:
    """Run `grade`."""
    from grader.cli.grade import main

    main()


def kata() -> None:
    """Run `kata`."""
    from grader.cli.kata import kata as command

    command()


if __name__ == "__main__":
    import sys

    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder, which `-m` puts there and where a submission may lie
    grade()
