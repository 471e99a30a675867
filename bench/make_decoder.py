"""Writes a decoder of random weights, with a cache, in float32 and with weights of 4 bits in blocks:

    python3 bench/make_decoder.py FOLDER [--layers 14] [--width 2048] [--vocabulary 32000]

makes FOLDER/model.onnx and FOLDER/model.int4.onnx (MatMulNBits, blocks of 32, rounded to nearest),
each with its weights beside it in a .data file, and FOLDER/tokens.npz: 3.1 GB and 0.7 GB as it is.
Needs numpy and onnx (pip install numpy onnx). bench/decoder_bench.py runs them.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BLOCK = 32


class Writer:
    """One model: nodes and small constants, and the weights in a file of their own."""

    def __init__(self, folder, name, four_bits):
        self.name, self.four_bits = name, four_bits
        self.folder = folder
        self.data = open(folder / f"{name}.data", "wb")
        self.nodes, self.constants, self.count = [], [], 0

    def node(self, op, inputs, output=None, domain="", **attributes):
        self.count += 1
        output = output or f"t{self.count}"
        self.nodes.append(
            helper.make_node(op, inputs, [output], f"n{self.count}", domain=domain, **attributes)
        )
        return output

    def small(self, values, dtype):
        self.count += 1
        name = f"c{self.count}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def external(self, name, array):
        tensor = TensorProto(
            name=name,
            data_type=helper.np_dtype_to_tensor_dtype(array.dtype),
            dims=array.shape,
            data_location=TensorProto.EXTERNAL,
        )
        place = {"location": self.data.name.rsplit("/", 1)[-1], "offset": self.data.tell()}
        self.data.write(array.tobytes())
        place["length"] = array.nbytes
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        self.constants.append(tensor)
        return name

    def product(self, name, tensor, matrix, output=None):
        if not self.four_bits:
            return self.node("MatMul", [tensor, self.external(name, matrix)], output)
        rows, columns = matrix.shape
        blocks = np.ascontiguousarray(matrix.T).reshape(columns, rows // BLOCK, BLOCK)
        largest = np.take_along_axis(blocks, np.abs(blocks).argmax(-1)[..., None], -1)
        scales = largest / np.float32(-8)
        stored = (np.clip(np.rint(blocks / scales), -8, 7) + 8).astype(np.uint8)
        packed = stored[..., ::2] | (stored[..., 1::2] << 4)
        inputs = [tensor, self.external(name + "_Q4", packed)]
        inputs.append(self.external(name + "_scales", scales.reshape(-1)))
        sizes = {"K": rows, "N": columns, "bits": 4, "block_size": BLOCK}
        return self.node("MatMulNBits", inputs, output, "com.microsoft", **sizes)


def build(writer, layers, width, vocabulary):
    heads, size = width // 64, 64
    rng = np.random.default_rng(42)

    def weight(rows, columns):
        return rng.standard_normal((rows, columns), np.float32) / np.float32(np.sqrt(rows))

    def norm(tensor):
        square = writer.node("Mul", [tensor, tensor])
        mean = writer.node("ReduceMean", [square], axes=[-1])
        root = writer.node("Sqrt", [writer.node("Add", [mean, writer.small(1e-5, np.float32)])])
        return writer.node("Div", [tensor, root])

    split = writer.small([0, 0, heads, size], np.int64)
    join = writer.small([0, 0, width], np.int64)
    table = writer.external("table", weight(vocabulary, width))
    hidden = writer.node("Gather", [table, "input_ids"])
    # The token at place p of all may see those up to p.
    one = writer.small(1, np.int64)
    total = writer.node("Gather", [writer.node("Shape", ["attention_mask"]), one])
    columns = writer.node("Range", [writer.small(0, np.int64), total, one])
    rows = writer.node("Unsqueeze", ["position_ids", writer.small([-1], np.int64)])
    seen = writer.node("LessOrEqual", [columns, rows])
    seen = writer.node("Unsqueeze", [seen, writer.small([1], np.int64)])
    low, scale = writer.small(-1e9, np.float32), writer.small(size**-0.5, np.float32)
    for layer in range(layers):
        read = norm(hidden)
        parts = []
        for part in "qkv":
            product = writer.product(f"{part}{layer}", read, weight(width, width))
            product = writer.node("Reshape", [product, split])
            parts.append(writer.node("Transpose", [product], perm=[0, 2, 1, 3]))
        keys, values = (
            writer.node("Concat", [f"past.{layer}.{kind}", part], f"present.{layer}.{kind}", axis=2)
            for kind, part in (("key", parts[1]), ("value", parts[2]))
        )
        keys = writer.node("Transpose", [keys], perm=[0, 1, 3, 2])
        scores = writer.node("Mul", [writer.node("MatMul", [parts[0], keys]), scale])
        shares = writer.node("Softmax", [writer.node("Where", [seen, scores, low])], axis=-1)
        context = writer.node("MatMul", [shares, values])
        context = writer.node("Transpose", [context], perm=[0, 2, 1, 3])
        context = writer.node("Reshape", [context, join])
        hidden = writer.node(
            "Add", [hidden, writer.product(f"o{layer}", context, weight(width, width))]
        )
        read = norm(hidden)
        inner = width * 5 // 2
        gate = writer.product(f"gate{layer}", read, weight(width, inner))
        up = writer.product(f"up{layer}", read, weight(width, inner))
        gate = writer.node("Mul", [gate, writer.node("Sigmoid", [gate])])
        down = writer.product(f"down{layer}", writer.node("Mul", [gate, up]), weight(inner, width))
        hidden = writer.node("Add", [hidden, down])
    writer.product("head", norm(hidden), weight(width, vocabulary), "logits")
    info, integer, real = helper.make_tensor_value_info, TensorProto.INT64, TensorProto.FLOAT
    inputs = [
        info("input_ids", integer, ["batch", "sequence"]),
        info("attention_mask", integer, ["batch", "past + sequence"]),
        info("position_ids", integer, ["batch", "sequence"]),
    ]
    outputs = [info("logits", real, ["batch", "sequence", vocabulary])]
    for layer in range(layers):
        for kind in ("key", "value"):
            inputs.append(info(f"past.{layer}.{kind}", real, ["batch", heads, "past", size]))
            shape = ["batch", heads, "past + sequence", size]
            outputs.append(info(f"present.{layer}.{kind}", real, shape))
    graph = helper.make_graph(writer.nodes, "decoder", inputs, outputs, writer.constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    writer.data.close()
    onnx.save(model, str(writer.folder / f"{writer.name}.onnx"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=14)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--vocabulary", type=int, default=32000)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, four_bits in (("model", False), ("model.int4", True)):
        writer = Writer(options.folder, name, four_bits)
        build(writer, options.layers, options.width, options.vocabulary)
    tokens = np.random.default_rng(7).integers(0, options.vocabulary, (8, 256))
    np.savez(options.folder / "tokens.npz", input_ids=tokens)


if __name__ == "__main__":
    main()
