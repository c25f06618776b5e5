"""Opens connections: TCP, UDP and a Unix socket."""

import socket
from contextlib import suppress

PORT = int("@PORT@")


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with suppress(OSError), socket.socket(socket.AF_INET, kind) as asking:
            asking.connect(("127.0.0.1", PORT))
            asking.send(b"what is softmax?")
            print("GOT THROUGH: asked by", kind.name)
    with suppress(OSError), socket.socket(socket.AF_UNIX) as asking:
        asking.connect("@OUTSIDE@/socket")
        print("GOT THROUGH: asked by a socket in the file system")
    return x
