"""The layers of the sandbox: what each forbids and allows, and what is reported."""

import contextlib
import errno
import json
import os
import re
import socket
import struct
import subprocess
import sys
import time
import types
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.grade import grade
from grader.expect import SubmissionFailed
from grader.grading import session
from grader.report import Isolation
from grader.worker import fork_server
from grader.worker.child.sandbox import (
    allowed_paths,
    apply,
    landlock,
    limits,
    seccomp,
    syscalls,
)
from grader.worker.client import RemoteStudent
from grader.worker.fork_server import ForkServer
from grader.worker.protocol import system_calls, terms
from grader.worker.protocol.terms import SandboxTerms, read_terms
from grader.worker.scratch import make_folder, remove_folder

LINUX = pytest.mark.skipif(not system_calls.LINUX, reason="a sandbox of Linux")
ROOT = Path(__file__).parents[3]
HEADERS = {
    0: Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    1: Path("/usr/include/asm-generic/unistd.h"),
}
ALL_CALLS = {**syscalls.NEVER, **syscalls.GPU, **syscalls.CONDITIONAL}


@pytest.mark.parametrize("column", [0, 1])
def test_numbers_are_those_of_the_system_s_headers(column):
    if not HEADERS[column].exists():
        pytest.skip("the headers are not installed")
    text = HEADERS[column].read_text()
    told = re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", text)
    known = {name: int(number) for name, number in told}
    assert {
        name: numbers[column]
        for name, numbers in ALL_CALLS.items()
        if name in known and numbers[column] != known[name]
    } == {}


def run_filter(steps, number, *arguments, machine="x86_64"):
    """Execute the filter's program as the kernel would, and return its decision."""
    words = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, seccomp.ARCHITECTURES[machine], 0, *words)
    at, held = 0, 0
    while True:
        code, yes, no, value = steps[at]
        at += 1
        if code == seccomp.LOAD:
            held = struct.unpack_from("=I", data, value)[0]
        elif code == seccomp.AND:
            held &= value
        elif code == seccomp.JUMP:
            at += value
        elif code == seccomp.RETURN:
            return value
        else:
            holds = {
                seccomp.IF_EQUAL: held == value,
                seccomp.IF_AT_LEAST: held >= value,
                seccomp.IF_ANY_BIT: bool(held & value),
            }[code]
            at += yes if holds else no


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("machine", list(syscalls.MACHINES))
def test_the_filter_refuses_what_is_listed_and_allows_the_rest(machine, gpu):
    column = syscalls.MACHINES[machine]
    steps = seccomp.program(machine, gpu=gpu)
    refused = {
        numbers[column]
        for numbers in (syscalls.NEVER if gpu else {**syscalls.NEVER, **syscalls.GPU}).values()
    }
    asked = {numbers[column] for numbers in syscalls.CONDITIONAL.values()}
    for number in set(range(syscalls.NEWEST + 1)) - asked:
        due = seccomp.REFUSE if number in refused else seccomp.ALLOW
        assert run_filter(steps, number, machine=machine) == due, number
    assert run_filter(steps, syscalls.NEWEST + 1, machine=machine) == seccomp.UNKNOWN
    assert run_filter(steps, 0x40000000 + 1, machine=machine) == seccomp.UNKNOWN  # the x32 interface


@pytest.mark.parametrize("machine", list(syscalls.MACHINES))
def test_another_machine_s_calls_are_refused(machine):
    other = next(name for name in syscalls.MACHINES if name != machine)
    assert run_filter(seccomp.program(machine), 0, machine=other) == seccomp.REFUSE


@pytest.mark.parametrize(
    ("name", "arguments", "gpu", "due"),
    [
        ("kill", (seccomp._MYSELF, 9), False, seccomp.ALLOW),
        ("kill", (1, 9), False, seccomp.REFUSE),
        ("tgkill", (2**32 - 1, 5, 6), False, seccomp.REFUSE),
        ("clone", (seccomp.CLONE_THREAD,), False, seccomp.REFUSE),
        ("clone", (seccomp.CLONE_THREAD,), True, seccomp.ALLOW),
        ("clone", (17,), True, seccomp.REFUSE),
        ("clone3", (), True, seccomp.UNKNOWN),
        ("socket", (socket.AF_UNIX,), False, seccomp.REFUSE),
        ("socket", (socket.AF_UNIX,), True, seccomp.ALLOW),
        ("socket", (socket.AF_INET,), True, seccomp.REFUSE),
        ("prlimit64", (0, 7, 0, 1), False, seccomp.ALLOW),
        ("prlimit64", (1, 7, 0, 1), False, seccomp.REFUSE),
        ("prlimit64", (0, 7, 2**40, 0), False, seccomp.REFUSE),
        ("prctl", (15,), False, seccomp.ALLOW),
        ("prctl", (system_calls.PR_SET_DUMPABLE, 1), False, seccomp.REFUSE),
        ("fcntl", (3, 3), False, seccomp.ALLOW),
        ("fcntl", (3, 8, 1), False, seccomp.REFUSE),
        ("ioctl", (3, 0x5401), False, seccomp.ALLOW),
        ("ioctl", (3, 0x5412), False, seccomp.REFUSE),
        ("futex", (2**40, 128 | 9), False, seccomp.ALLOW),
        ("futex", (2**40, 0), False, seccomp.REFUSE),
        ("futex", (2**40, 256 | 9), False, seccomp.REFUSE),
        ("futex", (2**40, 256 | 9), True, seccomp.ALLOW),  # how a thread is waited for
        ("clock_gettime", (3,), False, seccomp.ALLOW),
        ("clock_gettime", (~1234 << 3 | 2,), False, seccomp.REFUSE),
        ("clock_nanosleep", (~1234 << 3 | 2,), True, seccomp.REFUSE),
    ],
)
def test_of_some_calls_it_depends_on_an_argument(name, arguments, gpu, due):
    for machine, column in syscalls.MACHINES.items():
        number = syscalls.CONDITIONAL[name][column]
        words = [argument & 0xFFFFFFFFFFFFFFFF for argument in arguments]
        assert run_filter(seccomp.program(machine, gpu=gpu), number, *words, machine=machine) == due


#: Commands of `fcntl` that no submission may use, with why.
FCNTL_REFUSED = {
    **dict.fromkeys((5, 6, 7), "record locks"),
    **dict.fromkeys((12, 13, 14), "record locks of 32 bits"),
    **dict.fromkeys((36, 37, 38), "locks of an open file"),
    **dict.fromkeys((8, 9, 10, 11, 15, 16, 17), "signals by order of the kernel"),
    **dict.fromkeys((1024, 1025), "leases"),
    **dict.fromkeys((1026,), "notices of a folder"),
    **dict.fromkeys((1027, 1028), "questions about an open file"),
    **dict.fromkeys((1031,), "the size of a pipe"),
    **dict.fromkeys((1033, 1034), "seals"),
    **dict.fromkeys((1035, 1036, 1037, 1038, 1039, 1040), "hints and delegations of a file"),
}
#: Commands of `ioctl` that no submission may use, by name.
IOCTL_REFUSED = {
    "FS_IOC_SETFLAGS": 0x40086602,
    "FS_IOC_SETFLAGS, 32 bits": 0x40046602,
    "FS_IOC_GETFLAGS": 0x80086601,
    "FS_IOC_FSSETXATTR": 0x401C5820,
    "FS_IOC_FSGETXATTR": 0x801C581F,
    "FS_IOC_SETVERSION": 0x40087602,
    "FS_IOC_FIEMAP": 0xC020660B,
    "FS_IOC_SETFSLABEL": 0x41009432,
    "FS_IOC_ENABLE_VERITY": 0x40806685,
    "FS_IOC_SET_ENCRYPTION_POLICY": 0x800C6613,
    "FICLONERANGE": 0x4020940D,
    "FIDEDUPERANGE": 0xC0189436,
    "FIFREEZE": 0xC0045877,
    "FITHAW": 0xC0045878,
    "FITRIM": 0xC0185879,
    "FIBMAP": 1,
    "FIOASYNC": 0x5452,
    "FIOSETOWN": 0x8901,
    "SIOCSPGRP": 0x8902,
    "FIOGETOWN": 0x8903,
    "FIOQSIZE": 0x5460,
    "TIOCSCTTY": 0x540E,
    "TIOCSTI": 0x5412,
    "TIOCLINUX": 0x541C,
    "TIOCSPGRP": 0x5410,
    "TCSETS": 0x5402,
}


@pytest.mark.parametrize("machine", list(syscalls.MACHINES))
@pytest.mark.parametrize(
    ("name", "command"),
    [*(("fcntl", command) for command in FCNTL_REFUSED), *(("ioctl", c) for c in IOCTL_REFUSED.values())],
)
def test_no_command_that_is_not_listed_is_allowed(machine, name, command):
    number = syscalls.CONDITIONAL[name][syscalls.MACHINES[machine]]
    steps = seccomp.program(machine)
    for upper in (0, 1 << 32):  # the kernel reads the lower half
        assert run_filter(steps, number, 3, upper | command, machine=machine) == seccomp.REFUSE


@pytest.mark.parametrize("machine", list(syscalls.MACHINES))
@pytest.mark.parametrize(
    ("name", "gpu", "tests", "allowed"),
    [
        ("fcntl", False, False, seccomp.FCNTL),
        ("fcntl", True, False, {**seccomp.FCNTL, **seccomp.FCNTL_GPU}),
        ("fcntl", False, True, {**seccomp.FCNTL, **seccomp.FCNTL_TESTS}),
        ("ioctl", False, False, seccomp.IOCTL),
        ("ioctl", False, True, {**seccomp.IOCTL, **seccomp.IOCTL_TESTS}),
    ],
)
def test_the_commands_that_are_listed_are_those_that_are_allowed(machine, name, gpu, tests, allowed):
    number = syscalls.CONDITIONAL[name][syscalls.MACHINES[machine]]
    steps = seccomp.program(machine, gpu=gpu, tests=tests)
    tried = {*range(0x10000), *allowed.values(), *(value ^ 1 << 31 for value in allowed.values())}
    found = {c for c in tried if run_filter(steps, number, 3, c, machine=machine) == seccomp.ALLOW}
    assert found == {*allowed.values()}


@pytest.mark.parametrize(
    ("command", "is_allowed"),
    [
        (0xC0404600 | 0x2A, True),  # the driver
        (0x30000001, True),
        (27, True),  # unified memory
        (0xC0104710, True),  # WSL
        (0x5401, True),
        (0x40086602, False),
        (0x401C5820, False),
        (0x8901, False),
        (0x30000003, False),
    ],
)
def test_for_cuda_the_commands_of_its_devices_are_allowed(command, is_allowed):
    for machine, column in syscalls.MACHINES.items():
        number = syscalls.CONDITIONAL["ioctl"][column]
        found = run_filter(seccomp.program(machine, gpu=True), number, 3, command, machine=machine)
        assert (found == seccomp.ALLOW) == is_allowed


@pytest.mark.parametrize(
    ("abi", "bits", "network", "scoped"),
    [(1, 13, 0, 0), (2, 14, 0, 0), (3, 15, 0, 0), (4, 15, 3, 0), (5, 16, 3, 0), (6, 16, 3, 3), (9, 16, 3, 3)],
)
def test_each_version_of_landlock_takes_away_what_it_can(abi, bits, network, scoped):
    assert landlock.handled(abi) == ((1 << bits) - 1, network, scoped)


def test_what_is_opened_is_libraries_and_holds_nothing_of_the_course():
    folders = [path for path, _ in allowed_paths.allowed("/nowhere/scratch")]
    assert folders[-1] == "/nowhere/scratch"
    for secret in (
        ROOT,
        ROOT / "grader",
        ROOT / "solutions",
        ROOT / "tests",
        Path.home(),
        Path("/etc/passwd"),
    ):
        assert not [folder for folder in folders if secret == Path(folder) or Path(folder) in secret.parents]


def test_cuda_opens_its_devices_and_nothing_else():
    more = {path for path, _ in allowed_paths.allowed("", gpu=True)} - {
        path for path, _ in allowed_paths.allowed("")
    }
    assert more
    libraries = allowed_paths.CUDA_LIBRARIES
    assert all(path.startswith(("/dev/nvidia", "/dev/dxg", "/proc/", "/sys/", *libraries)) for path in more)


THREAD = """
import socket, threading

def name_a_thread():
    names = []

    def write():
        path = f"/proc/self/task/{threading.get_native_id()}/comm"
        with open(path, "w") as file:
            file.write("named")
        with open(path) as file:
            names.append(file.read())

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    return names

def listen():
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind("\\0" + __name__)
    server.listen()
    return server.getsockname() != ""
"""


@LINUX
def test_a_worker_for_cuda_does_what_its_driver_cannot_start_without():
    # A new interpreter, which has not imported PyTorch: that would look for a GPU.
    with closing(ForkServer(is_late=True)) as server, server.new_process("cuda") as process:
        student = RemoteStudent(process)
        assert student.greeting(20)["gpu"]
        student.load("empty", 5, source="", entry_points=[], forbidden=[])
        assert student.build(THREAD, "name_a_thread") == ["named\n"]
        assert student.build(THREAD, "listen")


@LINUX
def test_the_sandbox_of_a_numpy_worker_is_not_opened_for_cuda():
    with closing(ForkServer()) as server, server.start("cuda") as process:
        assert not RemoteStudent(process).greeting(20)["gpu"]


def test_terms_travel():
    terms = SandboxTerms("cuda", ("limits",), "/tmp/ü")
    assert read_terms(terms.message()) == terms


def test_a_kernel_with_nothing_is_a_plain_process_and_said_to_be(monkeypatch):
    monkeypatch.setattr(landlock, "version", lambda: 0)
    monkeypatch.setattr(seccomp, "available", lambda: False)
    monkeypatch.setattr(limits, "restrict", lambda *_, **__: False)
    apply._version.cache_clear()
    held = apply.lock_in(SandboxTerms())
    apply._version.cache_clear()
    assert held == vars(Isolation()), "what a worker sends has the fields of the report's Isolation"


def test_a_container_that_forbids_the_sandbox_is_said_to_have_none(monkeypatch):
    def refuse(*_arguments, **_options):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(landlock, "version", lambda: 7)
    monkeypatch.setattr(landlock, "restrict", refuse)
    monkeypatch.setattr(seccomp, "restrict", refuse)
    monkeypatch.setattr(limits, "restrict", lambda *_, **__: True)
    apply._version.cache_clear()
    held = apply.lock_in(SandboxTerms())
    apply._version.cache_clear()
    assert held == vars(Isolation(limits=True))


def test_what_held_for_two_workers_is_the_less_of_both():
    one, two = Isolation(True, 7, True, True), Isolation(True, 3, False, True, gpu=True)
    assert one.weakened_by(two) == Isolation(True, 3, False, True, gpu=True)
    assert (one.is_whole, two.is_whole) == (True, False)


@LINUX
def test_the_environment_is_emptied_and_overwritten():
    code = (
        "import os; from grader.worker.child.sandbox import hardening; hardening.forget_environment();"
        " told = open('/proc/self/environ').read() + open('/proc/self/cmdline').read();"
        " print('hunter2' in told + str(os.environ), os.environ['LANG'], os.environ['USER'])"
    )
    environment = {**os.environ, "PASSWORD": "hunter2", "LANG": "C.UTF-8"}
    command = [sys.executable, "-c", code, "hunter2"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT)
    assert found.stdout.split() == ["False", "C.UTF-8", "student"], found.stderr


def test_only_listed_variables_are_kept(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("TZ", "UTC")
    kept = terms.environment()
    assert (kept.get("GITHUB_TOKEN"), kept["TZ"]) == (None, "UTC")
    assert kept.keys() <= {*terms.KEPT, *terms.SET}


@LINUX
def test_large_products_are_computed_without_another_thread(connect):
    student = connect("import numpy as np\ndef f(n): return float((np.ones((n, n)) @ np.ones((n, n))).sum())")
    assert student.f(512) == 512.0**3


def test_a_library_of_linear_algebra_is_told_to_use_one_thread():
    told = []

    class Library:
        def scipy_openblas_set_num_threads64_(self, count):
            told.append(count)

    limits._set_threads(Library(), limits.SETTERS["openblas"])
    assert told == [1]


@LINUX
def test_what_is_imported_late_is_still_found(connect):
    code = "def f():\n    import xml.dom.minidom, numpy.polynomial\n    return numpy.polynomial.__name__"
    assert connect(code).f() == "numpy.polynomial"


@LINUX
def test_the_scratch_folder_takes_files_and_is_removed(numpy_source):
    from grader.worker.client import RemoteStudent

    process = numpy_source.start("cpu")
    student = RemoteStudent(process)
    student.greeting(20.0)
    source = "def f():\n    open('x', 'w').write('1')\n    return open('x').read()"
    student.load("kata", 20.0, source=source, entry_points=[], forbidden=[])
    assert (student.f(), os.listdir(process.scratch)) == ("1", ["x"])
    process.kill()
    assert not os.path.exists(process.scratch)


@LINUX
@pytest.mark.skipif(not landlock.version(), reason="the kernel has no Landlock")
@pytest.mark.parametrize(
    "make", ["os.symlink('/etc', 'x')", "os.mkfifo('x')", "socket.socket(socket.AF_UNIX)"]
)
def test_links_pipes_and_sockets_in_the_scratch_folder_are_refused(connect, make):
    with pytest.raises(SubmissionFailed, match="PermissionError"):
        connect(f"import os, socket\ndef f(): {make}").f()


def test_a_folder_is_removed_however_deep_and_closed_it_is(tmp_path):
    folder = make_folder()
    os.symlink(tmp_path, f"{folder}/link")
    os.makedirs(f"{folder}/closed/inner")
    os.chmod(f"{folder}/closed/inner", 0)
    os.chmod(f"{folder}/closed", 0)
    here = os.open(folder, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    remove_folder(folder)
    assert (os.path.exists(folder), tmp_path.is_dir()) == (False, True)


ASKED = """
import ctypes, fcntl, mmap, os, struct, tempfile, time

LIBC = ctypes.CDLL(None, use_errno=True)
FD = os.open(os.__file__, os.O_RDONLY)
MAPPED = mmap.mmap(FD, 4096, mmap.MAP_SHARED, mmap.PROT_READ)
PLACE = LIBC.mmap
PLACE.restype = ctypes.c_void_p
PLACE.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
AT = PLACE(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED, FD, 0)
LOCK = struct.pack("hhxxxxqqixxxx", fcntl.F_RDLCK, 0, 0, 1, 0)

def call(name, *args):
    if getattr(LIBC, name)(*args) < 0:
        raise OSError(ctypes.get_errno(), name)

def system(number, *args):
    if LIBC.syscall(number, *args) < 0:
        raise OSError(ctypes.get_errno(), "syscall")

def f(way):
    try:
        exec(way, globals())
    except OSError as error:
        return error.errno
    return 0
"""


@LINUX
@pytest.mark.skipif(system_calls.MACHINE != "x86_64", reason="numbers of calls are those of x86_64")
@pytest.mark.skipif(not seccomp.available(), reason="there is no filter for this machine")
@pytest.mark.parametrize(
    "way",
    [
        "fcntl.fcntl(FD, fcntl.F_SETLK, LOCK)",
        "fcntl.fcntl(FD, fcntl.F_GETLK, LOCK)",
        "fcntl.fcntl(FD, fcntl.F_SETLKW, LOCK)",
        "fcntl.fcntl(FD, 37, LOCK)",
        "fcntl.lockf(FD, fcntl.LOCK_SH)",
        "os.lockf(os.dup(FD), os.F_TEST, 1)",
        "fcntl.flock(FD, fcntl.LOCK_SH)",
        "fcntl.flock(os.open('/dev/null', os.O_RDWR), fcntl.LOCK_EX)",
        "fcntl.fcntl(FD, fcntl.F_SETLEASE, fcntl.F_RDLCK)",
        "fcntl.fcntl(FD, fcntl.F_NOTIFY, 1)",
        "fcntl.fcntl(FD, fcntl.F_SETOWN, os.getpid())",
        "fcntl.fcntl(FD, fcntl.F_SETSIG, 10)",
        "fcntl.fcntl(os.pipe()[1], fcntl.F_SETPIPE_SZ, 1 << 20)",
        "fcntl.fcntl(os.dup(FD), 1036, struct.pack('q', 3))",
        "fcntl.ioctl(FD, 0x40086602, struct.pack('l', 0x40))",
        "fcntl.ioctl(FD, 0x80086601, bytes(8))",
        "call('inotify_init')",
        "call('mincore', ctypes.c_void_p(AT), 4096, ctypes.create_string_buffer(1))",
        "os.posix_fadvise(FD, 0, 0, 4)",
        "os.preadv(FD, [bytearray(8)], 0, os.RWF_NOWAIT)",
        "os.statvfs('/')",
        "system(202, ctypes.c_void_p(AT), 1, 1)",  # futex: wakes who waits at a place of a file
        "time.clock_gettime(~os.getppid() << 3 | 2)",
        "call('shmget', 1, 4096, 0o1600)",
        "call('semget', 1, 1, 0o1600)",
        "call('msgget', 1, 0o1600)",
        "call('mq_open', b'/x', os.O_RDWR | os.O_CREAT, 0o600, None)",
        "system(248, b'user', b'x', b'y', 1, -4)",  # add_key
        "call('sched_setscheduler', 0, 3, struct.pack('i', 0))",
        "os.sched_setaffinity(0, {0})",
        "os.setpriority(os.PRIO_PROCESS, 0, 19)",
        "os.utime(os.__file__)",
        "os.chmod(os.__file__, 0o644)",
        "os.setxattr(os.__file__, 'user.x', b'')",
        "open(f'/proc/{os.getppid()}/stat')",
    ],
)
def test_no_call_tells_another_worker_anything(connect, way):
    assert connect(ASKED).f(way) in (errno.EPERM, errno.EACCES)


#: How a worker may try to leave a number for another one through PyTorch. `PLACE` is a path.
THROUGH_PYTORCH = """
import torch, torch.distributed, torch.multiprocessing

def shared_file(place, number):
    found = torch.from_file(place, shared=True, size=8, dtype=torch.uint8)
    found[:] = number or found
    return int(found[0])

def shared_storage(place, number):
    found = torch.UntypedStorage.from_file(place, True, 8)
    found.fill_(number) if number else None
    return found[0]

def loaded(place, number):
    torch.save(torch.full((8,), number), place) if number else None
    return int(torch.load(place, mmap=True)[0])

def memory(place, number):
    torch.multiprocessing.set_sharing_strategy("file_system")
    return torch.full((8,), number).share_memory_().tolist()

def memory_by_descriptor(place, number):
    return len(torch.UntypedStorage._new_shared(8)) and 7

def lock(place, number):
    return 7 if torch.multiprocessing.get_context("spawn").Lock().acquire() else 0

def queue(place, number):
    torch.multiprocessing.get_context("spawn").Queue().put(number)
    return 7

def store(place, number):
    found = torch.distributed.FileStore(place, 1)
    found.set("n", str(number)) if number else None
    return int(found.get("n"))

def network(place, number):
    torch.distributed.TCPStore("127.0.0.1", 0, 1, True)
    return 7

def f(way, place, number):
    try:
        return globals()[way](place.replace("LIBRARY", torch.__file__), number)
    except Exception as error:
        return type(error).__name__
"""


@LINUX
@pytest.mark.skipif(not (landlock.version() and seccomp.available()), reason="the kernel lacks a layer")
def test_two_workers_that_agree_share_nothing_through_pytorch(connect):
    """As the workers of two ranks: one leaves a 7, and the other looks for it."""
    one, other = (connect(THROUGH_PYTORCH, library="torch", call_seconds=30.0) for _ in range(2))
    places = ("x", "/tmp/dojo-x", "/dev/shm/dojo-x", "LIBRARY")
    for way in ("shared_file", "shared_storage", "loaded", "store"):
        for place in places:
            left, found = one.f(way, place, 7), other.f(way, place, 0)
            assert left == 7 if place == "x" and way != "store" else isinstance(left, str), (way, place, left)
            assert found != 7, (way, place)
    for way in ("memory", "memory_by_descriptor", "lock", "queue", "network"):
        assert isinstance(one.f(way, "x", 7), str), way


@LINUX
def test_a_worker_stands_still_while_another_is_asked(connect):
    """So what it does in the handler of a timer says nothing to the other one."""
    first, seen = connect("def f():\n    return 1"), []

    @contextlib.contextmanager
    def another(number):
        assert number == 7
        state = Path(f"/proc/{first._process.pid}/stat")
        while state.read_text().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.001)
        seen.append("T")
        yield connect("def f():\n    return 2")

    first.another = another
    with first.f.elsewhere(7):
        assert first.f() == 2
    assert (first.f(), seen) == (1, ["T"])


@LINUX
@pytest.mark.parametrize(
    "way",
    [
        "os.close(os.dup(FD)); os.dup2(FD, 9); os.set_inheritable(FD, False); os.get_inheritable(FD)",
        "os.set_blocking(os.pipe()[0], False)",
        "os.isatty(0); open(os.__file__).isatty(); open('x', 'w').write('1')",
        "import shutil; shutil.copyfile(os.__file__, 'y'); shutil.rmtree(tempfile.mkdtemp())",
        "tempfile.TemporaryFile().write(b'1'); tempfile.NamedTemporaryFile().close()",
        "import threading; threading.Lock().acquire(); threading.Event().wait(0.01)",
        "import multiprocessing, queue; q = queue.Queue(); q.put(1); q.get(timeout=0.1)",
        "time.sleep(0.01); time.process_time(); time.thread_time(); time.clock_getres(time.CLOCK_MONOTONIC)",
        "import signal; signal.signal(14, lambda *_: None); signal.setitimer(0, 0.01); signal.pause()",
        "import signal as s; s.signal(10, lambda *_: None); s.raise_signal(10); os.kill(os.getpid(), 10)",
        "import numpy as np; np.save('a', np.ones(3)); np.load('a.npy', mmap_mode='r').sum()",
        "import numpy as np; np.linalg.svd(np.ones((300, 300)))",
        "import mmap; m = mmap.mmap(-1, 4096); m[0] = 1",
    ],
)
def test_what_answers_use_is_allowed(connect, way):
    assert connect(ASKED).f(way) == 0


def test_pytorch_computes_loads_and_draws_in_the_sandbox(connect):
    code = """
        import io, torch
        def f(x):
            buffer = io.BytesIO()
            torch.save(x, buffer)
            buffer.seek(0)
            torch.save(x, "x.pt")
            data = torch.utils.data.DataLoader(torch.load(buffer), batch_size=2)
            torch.manual_seed(0)
            layer = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True)
            return sum(layer(batch[None]).sum() for batch in data) + torch.load("x.pt", mmap=True).sum()
    """
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert connect(code, library="torch", call_seconds=60.0).f(torch.ones(4, 8)).shape == ()


@pytest.mark.slow
def test_an_optimiser_of_pytorch_works_in_the_sandbox(connect):
    code = """
        import torch
        def f(x):
            x = torch.nn.Parameter(x)
            steps = torch.optim.AdamW([x], lr=0.5)
            (x ** 2).sum().backward()
            steps.step()
            return x.detach()
    """
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert (connect(code, library="torch", call_seconds=60.0).f(torch.ones(2)) < 1).all()


def run_grade(*arguments):
    return CliRunner().invoke(
        grade, ["softmax", "--file", "solutions/attention/softmax/reference.py", *arguments]
    )


@pytest.mark.parametrize("wish", ["best", "none"])
def test_the_report_says_what_was_in_force(wish):
    held = json.loads(run_grade("--isolation", wish, "--format", "json").output)["isolation"]
    best = wish == "best"
    due = {
        "process": True,
        "landlock_abi": landlock.version() if best else 0,
        "seccomp": best and seccomp.available(),
    }
    assert {name: held[name] for name in due} == due


def test_required_isolation_that_is_missing_is_refused_with_what_is_missing(monkeypatch):
    monkeypatch.setitem(fork_server.ISOLATION, "required", ("limits",))
    result = run_grade("--isolation", "required")
    assert result.exit_code == 4
    lacking = "Landlock and seccomp" if system_calls.LINUX else "Landlock and seccomp and a limit of memory"
    assert (
        f"`--isolation required`: this machine lacks {lacking}. `--isolation best` takes what there is."
        in result.output
    )


@LINUX
@pytest.mark.skipif(not (landlock.version() and seccomp.available()), reason="the kernel lacks a layer")
def test_required_isolation_that_is_there_grades():
    assert run_grade("--isolation", "required").exit_code == 0


def test_a_worker_that_cannot_be_started_is_said_to_be_missing(monkeypatch):
    monkeypatch.setattr(session.RemoteStudent, "greeting", _lost)
    with pytest.raises(session.IsolationMissing, match=r"no worker can be started here\. It is gone\."):
        session._require_isolation(_silent_source(), "cpu")


def _lost(*_arguments):
    raise session.WorkerLost("It is gone.")


def _silent_source():
    process = types.SimpleNamespace(channel=None)
    return types.SimpleNamespace(start=lambda _device: contextlib.nullcontext(process))
