"""Version 1 of the protocol in docs/host-protocol.md, for a host in Python. Knows no framework."""

import ctypes
import json
import mmap
import os
import select
import socket
import threading

VERSION = 1
ALIGNMENT = 64  # of a tensor in the ring


class Ring:
    """Memory that Vernier reads what this process writes from, a stream of bytes that starts again at
    the front. Positions count all bytes ever written."""

    def __init__(self, descriptor):
        self.size = os.fstat(descriptor).st_size
        self.memory = mmap.mmap(descriptor, self.size)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.largest = self.size // 2  # the most bytes written at once
        self.written = 0
        self.read = 0

    def next(self):
        return -(-self.written // ALIGNMENT) * ALIGNMENT

    def has_room(self, count):
        return self.next() + count <= self.read + self.size

    def write(self, address, count):
        """Copies from memory; memmove neither allocates nor asks for threads."""
        start = self.next() % self.size
        first = min(count, self.size - start)
        ctypes.memmove(self.address + start, address, first)
        ctypes.memmove(self.address, address + first, count - first)
        self.written = self.next() + count


class Channel:
    """The socket and the ring that Vernier gave this process."""

    def __init__(self, environment=os.environ):
        self.socket = socket.socket(fileno=int(environment["VERNIER_HOST_SOCKET"]))
        self.file = self.socket.makefile("rb")
        ring = environment.get("VERNIER_HOST_RING")
        self.ring = Ring(int(ring)) if ring else None
        threading.Thread(target=self.end_with_vernier, daemon=True).start()

    def end_with_vernier(self):
        """Also in the middle of a long run: nobody waits for its result any more."""
        watch = select.poll()
        watch.register(self.socket, 0)  # waits only until the other end is closed
        watch.poll()
        os._exit(1)

    def receive(self):
        """The next request, or None when there are no more."""
        while line := self.file.readline():
            message = json.loads(line)
            if message["type"] != "read":
                return message
            self.ring.read = message["position"]
        return None

    def receive_bytes(self, count):
        return self.file.read(count)

    def send(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def send_tensor(self, message, address, count):
        """A message that carries `count` bytes from memory."""
        if self.ring is None:
            self.send({**message, "bytes": count})
            self.socket.sendall(ctypes.string_at(address, count))
            return
        first = min(count, self.ring.largest)
        self.write(address, first)
        self.send({**message, "bytes": count, "ring": first})
        for begin in range(first, count, self.ring.largest):
            part = min(count - begin, self.ring.largest)
            self.write(address + begin, part)
            self.send({"type": "bytes", "ring": part})

    def write(self, address, count):
        while not self.ring.has_room(count):
            line = self.file.readline()
            if not line:
                raise EOFError("Vernier has ended")
            self.ring.read = json.loads(line)["position"]
        self.ring.write(address, count)


class Failure(Exception):
    """What Vernier is to tell its user, in a line."""


def serve(channel, host):
    """Answers requests until there are no more. `host` has describe(request, inputs), which returns
    the keys of the description, run(inputs, show, give) and parameters(give, names), where names are
    those that are wanted, or None for all. `show` and `give` take a tensor's message, its address and
    its number of bytes; `show` is None when nobody looks."""
    while request := channel.receive():
        try:
            answer(channel, host, request)
        except Failure as error:
            channel.send({"type": "error", "message": str(error)})


def answer(channel, host, request):
    kind = request["type"]
    inputs = [(each, channel.receive_bytes(each["bytes"])) for each in request.get("inputs", [])]
    if kind == "hello":
        channel.send({"type": "hello", "protocol": VERSION})
    elif kind == "describe":
        channel.send({"type": "description", **host.describe(request, inputs)})
    elif kind == "run":
        host.run(inputs, channel.send_tensor if request["observe"] else None, channel.send_tensor)
        channel.send({"type": "done"})
    elif kind == "parameters":
        host.parameters(channel.send_tensor, request.get("names"))
        channel.send({"type": "done"})
    else:
        raise Failure(f"the host knows no request '{kind}'")
