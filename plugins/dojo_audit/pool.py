"""Run jobs on all cores by servers, each of which runs one job at a time in a confined fork."""

from __future__ import annotations

import itertools
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

from dojo_audit.homework import Homework
from grader.errors import CourseError
from grader.processes.confinement import Protection, available
from grader.worker.protocol.terms import environment

ROOT = Path(__file__).resolve().parents[1]
START = "import sys; sys.path.append(sys.argv[1]); from dojo_audit.server import serve; serve(sys.argv[2:])"
Status = Literal["passed", "failed", "hung", "flooded", "crowded"]
Key = TypeVar("Key")


@dataclass(frozen=True)
class Job:
    """One run: the files that differ from the homework's, what is done, and its limits in seconds.

    `keep` maps files that the run writes in its temporary folder to places where they are kept.
    """

    work: str = "tests"
    files: dict[str, str] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    keep: dict[str, str] = field(default_factory=dict)
    cpu: float = 120.0
    wall: float = 300.0


@dataclass(frozen=True)
class Result:
    """How a run has ended: with success, with a failure, after too long, after printing too much, or after
    starting too many processes."""

    status: Status
    answer: dict[str, Any]
    printed: str = ""
    cpu: float = 0.0
    wall: float = 0.0
    kept: tuple[str, ...] = ()


class ServerPool:
    """Servers for one homework, each started when it is needed. Closing removes all copies."""

    def __init__(self, homework: Homework, isolation: str = "best", at_once: int = 0) -> None:
        if not hasattr(os, "fork"):
            raise CourseError("`kata audit` runs tests in forks, which this system does not have.")
        if isolation == "required" and not available().is_whole:
            raise CourseError("--isolation required: this system has no Landlock or no seccomp.")
        self.homework, self.isolation = homework, isolation
        self.protection = available() if isolation != "none" else Protection()
        self.at_once = at_once or os.cpu_count() or 1
        self.folder = Path(tempfile.mkdtemp(prefix="kata-audit-")).resolve()
        self.root = self.folder / "homework"
        self.cpu = 0.0
        self._numbers = itertools.count()
        self._servers: list[subprocess.Popen[bytes]] = []
        self._mine = threading.local()
        self._executor = ThreadPoolExecutor(self.at_once)
        self._is_closed = False

    def __enter__(self) -> ServerPool:
        try:
            self.homework.copy_to(self.root)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self, job: Job) -> Result:
        """Run one job and wait for it."""
        return self._executor.submit(self._run, job).result()

    def run_all(self, jobs: Iterable[tuple[Key, Job]]) -> Iterator[tuple[Key, Result]]:
        """Yield the results of jobs as they come; the next job is only asked for when a server is free."""
        waiting = iter(jobs)
        running: dict[Future[Result], Key] = {}
        for key, job in itertools.islice(waiting, self.at_once):
            running[self._executor.submit(self._run, job)] = key
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                for key, job in itertools.islice(waiting, 1):
                    running[self._executor.submit(self._run, job)] = key
                yield running.pop(future), future.result()

    def _run(self, job: Job) -> Result:
        folder = self.folder / f"run-{next(self._numbers)}"
        folder.mkdir()
        command = {**vars(self.homework.command), "at": self.homework.at, "cells": self.cells}
        order = {
            "work": job.work,
            "folder": str(folder),
            "root": str(self.root),
            "files": job.files,
            "command": command,
            "roots": self.homework.roots,
            "isolation": self.isolation,
            "keep": job.keep,
            "cpu": job.cpu,
            "wall": job.wall,
            **job.more,
        }
        found = self._ask(order)
        shutil.rmtree(folder, ignore_errors=True)
        answer = found.get("answer")
        self.cpu += found.get("cpu", 0.0)
        return Result(
            found["status"],
            answer if isinstance(answer, dict) else {},
            found.get("printed", ""),
            found.get("cpu", 0.0),
            found.get("wall", 0.0),
            tuple(found.get("kept", ())),
        )

    @property
    def cells(self) -> dict[str, Any] | None:
        """What the driver needs to know about a notebook's cells."""
        found = self.homework.cells
        if found is None:
            return None
        return {"label": found.label, "order": [*found.texts], "checks": found.checks, "otter": found.otter}

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        """Send a job to this thread's server, and return the line with its token; a server that has died is
        replaced once."""
        for _ in range(2):
            token = secrets.token_hex(16)
            server = getattr(self._mine, "server", None) or self._start()
            try:
                assert server.stdin is not None
                assert server.stdout is not None
                server.stdin.write(json.dumps({**order, "token": token}).encode() + b"\n")
                server.stdin.flush()
                while line := server.stdout.readline():
                    with suppress(ValueError, RecursionError, AttributeError, TypeError):
                        found = dict(json.loads(line))
                        if secrets.compare_digest(str(found.get("token")), token):
                            return found
            except (OSError, ValueError):
                pass
            self._mine.server = None
            if self._is_closed:
                break
        return {"status": "failed", "printed": "The server of this audit has died."}

    def _start(self) -> subprocess.Popen[bytes]:
        libraries = list(self.homework.libraries)
        if self.homework.command.is_pytest:
            libraries.append("pytest")
        kept = {name: os.environ[name] for name in ("PYTHONPATH", "VIRTUAL_ENV") if name in os.environ}
        server = subprocess.Popen(
            [sys.executable, "-P", "-c", START, str(ROOT), *libraries],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("DOJO_DEBUG") else subprocess.DEVNULL,
            cwd=self.folder,
            env={**environment(), **kept, "PYTHONHASHSEED": "0"},
            start_new_session=True,  # Ctrl-C is for this process
        )
        self._servers.append(server)
        self._mine.server = server
        return server

    def close(self) -> None:
        """End all servers with what they run, and remove the copies."""
        self._is_closed = True
        for server in self._servers:
            if server.stdin is not None:
                server.stdin.close()
        for server in self._servers:
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
        self._executor.shutdown(wait=True, cancel_futures=True)
        shutil.rmtree(self.folder, ignore_errors=True)
