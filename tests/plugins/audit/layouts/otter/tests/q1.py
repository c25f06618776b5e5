OK_FORMAT = True

test = {
    "name": "q1",
    "points": 2,
    "suites": [
        {
            "cases": [
                {
                    "code": r"""
                    >>> moving_average(np.array([1.0, 2.0, 3.0]), 2)
                    array([1.5, 2.5])
                    """,
                    "hidden": False,
                    "locked": False,
                },
                {
                    "code": r"""
                    >>> np.allclose(moving_average(np.ones(5), 3), 1)
                    True
                    >>> moving_average(np.arange(6.0), 1).shape
                    (6,)
                    """,
                    "hidden": True,
                    "locked": False,
                },
            ],
            "scored": True,
            "setup": "",
            "teardown": "",
            "type": "doctest",
        }
    ],
}
