"""Restrict a worker process, layer by layer, before it loads a submission.

    apply      all layers in their order
    hardening  environment variables, command line, capabilities
    landlock   files, TCP, signals; `allowed_paths` lists the files that stay accessible
    seccomp    system calls; `syscalls` has their numbers
    limits     memory, file sizes, processes; `threads` switches thread pools off

Every layer works on its own and without root. Layers that the kernel lacks are left out, and `apply.lock_in`
reports which protections are in force.
"""
