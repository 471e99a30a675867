"""A host in plain numpy, to copy from: two layers whose weights are in an .npz file.

    vernier layers model.onnx --reference "host:python3 examples/hosts/numpy_host.py weights.npz"

docs/host-protocol.md says what is sent. This host leaves the ring alone: bytes follow their message.
"""

import json
import os
import socket
import sys

import numpy as np

if len(sys.argv) != 2 or "VERNIER_HOST_SOCKET" not in os.environ:
    sys.exit("usage: vernier layers MODEL --reference 'host:python3 numpy_host.py WEIGHTS.npz'")
connection = socket.socket(fileno=int(os.environ["VERNIER_HOST_SOCKET"]))
requests = connection.makefile("rb")
weights = dict(np.load(sys.argv[1]))


def send(message, data=b""):
    connection.sendall(json.dumps(message).encode() + b"\n" + data)


def send_tensor(kind, name, value):
    value = np.ascontiguousarray(value)
    spec = {"name": name, "dtype": value.dtype.name, "shape": value.shape}
    send({"type": kind, **spec, "bytes": value.nbytes}, value.tobytes())


def layers(x):
    """Yields what each layer computes, in turn."""
    hidden = x @ weights["first.weight"].T + weights["first.bias"]
    yield "first", "Linear", hidden
    hidden = np.maximum(hidden, 0)
    yield "relu", "ReLU", hidden
    yield "second", "Linear", hidden @ weights["second.weight"].T + weights["second.bias"]


for line in requests:
    request = json.loads(line)
    inputs = []
    for each in request.get("inputs", []):
        data = np.frombuffer(requests.read(each["bytes"]), each["dtype"])
        inputs.append(data.reshape(each["shape"]).astype(np.float32))
    if request["type"] == "hello":
        send({"type": "hello", "protocol": 1})
    elif request["type"] == "describe":
        found = [{"name": name, "type": kind} for name, kind, _ in layers(inputs[0])]
        outputs = [{"name": "output", "dtype": "float32"}]
        taken = [{"name": request["inputs"][0]["name"], "dtype": "float32"}]
        versions = {"python": sys.version.split()[0], "numpy": np.__version__}
        send({"type": "description", "inputs": taken, "outputs": outputs, "layers": found,
              "outputs_are_positional": True, "versions": versions})
    elif request["type"] == "run":
        for name, _, value in layers(inputs[0]):
            if request["observe"]:
                send_tensor("tensor", name, value)
        send_tensor("output", "output", value)
        send({"type": "done"})
    elif request["type"] == "parameters":
        for name, value in weights.items():
            send_tensor("tensor", name, value)
        send({"type": "done"})
    else:
        send({"type": "error", "message": f"no request is called {request['type']}"})
