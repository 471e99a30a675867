"""What the tests of the host share: Vernier's side of the protocol, in Python."""

import array
import json
import mmap
import os
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

import torch

PYTHON = Path(__file__).parent.parent.parent / "python"
RING = 1 << 16
TIMEOUT = 60
MODERN = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 1)
TYPES = {"float32": "f", "float64": "d", "int64": "q", "bool": "B"}


class HostError(Exception):
    pass


class Host:
    """A host, started as Vernier starts it."""

    def __init__(self, command, ring=RING, **options):
        self.socket, theirs = socket.socketpair()
        environment = {**os.environ, "VERNIER_HOST_SOCKET": str(theirs.fileno())}
        passed = [theirs.fileno()]
        self.ring = None
        if ring:
            memory = os.memfd_create("ring")
            os.ftruncate(memory, ring)
            self.ring = mmap.mmap(memory, ring)
            environment["VERNIER_HOST_RING"] = str(memory)
            passed.append(memory)
        self.process = subprocess.Popen(
            command, env=environment, pass_fds=passed, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, **options,
        )
        theirs.close()
        if ring:
            os.close(memory)
        self.socket.settimeout(TIMEOUT)
        self.file = self.socket.makefile("rb")
        self.position = 0
        self.sizes = []  # of all that was announced at once

    def close(self):
        self.file.close()
        self.socket.close()
        self.process.wait(TIMEOUT)
        self.process.stdout.close()

    def send(self, message, data=()):
        self.socket.sendall(json.dumps(message).encode() + b"\n" + b"".join(data))

    def receive(self):
        try:
            line = self.file.readline()
        except ConnectionResetError:
            line = b""
        if not line:
            raise HostError("the host has ended")
        message = json.loads(line)
        if message["type"] == "error":
            raise HostError(message["message"])
        return message

    def take(self, count):
        self.sizes.append(count)
        begin = -(-self.position // 64) * 64
        self.position = begin + count
        start = begin % len(self.ring)
        data = self.ring[start : start + count]
        data += self.ring[: count - len(data)]
        self.send({"type": "read", "position": self.position})
        return data

    def value(self, message):
        count = message["bytes"]
        if "ring" in message:
            data = self.take(message["ring"])
            while len(data) < count:
                data += self.take(self.receive()["ring"])
        else:
            data = self.file.read(count)
        return list(array.array(TYPES[message["dtype"]], data))

    def request(self, message, inputs=()):
        """`inputs`: (name, dtype, shape, values)."""
        specs, data = [], []
        for name, dtype, shape, values in inputs:
            data.append(array.array(TYPES[dtype], values).tobytes())
            specs.append({"name": name, "dtype": dtype, "shape": shape, "bytes": len(data[-1])})
        self.send({**message, "inputs": specs}, data)

    def describe(self, inputs, watch="layers", precision="float32", outputs=("y",)):
        self.request({"type": "hello", "protocol": 1})
        hello = self.receive()
        assert (hello["type"], hello["protocol"]) == ("hello", 1), hello
        self.request(
            {"type": "describe", "watch": watch, "precision": precision, "threads": 1,
             "outputs": list(outputs)},
            inputs,
        )
        return self.receive()

    def collect(self):
        tensors, outputs = [], []
        while (message := self.receive())["type"] != "done":
            kept = outputs if message["type"] == "output" else tensors
            kept.append((message["name"], self.value(message)))
        return tensors, outputs

    def run(self, inputs, observe=True):
        """([(name, values)] of tensors, the same of outputs)."""
        self.request({"type": "run", "observe": observe}, inputs)
        return self.collect()

    def parameters(self, names=None):
        self.request({"type": "parameters", **({} if names is None else {"names": names})})
        return dict(self.collect()[0])


class HostTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def write(self, code, name="models.py"):
        path = self.folder / name
        path.write_text("import torch\nfrom torch import nn\n" + textwrap.dedent(code), "utf-8")
        return path

    def start(self, source, *options, ring=RING, **process):
        command = [sys.executable, "-B", str(PYTHON / "vernier_host"), str(source), *options]
        host = Host(command, ring, **process)
        self.addCleanup(host.close)
        return host

    def model(self, code, *options, **more):
        """The host of the function `model` in a file of this code."""
        return self.start(f"{self.write(code)}:model", *options, **more)
