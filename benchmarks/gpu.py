"""Compare every verdict in PyTorch on a GPU with the one on the CPU; see README.md.

    make gpu                                    # or: python benchmarks/gpu.py [--output FILE] [KATA …]

On a machine without a GPU the same runs on the CPU, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from dojo_authoring.parallel import for_each
from dojo_authoring.verify.on_device import KataOnDevice, can_be_judged_on_a_device, judge_on_device
from grader import __version__
from grader.course.catalog import Course
from grader.grading.session import has_cuda
from grader.grading.submission_run import START_SECONDS
from grader.texts.phrases import counted
from grader.worker.child.sandbox import allowed_paths
from grader.worker.client import RemoteStudent, WorkerLost
from grader.worker.fork_server import ForkServer, WorkerFactory, open_source
from grader.worker.process import Process
from grader.worker.protocol.terms import ALL

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "benchmarks" / "gpu.md"
AT_ONCE = 8  # katas; each has a CUDA context of about half a GiB
FACTS = """
import json, torch
major, minor = torch.cuda.get_device_capability() if torch.cuda.is_available() else (0, 0)
name = f"{torch.cuda.get_device_name()}, capability {major}.{minor}" if major else "pretended"
print(json.dumps({"device": name, "CUDA": torch.version.cuda or "none", "PyTorch": torch.__version__}))
"""
#: Hostile submissions that try what a layer forbids. CUDA needs what the last two do.
HOSTILE = (
    *("reads_the_solutions", "links_to_the_solutions", "reads_the_environment", "reads_descriptors"),
    *("reads_proc", "asks_the_network", "fork_bomb", "leaves_a_process", "signals_the_grader"),
    *("leaves_files", "writes_the_results", "starts_threads", "takes_more_memory"),
)
#: Try in a worker what each layer of the sandbox forbids, after its first use of the device.
PROBE = """
import os, resource, socket, sys, threading

def tried(solution):
    def attempt(action):
        try:
            action()
        except Exception as error:
            return f"refused ({type(error).__name__})"
        return "allowed"

    def name_a_thread():
        with open(f"/proc/self/task/{threading.get_native_id()}/comm", "r+") as file:
            file.write("worker")

    def listen():
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        server.bind(b"\\0" + os.urandom(8).hex().encode())
        server.listen()

    def limit(name):
        most = resource.getrlimit(getattr(resource, name))[0]
        return "none" if most == resource.RLIM_INFINITY else f"{most:,}"

    def multiply():
        ones = sys.modules["torch"].ones(2, 2, device=device)
        ones @ ones

    multiplied = attempt(multiply) if "torch" in sys.modules else "not tried"
    limits = ("RLIMIT_AS", "RLIMIT_NPROC", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_CPU", "RLIMIT_CORE")
    return {
        "PyTorch: multiply matrices": multiplied,
        "Landlock: read a solution": attempt(lambda: open(solution).read()),
        "Landlock: write into the temporary folder": attempt(lambda: open("/tmp/dojo-probe", "w")),
        "Landlock: write into the scratch folder": attempt(lambda: open("kept", "w")),
        "Landlock: name a thread in /proc/self/task": attempt(name_a_thread),
        "seccomp: fork": attempt(lambda: os.fork() or os._exit(0)),
        "seccomp: run a program": attempt(lambda: os.execv("/bin/true", ["true"])),
        "seccomp: a socket of the network": attempt(lambda: socket.socket(socket.AF_INET)),
        "seccomp: connect a local socket": attempt(lambda: socket.socket(socket.AF_UNIX).connect(b"\\0x")),
        "seccomp: listen on a local socket": attempt(listen),
        "seccomp: signal the parent": attempt(lambda: os.kill(os.getppid(), 0)),
        "seccomp: start a thread": attempt(lambda: threading.Thread(target=int).start()),
        "seccomp: a file in memory": attempt(lambda: os.memfd_create("kept")),
        **{f"limits: {name}": limit(name) for name in limits},
    }
"""


def facts() -> dict[str, str]:
    """Return what heads the page. A process of its own asks PyTorch, so that this one can fork."""
    asked = subprocess.run([sys.executable, "-P", "-c", FACTS], capture_output=True, text=True, check=True)
    found = json.loads(asked.stdout)
    versions = {"Python": platform.python_version(), "Decoder Dojo": __version__}
    return {"device": found.pop("device"), "driver": _driver(), **found, **versions}


def _driver() -> str:
    if shutil.which("nvidia-smi") is None:
        return "none"
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    return next(iter(asked.stdout.split()), "none")


def refusal(factory: WorkerFactory) -> str:
    """Return why CUDA does not start in a worker of this factory; "" if it starts."""
    with closing(factory), factory.start("cuda") as process:
        try:
            RemoteStudent(process).greeting(START_SECONDS)
        except WorkerLost as lost:
            process.channel.drain()
            printed = process.channel.output.text().split("\n")
            return next((line for line in reversed(printed) if line.strip()), str(lost))
    return ""


def fallback() -> tuple[str, str]:
    """Return a sentence on what keeps CUDA from starting in a worker of `grade`, and the isolation with which
    the verdicts are found all the same; "" and the whole sandbox if it starts."""
    if not refusal(ForkServer("torch", is_late=True)):
        return "", "best"
    why = refusal(WorkerFactory("torch"))
    if not why:
        os.environ["DOJO_WORKERS"] = "spawn"
        return "**CUDA does not start in a forked worker**, so workers were spawned.", "best"
    others = ((layer, tuple(one for one in ALL if one != layer)) for layer in ALL)
    single = [layer for layer, left in others if not refusal(WorkerFactory("torch", left))]
    found = f"It starts without {' or without '.join(single)}" if single else "No single layer is the cause"
    return (
        f"**CUDA does not start in the sandbox:** {why.rstrip('.')}. {found}; verdicts are those without it.",
        "none",
    )


def isolation(is_real: bool) -> list[list[str]]:
    """Return a row for each thing that a worker may do or not: without CUDA, and beside it."""
    columns = []
    with closing(open_source("torch" if is_real else "numpy", is_late=True)) as source:
        for device in ("cpu", "cuda"):
            with source.new_process(device) as process:  # also opens the sandbox of a NumPy worker
                columns.append(_held(process))
    return [[name, columns[0][name], columns[1][name]] for name in columns[0]]


def _held(process: Process) -> dict[str, str]:
    student = RemoteStudent(process)
    held = student.greeting(START_SECONDS)
    student.load("probe", 20.0, source="", entry_points=[], forbidden=[])
    solution = str(next(ROOT.glob("solutions/*/*/reference.py")))
    return {
        "process: forked before CUDA is used": "yes" if process.popen is None else "spawned",
        "Landlock: version": str(held["landlock_abi"] or "none"),
        "seccomp: filter": "yes" if held["seccomp"] else "no",
        **student.build(PROBE, "tried", solution),
    }


def hostile(is_real: bool) -> list[list[str]]:
    """Return a row for each hostile submission: what it has gained beside CUDA."""
    command = [sys.executable, str(ROOT / "tests/grader/grade_hostile.py"), "--device", "cuda"]
    command += ["--library", "torch"] if is_real else []
    told = subprocess.run([*command, *HOSTILE], capture_output=True, text=True, check=False)
    graded = {one["name"]: one["breaches"] for one in map(json.loads, told.stdout.splitlines())}
    rows = [[f"`{name}`", "; ".join(breaches) or "nothing"] for name, breaches in graded.items()]
    why = " ".join(told.stderr.splitlines()[-1:])
    return rows + [[f"`{name}`", f"not graded: {why}"] for name in HOSTILE if name not in graded]


def sentence(results: list[KataOnDevice], device: str) -> str:
    """Return the result in one sentence."""
    answers = sum(result.answers for result in results)
    found = [difference for result in results for difference in result.differences]
    foretold = sum(difference.is_foretold for difference in found)
    where = "the pretended device" if device == "pretended" else f"the {device}"
    text = f"The verdict on {where} is the one on the CPU for {answers - len(found)} of"
    text += f" {counted(answers, 'answer')} to {counted(len(results), 'kata')}"
    if not found:
        return f"{text}."
    return f"{text}; the pretended device refuses {foretold} of the other {len(found)} as well."


def page(
    head: dict[str, str],
    results: list[KataOnDevice],
    held: list[list[str]],
    gained: list[list[str]],
    refused: str = "",
) -> str:
    """Return the page as Markdown; `refused` says why CUDA does not start in the sandbox, if it does not."""
    is_real = head["device"] != "pretended"
    never = (
        "**No line of this page was measured on a GPU.** The verdicts come from workers on the CPU, in which"
        " the pretended device stands in for a GPU; the sandbox beside CUDA is that of a NumPy worker, opened"
        " as for CUDA."
    )
    differences = [
        [f"`{result.info.name}`", f"`{one.answer}`", str(one.on_cpu), str(one.on_device)]
        for result in results
        for one in result.differences
    ]
    memory = "memory on the GPU" if is_real else "memory of the worker"
    parts = [
        "# Verdicts on a GPU",
        "Written by `make gpu`; [how to read it](README.md#on-a-gpu).",
        table(list(head), [list(head.values())]),
        sentence(results, head["device"]),
        *([] if is_real else [never]),
        *([refused] if refused else []),
        "## By kata",
        table(["kata", "right answers", "mistakes", "differences", memory, "seconds"], [*_rows(results)]),
        "## Differences",
        table(["kata", "answer", "on the CPU", "on the device"], differences) if differences else "None.",
        "## Isolation",
        table(["what a worker may do", "without CUDA", "beside CUDA"], held),
        f"Opened for CUDA on this machine: {_opened()}.",
        "## Hostile submissions beside CUDA",
        table(["submission", "what it gains"], gained),
    ]
    return "\n\n".join(parts) + "\n"


def _rows(results: list[KataOnDevice]) -> Iterator[list[str]]:
    for one in results:
        memory = f"{one.memory / 2**20:.1f} MiB" if one.memory else ""
        counts = map(str, (one.right, one.mistakes, len(one.differences)))
        yield [f"`{one.info.name}`", *counts, memory, f"{one.seconds:.1f}"]


def _opened() -> str:
    more = {path for path, _ in allowed_paths.allowed("", gpu=True)} - {p for p, _ in allowed_paths.always()}
    own = f"/proc/{os.getpid()}"
    found = sorted(path.replace(own, "/proc/self") for path in more if os.path.exists(path))
    return ", ".join(f"`{path}`" for path in found)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table as Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> int:
    """Write the page, after every kata so that an aborted run keeps its rows, and print the result. Return 1
    if the verdict on an answer differs that the pretended device does not refuse."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=PAGE)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    course, began = Course(ROOT), time.monotonic()
    chosen = [course.kata_info(name) for name in options.names] or list(course.katas.values())
    infos = [info for info in chosen if can_be_judged_on_a_device(course, info)]
    head, is_real = facts(), has_cuda()
    print(f"device: {head['device']}", flush=True)
    refused, layers = fallback() if is_real else ("", "best")
    print(refused, end="\n" * bool(refused), flush=True)
    held, gained = isolation(is_real and not refused), hostile(is_real and not refused)
    results, at_once = [], min(AT_ONCE, os.cpu_count() or 1)
    device = "cuda" if is_real else "cpu"
    for info, result in for_each(course, infos, judge_on_device, device, layers, at_once=at_once):
        results.append(result)
        print(f"{info.name}: {len(result.differences)} of {result.answers} differ", flush=True)
        head["minutes"] = f"{(time.monotonic() - began) / 60:.1f}"
        options.output.write_text(page(head, results, held, gained, refused), encoding="utf-8")
    print(f"{sentence(results, head['device'])} The tables are in {options.output}.")
    return int(any(not one.is_foretold for result in results for one in result.differences))


if __name__ == "__main__":
    sys.exit(main())
