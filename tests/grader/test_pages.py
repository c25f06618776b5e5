"""Memory is gathered in large pages, and holds what it held."""

import subprocess
import sys

import pytest

from grader.cohort import pages

GATHERING = """
from pathlib import Path
held = [bytes([number]) * (1 << 20) + bytes(7) for number in range(24)]
from grader.cohort.pages import GATHERED, gather
assert held == [bytes([number]) * (1 << 20) + bytes(7) for number in range(24)]
rollup = Path("/proc/self/smaps_rollup").read_text()
print(GATHERED, int(rollup.split("AnonHugePages:")[1].split()[0]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there are no such pages elsewhere")
def test_memory_holds_what_it_held():
    told = subprocess.run([sys.executable, "-c", GATHERING], capture_output=True, text=True, check=True)
    gathered, kibibytes = map(int, told.stdout.split())
    assert kibibytes >= 2048 * gathered


def test_a_large_page_lies_within_written_memory_of_its_own():
    maps = """\
000000200000-000000800000 rw-p 00000000 00:00 0
000000a00001-000000e00000 rw-p 00000000 00:00 0                          [heap]
000001000000-000001400000 r--p 00000000 00:00 0
000001400000-000001800000 rw-s 00000000 00:00 0
000001800000-000001c00000 rw-p 00000000 00:00 0                          /usr/lib/libc.so
000001c00000-000001dfffff rw-p 00000000 00:00 0
000002000000-000002400000 rw-p 00000000 00:00 0                          [stack]
"""
    assert list(pages._large_pages(maps)) == [0x200000, 0x400000, 0x600000, 0xC00000]


def test_where_nothing_can_be_known_nothing_is_gathered(monkeypatch):
    def refuse(_path):
        raise PermissionError

    monkeypatch.setattr(pages.Path, "read_text", refuse)
    assert pages.gather() == 0


def test_elsewhere_nothing_is_gathered(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert pages.gather() == 0
