"""The page of `grade --see` in a real browser."""

import pytest

pytestmark = pytest.mark.slow


def test_the_browser_shows_a_page_in_light_colours(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<title>A page</title>")
    browser.get(page.as_uri())
    assert browser.title == "A page"
    assert browser.execute_script(
        "return [innerWidth, matchMedia('(prefers-color-scheme: light)').matches]"
    ) == [1280, True]
