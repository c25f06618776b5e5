"""Where the cache lies."""

from pathlib import Path

from grader.course.files import cache_folder


def test_the_cache_is_where_the_user_wants_it(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "decoder-dojo"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "decoder-dojo"


def test_a_user_without_a_home_has_a_folder_of_the_system_s(monkeypatch, tmp_path):
    def homeless(_):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", classmethod(homeless))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert cache_folder() == tmp_path / "decoder-dojo"
