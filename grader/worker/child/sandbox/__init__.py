"""The sandbox: what a worker takes from itself, layer by layer, before a submission is loaded.

    privacy    variables overwritten, memory hidden, root's rights dropped, death with the parent
    landlock   files, TCP, signals                     opened    which files stay open
    seccomp    system calls                            syscalls  their numbers
    system     ctypes

Every layer works without the others and for an ordinary user; what the kernel lacks is left out, and
`SandboxState` tells what holds.
"""
