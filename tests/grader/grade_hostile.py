"""Grade hostile submissions one after the other, and detect the damage that they did.

    python tests/grader/grade_hostile.py [--without landlock,seccomp] [--library torch] [--device cuda] [NAME]

It runs in its own interpreter, so that secrets can be planted: one in the environment before it starts, one
in the solutions and one in its memory after the fork server has started, and one in an open file. It prints
one line of JSON for each submission: its report and its breaches.

With `--device cuda` the sandbox is opened for CUDA. With NumPy nothing uses the device, so it need not exist;
with `--library torch` every submission also imports PyTorch, and its worker has a CUDA context.
"""

import argparse
import ctypes
import dataclasses
import hashlib
import json
import os
import re
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:] = [path for path in sys.path if path != str(HERE)]

from grader.cases import oracle  # noqa: E402
from grader.course.catalog import Course, load_file  # noqa: E402
from grader.grading import submission_run  # noqa: E402
from grader.grading.grader import Grader  # noqa: E402
from grader.grading.session import grade_file  # noqa: E402
from grader.report import Isolation, Report, from_json, to_json  # noqa: E402
from grader.worker import client  # noqa: E402
from grader.worker import reader as text_reader  # noqa: E402
from grader.worker.fork_server import ForkServer  # noqa: E402
from grader.worker.protocol import system_calls  # noqa: E402
from grader.worker.protocol.terms import ALL  # noqa: E402

PR_SET_CHILD_SUBREAPER = 36
SECRET = re.compile(r"secret-(\w+)-[0-9a-f]{8,}")
THROUGH = re.compile(r"GOT THROUGH: ([^\n]{,60})")
#: The same in each run, so that what one has judged holds for the others.
SOLUTION = hashlib.sha256(b"solution").hexdigest()[:16]
TOKEN = hashlib.sha256(b"environment").hexdigest()[:16]

#: Submissions for another kata than softmax.
KATA = {"forged_tensor": "top_p", "breaks_a_rule": "double", "breaks_a_rule_by_a_detour": "double"}
HONEST = {
    "softmax": "def softmax(x, axis=-1):\n    return x * 1.0 - 2.0\n",  # of the right shape and dtype
    "double": "def double(x):\n    return x\n",
    "top_p": "def top_p_filter(logits, p):\n    return logits\n",
}
#: Submissions that are right for some inputs; they get some points, but not all.
RIGHT_IN_PART = {
    "behaves_when_watched", "changes_arguments", "counts_its_calls", "knows_the_example",
    "replays_the_first_answer", "returns_freed_memory", "wrong_parameter_names",
}  # fmt: skip
#: Graded after each submission; its report must be byte for byte the same as when it is graded alone.
CANARY = "def double(x):\n    print(x)\n    return 3 * x\n"
#: Submissions that are not readable Python files.
BROKEN = {
    "is_not_utf8": lambda path: path.write_bytes(b"# caf\xe9\n"),
    "has_a_null_byte": lambda path: path.write_bytes(b"x = 1\0\n"),
    "has_a_syntax_error": lambda path: path.write_text("def softmax(x, axis=-1)\n    return x\n"),
    "is_nested_too_deeply": lambda path: path.write_text("x = " + "(" * 5000 + ")" * 5000),
    "takes_minutes_to_parse": lambda path: path.write_text("x = f'" + "{1}" * 340_000 + "'\n"),
    "is_a_folder": lambda path: path.mkdir(),
    "is_a_fifo": os.mkfifo,
    "is_a_link_to_the_solution": lambda path: path.symlink_to(solution(path)),
    "is_a_dangling_link": lambda path: path.symlink_to("nowhere"),
    "is_unreadable": lambda path: (path.write_text("x = 1"), path.chmod(0)),
}
NEIGHBOUR = 'print("GOT THROUGH: a neighbour was imported")\nopen({mark!r}, "w").close()\n'
NEIGHBOURS = (
    "conftest.py", "sitecustomize.py", "usercustomize.py", "numpy.py", "torch.py", "grader.py", "json.py",
)  # fmt: skip


def solution(path):
    return path.parents[2] / "course" / "solutions" / "attention" / "softmax" / "reference.py"


class OpenedForCuda(ForkServer):
    """Starts every worker for CUDA, also NumPy's."""

    def start(self, device):  # noqa: ARG002 - the signature is ForkServer's
        return self.new_process("cuda")


class HostileRun:
    """A course with secrets and its grader, and the state in which a submission could leave traces."""

    def __init__(self, base, library, without, device="cpu"):
        self.base, self.device = base, device
        self.lead = "import torch\n" if (library, device) == ("torch", "cuda") else ""
        self.tmp, self.course, self.outside = base / "tmp", base / "course", base / "outside"
        for folder in (self.tmp, self.course, self.outside, base / "beside", base / "cache"):
            folder.mkdir(exist_ok=True)
        shared = oracle.folder()  # of the tests that start this run
        self.isolate(library, tuple(layer for layer in ALL if layer not in without))
        self.plant()
        copy_what_was_judged(self.katas, shared, oracle.folder())  # without a layer it can be reached
        self.grader = Grader(Course(self.course), {self.library: self.source}, device)
        self.honest = {kata: self.grade_text(kata, HONEST[kata]).report.score for kata in self.katas}
        self.canary = self.text_of(self.grade_text("double", CANARY)) if "double" in self.katas else ""
        copy_what_was_judged(self.katas, oracle.folder(), shared)
        self.state = self.observe()

    def isolate(self, library, layers):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphaned processes become children of this one
        tempfile.tempdir = str(self.tmp)
        os.environ["XDG_CACHE_HOME"] = str(self.base / "cache")
        self.katas = ["top_p"] if library == "torch" else ["softmax", "double"]
        self.katas = ["softmax"] if self.device == "cuda" else self.katas
        gradebook = self.base / "gradebook"
        gradebook.write_text("secret-gradebook-0123456789")
        self.gradebook = os.open(gradebook, os.O_RDWR)
        if "dumpable" in layers:
            system_calls.hide_memory()
        __import__(library)
        if library == "torch":
            sys.modules["torch"].set_num_threads(1)
        self.library, self.source = (
            library,
            (OpenedForCuda if self.device == "cuda" else ForkServer)(library, layers),
        )

    def plant(self):
        """Plant the secrets."""
        self.memory = f"secret-memory-{secrets.token_hex(8)}"
        for kata in self.katas:
            self.copy(kata)
        references = sorted(self.course.rglob("reference.py"))
        for reference in references:
            with reference.open("a") as file:
                file.write(f'\n\nSECRET_0 = "secret-solution-{SOLUTION}"\n')
        self.solutions = [
            reference.read_text() for reference in references
        ]  # in memory, as when they have run
        self.tcp, self.udp = socket.create_server(("127.0.0.1", 0)), socket.socket(type=socket.SOCK_DGRAM)
        self.port = self.tcp.getsockname()[1]
        self.udp.bind(("127.0.0.1", self.port))
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.outside / "socket"))
        self.listener.listen()
        (self.outside / "github_output").touch()

    def copy(self, kata):
        if kata == "double":
            conftest = load_file("conftest_of_the_tests", HERE.parent / "conftest.py")
            conftest.write_files(self.course, conftest.DOUBLE)
            return
        for path in (*ROOT.rglob(f"exercises/*/{kata}.py"), *ROOT.rglob(f"tests/katas/*/test_{kata}.py")):
            target = self.course / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        for path in ROOT.glob(f"solutions/*/{kata}"):
            shutil.copytree(path, self.course / path.relative_to(ROOT), ignore=shutil.ignore_patterns("__*"))

    def grade_text(self, kata, text):
        file = self.base / "beside" / "plain.py"
        file.write_text(self.lead + text)
        return grade_file(self.grader, self.grader.course.kata_info(kata), file)

    def text_of(self, graded):
        plain = dataclasses.replace(graded.report, seconds=0.0)
        isolation = graded.isolation or Isolation()
        return json.dumps(to_json(Report((plain,), "cpu", isolation)), sort_keys=True)

    def observe(self):
        """Return the files, shared memory and gradebook, which a submission must not change."""
        for reader in self.grader._readers.values():
            reader.close()  # a worker that waits for the next file has a scratch folder
        folders = (self.tmp, self.outside, self.course, Path("/dev/shm"))
        files = {path: facts_about(path) for folder in folders for path in sorted(folder.rglob("*"))}
        if self.source._spare:  # the spare worker's folder; its contents are checked
            files.pop(Path(self.source._spare[1].scratch), None)
        ipc = [Path(f"/proc/sysvipc/{kind}").read_text() for kind in ("shm", "msg", "sem")]
        return files, ipc, os.pread(self.gradebook, 100, 0)

    def submit(self, name):
        """Write the submission to a student's folder, beside modules that reveal being imported."""
        folder = self.base / "beside" / name
        folder.mkdir()
        mark = str(self.outside / "neighbour")
        for neighbour in NEIGHBOURS:
            (folder / neighbour).write_text(NEIGHBOUR.format(mark=mark))
        (folder / "evil.pth").write_text(f"import os; open({mark!r}, 'w')\n")
        (folder / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n")
        file = folder / f"{name}.py"
        if name in BROKEN:
            BROKEN[name](file)
        else:
            file.write_text(self.filled((HERE / "submissions" / f"{name}.py").read_text(), folder))
        return file

    def filled(self, source, folder):
        values = {
            "COURSE": self.course, "CACHE": self.base / "cache", "OUTSIDE": self.outside, "BESIDE": folder,
            "GRADER": os.getpid(), "GRADER_SOURCE": ROOT / "grader", "PORT": self.port,
        }  # fmt: skip
        return self.lead + re.sub(r"@(\w+)@", lambda match: str(values[match[1]]), source)

    def grade(self, name):
        """Grade a submission; return the report and the breaches."""
        file = self.submit(name)
        os.chdir(file.parent)
        info = self.grader.course.kata_info(KATA.get(name, "softmax"))
        graded = grade_file(self.grader, info, file)
        report = graded.report
        found = [*self.gained(name, report), *learnt(self.text_of(graded)), *through(report)]
        found += [*self.incomplete(info, report), *self.left()]
        if self.canary and self.text_of(self.grade_text("double", CANARY)) != self.canary:
            found.append("the next report differs")
        return {"name": name, "breaches": found, "report": to_json(Report((report,)))["katas"][0]}

    def gained(self, name, report):
        honest = self.honest.get(name, self.honest[report.name])
        bound = report.max_score - 1 if name in RIGHT_IN_PART else honest
        if report.score > bound:
            yield f"{report.score / 100:g} points, where {bound / 100:g} are due at most"

    def incomplete(self, info, report):
        if to_json(from_json(to_json(Report((report,))))) != to_json(Report((report,))):
            yield "the report does not survive"
        if report.status == "error":
            yield from [] if report.message and not report.checks else ["a refusal without a sentence"]
            return
        plans = [plan.name for plan in self.grader.prepare(info, self.library).checks]
        rule = ["keeps_the_rules"]
        if [check.name for check in report.checks] not in (plans, rule) or report.status != "failed":
            yield "the report is incomplete"
        if not all(c.message or c.expected for c in report.checks if c.status not in ("passed", "skipped")):
            yield "a failure without a word"

    def left(self):
        """Return the files, shared memory and processes that are left; processes get a moment to end."""
        files, ipc, gradebook = self.observe()
        changed = {path.name for path in files.items() ^ self.state[0].items() for path in path[:1]}
        if changed:
            yield f"files left or changed: {', '.join(sorted(changed))[:80]}"
        if ipc != self.state[1]:
            yield "shared memory left"
        if gradebook != self.state[2]:
            yield "an open file of the grader was changed"
        self.state = files, ipc, gradebook
        deadline = time.monotonic() + 1
        while (strays := self.strays()) and time.monotonic() < deadline:
            time.sleep(0.02)
        if strays:
            yield "a process left"
            for pid in strays:
                os.kill(pid, 9)
                os.waitpid(pid, 0)

    def strays(self):
        with open(f"/proc/self/task/{os.getpid()}/children") as children:
            pids = [int(pid) for pid in children.read().split() if int(pid) != self.source.pid]
        return [pid for pid in pids if os.waitpid(pid, os.WNOHANG) == (0, 0)]


def copy_what_was_judged(katas, source, target):
    """Copy the cached answers to the katas and their mistakes, so that one run judges them for all runs."""
    target.mkdir(parents=True, exist_ok=True)
    for file in (file for kata in katas for file in source.glob(f"{kata}-*")):
        draft = target / f"{file.name}.{os.getpid()}.draft"
        shutil.copyfile(file, draft)
        draft.replace(target / file.name)


def facts_about(path):
    """Return the facts about a file that must not change: its type, owner and content."""
    about = path.lstat()
    text = path.read_bytes() if stat.S_ISREG(about.st_mode) and os.access(path, os.R_OK) else b""
    old = about.st_mtime < 1e6
    return about.st_mode, about.st_uid, about.st_size, old, hashlib.sha256(text).digest()


def learnt(text):
    return sorted({f"learnt a secret: {kind}" for kind in SECRET.findall(text)})


def through(report):
    return sorted({f"got through: {what}" for what in THROUGH.findall(report.output)})[:4]


def print_successes_by_layer():
    """Print, for each layer, the submissions that succeed without it; skip those that only time out."""
    late = (
        "bomb",
        "loop",
        "gil",
        "sleeps",
        "ignores",
        "never",
        "announces",
        "wide_nest",
        "deep_rec",
        "a_lot",
    )
    names = [name for name in every_name() if not any(word in name for word in late)]
    print("| without | who gets through | with what |\n|---|---|---|", flush=True)
    for without in ("", *ALL, "landlock,dumpable", "landlock,capabilities"):
        command = [sys.executable, __file__, "--without", without, *names]
        environment = {**os.environ, "GRADER_TOKEN": f"secret-environment-{TOKEN}"}
        found = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        for line in map(json.loads, found.stdout.splitlines()):
            if line["breaches"]:
                print(
                    f"| {without or 'nothing'} | `{line['name']}` | {'; '.join(line['breaches'])} |",
                    flush=True,
                )


def every_name():
    return sorted({path.stem for path in HERE.glob("submissions/*.py")} | set(BROKEN))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", default="")
    parser.add_argument("--library", default="numpy")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--layers", action="store_true", help="take each layer away in turn; print a table")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.layers:
        print_successes_by_layer()
        return
    submission_run.CALL_SECONDS, submission_run.LOAD_SECONDS, client.WALL_FACTOR = 1.0, 2.0, 2
    text_reader.SECONDS = 4.0
    names = options.names or every_name()
    with tempfile.TemporaryDirectory() as base:
        run = HostileRun(Path(base), options.library, options.without.split(","), options.device)
        wanted = [name for name in names if KATA.get(name, "softmax") in run.katas]
        for name in wanted:
            began = time.monotonic()
            found = run.grade(name)
            print(json.dumps({**found, "seconds": round(time.monotonic() - began, 2)}), flush=True)
        os.chdir("/")
        run.source.close()


if __name__ == "__main__":
    main()
