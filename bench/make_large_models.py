"""Writes a model with more weights than an ONNX file can hold, in float32 and quantized to int8:

    python3 bench/make_large_models.py FOLDER [--layers 12] [--width 8192]

makes FOLDER/large.onnx and FOLDER/large.int8.onnx, each with its weights beside it in a .data file:
`layers` MatMuls of width x width, 3.2 GB and 0.8 GB as it is. The int8 model has a Q-DQ pair on
what every MatMul reads, and weights behind a DequantizeLinear. Needs numpy and onnx (pip install
numpy onnx). To see what a command takes of them:

    /usr/bin/time -v vernier debug --float-model FOLDER/large.onnx --quant-model \
        FOLDER/large.int8.onnx --samples 1
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper


def external(name, dtype, shape, location, offset, length):
    tensor = TensorProto(name=name, data_type=dtype, dims=shape, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, "offset": offset, "length": length}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def constant(name, dtype, value):
    return helper.make_tensor(name, dtype, [], [value])


def layer_weights(layer, width):
    """Weights under which activations keep their size from layer to layer."""
    rng = np.random.default_rng([42, layer])
    return rng.standard_normal((width, width), dtype=np.float32) / np.float32(np.sqrt(width))


class Writer:
    """One model: its nodes and small constants, and the weights in a file of their own."""

    def __init__(self, path, width):
        self.path, self.width = path, width
        self.data = path.with_suffix(".onnx.data").open("wb")
        self.nodes, self.constants = [], []

    def node(self, op, inputs, output, **attributes):
        name = f"{output}_{op}"
        self.nodes.append(helper.make_node(op, inputs, [output], name=name, **attributes))
        return output

    def weight(self, name, values):
        dtype = helper.np_dtype_to_tensor_dtype(values.dtype)
        location = Path(self.data.name).name
        self.constants.append(
            external(name, dtype, values.shape, location, self.data.tell(), values.nbytes))
        values.tofile(self.data)
        return name

    def close(self, output):
        self.data.close()
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, self.width])
        graph = helper.make_graph(self.nodes, "large", [value("x")], [value(output)], self.constants)
        model = helper.make_model(
            graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
        self.path.write_bytes(model.SerializeToString())


def quantized(writer, tensor, low, high):
    scale = (high - low) / 255
    zero = int(round(-low / scale))
    writer.constants.append(constant(f"{tensor}_scale", TensorProto.FLOAT, scale))
    writer.constants.append(constant(f"{tensor}_zero_point", TensorProto.UINT8, zero))
    parameters = [f"{tensor}_scale", f"{tensor}_zero_point"]
    stored = writer.node("QuantizeLinear", [tensor, *parameters], f"{tensor}_QuantizeLinear_Output")
    return writer.node("DequantizeLinear", [stored, *parameters],
                       f"{tensor}_DequantizeLinear_Output")


def quantized_weight(writer, name, values):
    scale = float(np.abs(values).max()) / 127
    writer.constants.append(constant(f"{name}_scale", TensorProto.FLOAT, scale))
    stored = np.clip(np.rint(values / np.float32(scale)), -127, 127).astype(np.int8)
    return writer.node("DequantizeLinear", [writer.weight(f"{name}_quantized", stored), f"{name}_scale"],
                       f"{name}_DequantizeLinear_Output")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=8192)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    full = Writer(options.folder / "large.onnx", options.width)
    small = Writer(options.folder / "large.int8.onnx", options.width)
    tensor = "x"
    values = np.random.default_rng(42).random((1, options.width), dtype=np.float32)
    for layer in range(options.layers):
        weights = layer_weights(layer, options.width)
        before = quantized(small, tensor, min(0.0, float(values.min())), max(0.0, float(values.max())))
        output = f"h{layer}"
        full.node("MatMul", [tensor, full.weight(f"w{layer}", weights)], output)
        small.node("MatMul", [before, quantized_weight(small, f"w{layer}", weights)], output)
        values = values @ weights
        tensor = output
    full.close(tensor)
    small.close(tensor)


if __name__ == "__main__":
    main()
