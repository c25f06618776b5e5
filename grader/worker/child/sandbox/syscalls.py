"""List the system calls that no submission needs, with their numbers on the two supported machines.

A call that a machine does not have is None there. Linux never changes these numbers; a test compares them
with the system's headers if these are installed.
"""

from __future__ import annotations

MACHINES = {"x86_64": 0, "aarch64": 1}

Numbers = tuple[int | None, int | None]

#: The highest number in these tables. Later calls fail with ENOSYS, as on an older kernel.
NEWEST = 462

PROCESSES: dict[str, Numbers] = {
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "setsid": (112, 157), "setpgid": (109, 154), "unshare": (272, 97), "setns": (308, 268),
    "personality": (135, 92), "modify_ldt": (154, None),
}  # fmt: skip

SOCKETS: dict[str, Numbers] = {
    "socketpair": (53, 199), "connect": (42, 203), "accept": (43, 202), "accept4": (288, 242),
    "sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269), "recvmsg": (47, 212),
    "recvmmsg": (299, 243),
}  # fmt: skip

#: Calls that access other processes, or change how they run.
OTHERS: dict[str, Numbers] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "kcmp": (312, 272),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "setrlimit": (160, 164),
    "migrate_pages": (256, 238), "sync": (162, 81), "syncfs": (306, 267),
}  # fmt: skip

#: Calls for shared memory and queues, which would outlive the process.
LASTING: dict[str, Numbers] = {
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190),
    "semctl": (66, 191), "semop": (65, 193), "semtimedop": (220, 192), "msgget": (68, 186),
    "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187), "mq_open": (240, 180),
    "mq_unlink": (241, 181),
}  # fmt: skip

#: Changes to files that Landlock does not restrict, and access to files by other means than their paths.
FILES: dict[str, Numbers] = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "fremovexattr": (199, 16), "utime": (132, None), "utimes": (235, None),
    "utimensat": (280, 88), "futimesat": (261, None), "mknod": (133, None), "mknodat": (259, 33),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263), "inotify_init": (253, None), "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "statmount": (457, 457), "listmount": (458, 458),
}  # fmt: skip

#: Calls by which two workers that run side by side could exchange numbers over a file that both may read:
#: locks, which of its pages are in memory, and waits at a place in it. The tests of a homework may make them.
SIDE_BY_SIDE: dict[str, Numbers] = {
    "flock": (73, 32), "mincore": (27, 232), "cachestat": (451, 451), "preadv2": (327, 286),
    "fadvise64": (221, 223), "futex_waitv": (449, 449), "futex_wake": (454, 454),
    "futex_wait": (455, 455), "futex_requeue": (456, 456),
}  # fmt: skip

#: Parts of the kernel in which many security bugs were found.
KERNEL: dict[str, Numbers] = {
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "io_setup": (206, 0), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "vmsplice": (278, 75),
    "memfd_secret": (447, 447),
}  # fmt: skip

#: Calls for root only, which a submission must not use even if root runs the grader.
ROOT: dict[str, Numbers] = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "setuid": (105, 146),
    "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143), "setresuid": (117, 147),
    "setresgid": (119, 149), "setfsuid": (122, 151), "setfsgid": (123, 152), "setgroups": (116, 159),
    "capset": (126, 91), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "sethostname": (170, 161), "setdomainname": (171, 162),
    "syslog": (103, 116), "iopl": (172, None), "ioperm": (173, None), "vhangup": (153, 58),
}  # fmt: skip

#: Calls that only CUDA may need. Its driver gives up if it cannot listen on a socket of this machine.
GPU: dict[str, Numbers] = {
    "memfd_create": (319, 279), "sched_setaffinity": (203, 122), "move_pages": (279, 239),
    "bind": (49, 200), "listen": (50, 201), "statfs": (137, 43), "fstatfs": (138, 44),
}  # fmt: skip

#: Calls that are allowed or refused depending on an argument.
CONDITIONAL: dict[str, Numbers] = {
    "clone": (56, 220), "clone3": (435, 435), "kill": (62, 129), "tkill": (200, 130),
    "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "prlimit64": (302, 261), "prctl": (157, 167), "fcntl": (72, 25), "ioctl": (16, 29),
    "seccomp": (317, 277), "socket": (41, 198), "futex": (202, 98), "clock_gettime": (228, 113),
    "clock_getres": (229, 114), "clock_nanosleep": (230, 115), "timer_create": (222, 107),
}  # fmt: skip

NEVER = {**PROCESSES, **SOCKETS, **OTHERS, **LASTING, **FILES, **SIDE_BY_SIDE, **KERNEL, **ROOT}

#: What tests of a homework may not do, of what a submission may not: they start processes and talk to them.
NEVER_IN_TESTS = {
    **{name: PROCESSES[name] for name in ("unshare", "setns", "personality", "modify_ldt")},
    **{name: SOCKETS[name] for name in ("connect", "accept", "accept4")},
    **{name: GPU[name] for name in ("bind", "listen")}, "socket": CONDITIONAL["socket"],
    **OTHERS, **LASTING, **FILES, **KERNEL, **ROOT,
}  # fmt: skip
#: Calls that do nothing in tests and succeed. Copying a file makes them, and Landlock allows all of them.
PRETENDED = (
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "setxattr",
    "lsetxattr", "fsetxattr", "utime", "utimes", "utimensat", "futimesat",
)  # fmt: skip
