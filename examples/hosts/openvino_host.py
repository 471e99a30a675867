"""A host for another engine: runs a model in OpenVINO and shows each of its tensors by its name.

    vernier layers candidate.onnx --reference "host:python3 examples/hosts/openvino_host.py model.onnx"

`layers` then says at which tensor the candidate in ONNX Runtime and the model in OpenVINO begin to
differ. A tensor that is kept cannot be fused away: OpenVINO computes it as the model says.
"""

import sys
from pathlib import Path

import numpy as np
import openvino

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from vernier_host.protocol import Channel, Failure, serve  # noqa: E402

HIDDEN = {"Parameter", "Constant", "Result"}


class OpenVinoHost:
    def __init__(self, path):
        self.model = openvino.Core().read_model(path)
        self.outputs = len(self.model.outputs)
        self.shown = [name_of(output) for output in self.model.outputs]

    def describe(self, request, inputs):
        layers = self.keep_every_tensor() if request["watch"] != "nothing" else []
        self.layers = [each["name"] for each in layers]
        config = {"INFERENCE_PRECISION_HINT": "f32"}
        if request.get("threads"):
            config["INFERENCE_NUM_THREADS"] = request["threads"]
        self.compiled = openvino.Core().compile_model(self.model, "CPU", config)
        return {
            "inputs": [spec(each) for each in self.model.inputs],
            "outputs": [spec(each) for each in self.model.outputs[: self.outputs]],
            "layers": layers,
            "versions": {"openvino": openvino.get_version().split("-")[0]},
        }

    def keep_every_tensor(self):
        """Makes an output of each tensor that is computed and has a name; returns them."""
        layers = []
        for node in self.model.get_ordered_ops():
            for output in node.outputs():
                if node.get_type_name() in HIDDEN or not output.get_names():
                    continue
                layers.append({**spec(output), "type": node.get_type_name()})
                if layers[-1]["name"] not in self.shown:
                    self.model.add_outputs([output])
                    self.shown.append(layers[-1]["name"])
        return layers

    def run(self, inputs, show, give):
        arrays = [np.frombuffer(data, each["dtype"]).reshape(each["shape"]) for each, data in inputs]
        try:
            results = self.compiled(arrays)
        except RuntimeError as error:
            raise Failure(str(error).strip().splitlines()[-1]) from error
        values = {name: results[i] for i, name in enumerate(self.shown)}
        for name in self.layers if show else []:
            send(show, "tensor", name, values[name])
        for name in self.shown[: self.outputs]:
            send(give, "output", name, values[name])

    def parameters(self, give, names):
        for node in self.model.get_ordered_ops():
            name = node.get_friendly_name()
            if node.get_type_name() == "Constant" and (names is None or name in names):
                send(give, "tensor", name, node.data)


def name_of(output):
    return sorted(output.get_names())[0]


def spec(output):
    return {"name": name_of(output), "dtype": output.get_element_type().to_dtype().name}


def send(to, kind, name, value):
    value = np.ascontiguousarray(value)
    message = {"type": kind, "name": name, "dtype": value.dtype.name, "shape": value.shape}
    to(message, value.ctypes.data, value.nbytes)


if __name__ == "__main__":
    serve(Channel(), OpenVinoHost(sys.argv[1]))
