from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 1


@test_case(points=1, hidden=False)
def test_ends(exponential, np):
    got = exponential(np.array([1.0, 1.0, 1.0]), 0.5)
    assert got[0] == 1.0
    assert len(got) == 3
