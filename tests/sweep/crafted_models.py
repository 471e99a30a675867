"""ONNX models that nobody would export, written byte by byte: no library has a say in what they may hold."""

import struct

FLOAT, UINT8, INT8, INT32, INT64, STRING, BOOL = 1, 2, 3, 6, 7, 8, 9


def varint(number):
    number &= (1 << 64) - 1
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(encoded + bytes([number]))


def field(key, value):
    if isinstance(value, int):
        return varint(key << 3) + varint(value)
    if isinstance(value, float):
        return varint(key << 3 | 5) + struct.pack("<f", value)
    content = value.encode() if isinstance(value, str) else value
    return varint(key << 3 | 2) + varint(len(content)) + content


def fields(key, values):
    return b"".join(field(key, value) for value in values)


def value(name, dims=(2,), kind=FLOAT):
    """An input or output; a dimension is a number or a name, and no dims are no shape."""
    shape = b""
    if dims is not None:
        shape = field(2, b"".join(field(1, field(2 if isinstance(dim, str) else 1, dim)) for dim in dims))
    return field(1, name) + field(2, field(1, field(1, kind) + shape))


def tensor(name, dims, raw=b"", kind=FLOAT, more=b""):
    return fields(1, dims) + field(2, kind) + field(8, name) + (field(9, raw) if raw else b"") + more


def floats(name, *numbers, dims=None):
    return tensor(name, [len(numbers)] if dims is None else dims, struct.pack(f"<{len(numbers)}f", *numbers))


def integers(name, *numbers, dims=None):
    return tensor(name, [len(numbers)] if dims is None else dims, struct.pack(f"<{len(numbers)}q", *numbers), INT64)


def external(name, dims, **entries):
    """A tensor whose data stands in another file."""
    stored = b"".join(field(13, field(1, key) + field(2, text)) for key, text in entries.items())
    return tensor(name, dims, more=stored + field(14, 1))


def attribute(name, given):
    if isinstance(given, tuple):  # the type that it claims, and its bytes
        return field(1, name) + given[1] + field(20, given[0])
    if isinstance(given, int):
        return field(1, name) + field(3, given) + field(20, 2)
    if isinstance(given, float):
        return field(1, name) + field(2, given) + field(20, 1)
    if isinstance(given, str):
        return field(1, name) + field(4, given) + field(20, 3)
    return field(1, name) + fields(8, given) + field(20, 7)


def of_tensor(content):
    return 4, field(5, content)


def of_graph(content):
    return 5, field(6, content)


def node(op, inputs, outputs, name="", domain="", **attributes):
    text = fields(1, inputs) + fields(2, outputs) + field(3, name) + field(4, op)
    return text + fields(5, [attribute(*each) for each in attributes.items()]) + (field(7, domain) if domain else b"")


def graph(nodes, inputs=(), outputs=(), weights=(), more=b""):
    return fields(1, nodes) + field(2, "g") + fields(5, weights) + fields(11, inputs) + fields(12, outputs) + more


def opset(domain, version):
    return field(8, field(1, domain) + field(2, version))


DOMAINS = opset("", 17) + opset("com.microsoft", 1) + opset("f", 1)


def model(content, domains=DOMAINS, more=b""):
    return field(1, 8) + field(7, content) + domains + more


def chain(nodes, weights=(), dims=(2,), out=None, kind=FLOAT, more=b"", functions=b""):
    """From input x to output y."""
    return model(graph(nodes, [value("x", dims, kind)], [value("y", out)], weights, more), more=functions)


def function(name, nodes, inputs=("a",), outputs=("b",)):
    text = field(1, name) + fields(4, inputs) + fields(5, outputs) + fields(7, nodes)
    return field(25, text + field(9, field(1, "") + field(2, 17)) + field(9, field(1, "f") + field(2, 1)) + field(10, "f"))


def nested_ifs(depth):
    content = node("Neg", ["x"], ["y"])
    for _ in range(depth):
        branch = graph([content], outputs=[value("y", None)])
        content = node("If", ["yes"], ["y"], then_branch=of_graph(branch), else_branch=of_graph(graph([node("Abs", ["x"], ["y"])], outputs=[value("y", None)])))
    return chain([content], [tensor("yes", [], b"\1", BOOL)])


def nested_optional(depth):
    kind = field(1, field(1, FLOAT))
    for _ in range(depth):
        kind = field(9, field(1, kind))
    return model(graph([node("Identity", ["x"], ["y"])], [field(1, "x") + field(2, kind)], [value("y", None)]))


def loop(trips, scanned=False):
    outs = [value("still", (), BOOL), value("w", None)] + ([value("s", None)] if scanned else [])
    body = [node("Identity", ["c"], ["still"]), node("Neg", ["v"], ["w"]), node("Abs", ["v"], ["s"])]
    content = graph(body, [value("i", (), INT64), value("c", (), BOOL), value("v", None)], outs)
    made = node("Loop", ["trips", "yes", "x"], ["y"] + (["z"] if scanned else []), body=of_graph(content))
    return chain([made], [integers("trips", trips, dims=[]), tensor("yes", [], b"\1", BOOL)])


def sparse(values, indices, dims):
    """x + a sparse weight, made dense by whoever reads it."""
    return chain([node("Add", ["x", "w"], ["y"])], more=field(15, field(1, values) + field(2, indices) + fields(3, dims)))


def added(weight):
    return chain([node("Add", ["x", "w"], ["y"])], [weight])


def models():
    """Names and contents."""
    yield "empty", b""
    yield "no_graph", field(1, 8) + DOMAINS
    yield "empty_graph", model(b"")
    yield "no_opset", model(graph([node("Neg", ["x"], ["y"])], [value("x")], [value("y")]), b"")
    for version in (0, -1, 1 << 62):
        yield f"opset_{version}", model(graph([node("Neg", ["x"], ["y"])], [value("x")], [value("y")]), opset("", version))
    yield "two_opsets", model(graph([node("Neg", ["x"], ["y"])], [value("x")], [value("y")]), opset("", 17) + opset("", 3))
    for version in (0, -1, 1 << 40):
        yield f"ir_version_{version}", field(1, version) + model(graph([node("Neg", ["x"], ["y"])], [value("x")], [value("y")]))[2:]
    for depth in (20, 32, 1000):
        yield f"nested_ifs_{depth}", nested_ifs(depth)
    for depth in (20, 90):
        yield f"nested_optional_{depth}", nested_optional(depth)
    # Graphs that are none.
    yield "cycle", chain([node("Add", ["x", "b"], ["a"]), node("Neg", ["a"], ["b"]), node("Neg", ["b"], ["y"])])
    yield "own_input", chain([node("Add", ["x", "y"], ["y"])])
    yield "unsorted", chain([node("Neg", ["a"], ["y"]), node("Neg", ["x"], ["a"])])
    yield "output_of_nobody", model(graph([], [value("x")], [value("nobody")]))
    yield "input_is_output", model(graph([], [value("x")], [value("x")]))
    yield "same_output_twice", model(graph([node("Neg", ["x"], ["y"])], [value("x")], [value("y"), value("y")]))
    yield "same_input_twice", model(graph([node("Neg", ["x"], ["y"])], [value("x"), value("x", (3,))], [value("y")]))
    yield "same_weight_twice", chain([node("Add", ["x", "w"], ["y"])], [floats("w", 1, 2), floats("w", 1, 2, 3)])
    yield "assigned_twice", chain([node("Neg", ["x"], ["y"], "n"), node("Abs", ["x"], ["y"], "n")])
    yield "weight_is_output", model(graph([], [], [value("w")], [floats("w", 1, 2)]))
    yield "weight_is_assigned", chain([node("Neg", ["x"], ["w"]), node("Add", ["x", "w"], ["y"])], [floats("w", 1, 2)])
    yield "names_are_empty", model(graph([node("Neg", [""], [""])], [value("")], [value("")]))
    yield "operator_without_name", chain([node("", ["x"], ["y"])])
    yield "no_inputs_no_outputs", chain([node("Neg", [], [])])
    yield "untyped_input", model(graph([node("Neg", ["x"], ["y"])], [field(1, "x")], [field(1, "y")]))
    yield "terminal_names", chain([node("Neg", ["x"], ["\x1b[31m\n\u202e\u009b2J<script>|"], "]]>&\x00"), node("Neg", ["\x1b[31m\n\u202e\u009b2J<script>|"], ["y"], "=cmd|' /C calc'!A0")])
    yield "invalid_utf8_names", chain([node("Neg", ["x"], [b"\xff\xfe\xc0\x80"]), node("Neg", [b"\xff\xfe\xc0\x80"], ["y"])])
    yield "name_of_a_megabyte", chain([node("Neg", ["x"], ["n" * 1_000_000]), node("Neg", ["n" * 1_000_000], ["y"])])
    yield "many_inputs", chain([node("Sum", ["x"] * 20_000, ["y"])])
    yield "metadata_of_a_megabyte", chain([node("Neg", ["x"], ["y"])]) + field(14, field(1, "k") + field(2, "v\x1b" * 500_000))
    long = [node("Neg", [f"t{i}" if i else "x"], [f"t{i + 1}"], f"n{i}") for i in range(100_000)]
    yield "chain_100000", chain(long + [node("Neg", ["t100000"], ["y"])])
    yield "weights_20000", chain([node("Neg", ["x"], ["y"])], [floats(f"w{i}", 1.0) for i in range(20_000)])
    # Sizes.
    for name, dims in {"square": [1 << 31, 1 << 31], "overflow": [1 << 32, 1 << 32], "most": [(1 << 63) - 1], "least": [-(1 << 63)], "negative": [-2], "negatives": [-2, -1], "rank": [1] * 5000, "zeros": [0, (1 << 63) - 1]}.items():
        yield f"weight_of_{name}", added(tensor("w", dims))
        yield f"weight_of_{name}_with_data", added(tensor("w", dims, b"\0" * 8))
        yield f"input_of_{name}", chain([node("Neg", ["x"], ["y"])], dims=dims)
    yield "input_of_a_terabyte", chain([node("Neg", ["x"], ["y"])], dims=[1 << 20, 1 << 18])
    yield "input_of_16_gigabytes", chain([node("ReduceMax", ["x"], ["y"])], dims=[1 << 16, 1 << 16])
    yield "weight_of_no_type", added(tensor("w", [2], b"\0" * 8, 0))
    yield "weight_of_type_99", added(tensor("w", [2], b"\0" * 8, 99))
    yield "weight_of_type_minus", added(tensor("w", [2], b"\0" * 8, -1))
    yield "weight_of_bytes_as_text", added(tensor("w", [2], b"\0" * 8, STRING))
    yield "weight_in_wrong_field", added(tensor("w", [2], kind=FLOAT, more=fields(7, [1, 2])))
    yield "weight_in_segments", added(tensor("w", [2], more=field(3, field(1, 0) + field(2, 1 << 62))))
    for name, op, weights, inputs in (
        ("constant_of_shape", "ConstantOfShape", [integers("s", 1 << 40)], ["s"]),
        ("expand", "Expand", [integers("s", 1 << 20, 1 << 18)], ["x", "s"]),
        ("range", "Range", [integers("s", 0, dims=[]), integers("e", 1 << 62, dims=[]), integers("d", 1, dims=[])], ["s", "e", "d"]),
        ("tile", "Tile", [integers("s", 1 << 40)], ["x", "s"]),
        ("pad", "Pad", [integers("s", 1 << 40, 1 << 40)], ["x", "s"]),
        ("pad_negative", "Pad", [integers("s", -(1 << 62), 3)], ["x", "s"]),
        ("reshape", "Reshape", [integers("s", 1 << 32, 1 << 32)], ["x", "s"]),
        ("resize", "Resize", [floats("s", 1e30)], ["x", "", "s"]),
        ("resize_nan", "Resize", [floats("s", float("nan"))], ["x", "", "s"]),
        ("slice", "Slice", [integers("s", -(1 << 63)), integers("e", (1 << 63) - 1), integers("a", 0), integers("p", -(1 << 63))], ["x", "s", "e", "a", "p"]),
        ("gather", "Gather", [integers("s", 1 << 40)], ["x", "s"]),
        ("topk", "TopK", [integers("s", -1)], ["x", "s"]),
        ("one_hot", "OneHot", [integers("i", 0), integers("d", 1 << 40), floats("v", 0, 1)], ["i", "d", "v"]),
    ):
        yield f"huge_{name}", chain([node(op, inputs, ["y"])], weights)
    yield "four_gigabytes_of_nothing", chain([node("Expand", ["x", "s"], ["a"]), node("Neg", ["a"], ["b"]), node("ReduceMax", ["b"], ["y"])], [integers("s", 1 << 15, 1 << 15)], dims=[1])
    for name, given in {"group": {"group": 0}, "negative_group": {"group": -1}, "strides": {"strides": [0, 0]}, "dilations": {"dilations": [1 << 62, 1 << 62]}, "kernel": {"kernel_shape": [1 << 31, 1 << 31]}, "pads": {"pads": [1 << 40] * 4}}.items():
        yield f"conv_{name}", chain([node("Conv", ["x", "w"], ["y"], **given)], [floats("w", 1.0, dims=[1, 1, 1, 1])], dims=[1, 1, 4, 4])
    yield "pool_kernel", chain([node("MaxPool", ["x"], ["y"], kernel_shape=[1 << 31, 1 << 31])], dims=[1, 1, 4, 4])
    yield "transpose_axes", chain([node("Transpose", ["x"], ["y"], perm=[5, -7])])
    yield "einsum", chain([node("Einsum", ["x"], ["y"], equation="i->" + "i" * 5000)])
    # Control flow and functions.
    for trips in (1 << 62, -1):
        yield f"loop_{trips}", loop(trips)
        yield f"loop_{trips}_scanned", loop(trips, True)
    yield "if_without_branches", chain([node("If", ["yes"], ["y"])], [tensor("yes", [], b"\1", BOOL)])
    yield "if_with_one_branch", chain([node("If", ["yes"], ["y"], then_branch=of_graph(graph([node("Neg", ["x"], ["y"])], outputs=[value("y", None)])))], [tensor("yes", [], b"\1", BOOL)])
    yield "if_with_a_number", chain([node("If", ["yes"], ["y"], then_branch=1, else_branch="else")], [tensor("yes", [], b"\1", BOOL)])
    yield "loop_without_body", chain([node("Loop", ["", "", "x"], ["y"])])
    yield "scan_of_nothing", chain([node("Scan", [], ["y"], num_scan_inputs=1 << 40, body=of_graph(graph([])))])
    yield "function_in_itself", chain([node("r", ["x"], ["y"], domain="f")], functions=function("r", [node("r", ["a"], ["b"], domain="f")]))
    yield "functions_in_turn", chain([node("r", ["x"], ["y"], domain="f")], functions=function("r", [node("s", ["a"], ["b"], domain="f")]) + function("s", [node("r", ["a"], ["b"], domain="f")]))
    doubling = [function(f"d{i}", [node(f"d{i + 1}", ["a"], ["c"], domain="f"), node(f"d{i + 1}", ["c"], ["b"], domain="f")]) for i in range(40)]
    yield "functions_double_40_times", chain([node("d0", ["x"], ["y"], domain="f")], functions=b"".join(doubling) + function("d40", [node("Neg", ["a"], ["b"])]))
    yield "function_without_nodes", chain([node("r", ["x"], ["y"], domain="f")], functions=function("r", []))
    yield "attribute_of_no_function", chain([node("LeakyRelu", ["x"], ["y"], alpha=(1, field(21, "nobody")))])
    # Weights in other forms.
    yield "sparse_beyond", sparse(floats("w", 1.0), integers("i", 1 << 40), [2])
    yield "sparse_before", sparse(floats("w", 1.0), integers("i", -5), [2])
    yield "sparse_of_a_terabyte", sparse(floats("w", 1.0), integers("i", 0), [1 << 20, 1 << 18])
    yield "sparse_negative", sparse(floats("w", 1.0), integers("i", 0), [-4])
    yield "sparse_without_values", sparse(tensor("w", [5]), integers("i", 0), [2])
    yield "sparse_of_another_rank", sparse(floats("w", 1.0), integers("i", 0, 0, 0, dims=[1, 3]), [2])
    for name, scale, zero in (("zero", 0.0, 0), ("nan", float("nan"), 0), ("infinite", float("inf"), 0), ("negative", -1.0, 0), ("denormal", 1e-45, 255)):
        weights = [floats("s", scale, dims=[]), tensor("z", [], bytes([zero]), UINT8)]
        yield f"scale_{name}", chain([node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["y"])], weights)
    yield "scale_per_million", chain([node("QuantizeLinear", ["x", "s"], ["q"], axis=99), node("DequantizeLinear", ["q", "s"], ["y"], axis=-99)], [tensor("s", [1 << 20], b"\0\0\0\x3f" * (1 << 20))])
    yield "scale_is_computed", chain([node("QuantizeLinear", ["x", "y"], ["q"]), node("DequantizeLinear", ["q", "y"], ["y"])])
    yield "zero_point_is_float", chain([node("QuantizeLinear", ["x", "s", "s"], ["q"]), node("DequantizeLinear", ["q", "s", "s"], ["y"])], [floats("s", 1.0, dims=[])])
    yield "quantized_weight_without_scale", chain([node("DequantizeLinear", ["w"], ["d"]), node("Add", ["x", "d"], ["y"])], [tensor("w", [2], b"\1\2", INT8)])
    yield "qlinear_without_inputs", chain([node("QLinearConv", ["x"], ["y"]), node("QLinearMatMul", [], ["z"])])
    for name, given in {"bits": {"bits": 0, "K": 2, "N": 2, "block_size": 16}, "sizes": {"bits": 4, "K": 1 << 62, "N": 1 << 62, "block_size": 1 << 62}, "block": {"bits": 4, "K": 2, "N": 2, "block_size": 0}, "negative": {"bits": 4, "K": -2, "N": -2, "block_size": -16}}.items():
        yield f"n_bits_{name}", chain([node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **given)], [tensor("w", [2, 1, 8], b"\0" * 16, UINT8), floats("s", 1.0, 1.0)])
    for op in ("Div", "Mod"):
        yield f"smallest_{op.lower()}", chain([node("Cast", ["x"], ["c"], to=INT64), node("Mul", ["c", "0"], ["n"]), node("Add", ["n", "m"], ["a"]), node(op, ["a", "one"], ["z"]), node("Cast", ["z"], ["y"], to=FLOAT)], [integers("0", 0), integers("m", -(1 << 63)), integers("one", -1)])
    # Data in other files.
    for name, entries in {
        "outside": {"location": "../../../../etc/passwd"}, "absolute": {"location": "/etc/passwd"}, "nul": {"location": "data\0.bin"},
        "empty": {"location": ""}, "missing": {"location": "nobody.bin"}, "folder": {"location": "."}, "device": {"location": "zero"},
        "pipe": {"location": "pipe"}, "link": {"location": "link"}, "own_model": {"location": "external_own_model.onnx", "length": "8"},
        "offset": {"location": "data.bin", "offset": str((1 << 63) - 1)}, "negative_offset": {"location": "data.bin", "offset": "-8"},
        "length": {"location": "data.bin", "length": str(1 << 62)}, "words": {"location": "data.bin", "offset": "ten", "length": "\x1b[2J"},
        "digits": {"location": "data.bin", "offset": "9" * 400}, "wrap": {"location": "data.bin", "offset": str((1 << 64) - 4), "length": "8"},
        "no_location": {"offset": "0"}, "long_location": {"location": "a/" * 50_000},
    }.items():
        yield f"external_{name}", added(external("w", [2], **entries))
    overlapping = [external(f"w{i}", [2], location="data.bin", offset=str(4 * (i % 3)), length="8") for i in range(2000)]
    yield "external_overlapping", chain([node("Add", ["x", "w0"], ["y"])], overlapping)
    yield "external_huge_and_sparse", added(external("w", [1 << 30], location="sparse.bin"))
    # What looks like a decoder, or like pictures.
    cache = [value(f"past_key_values.{i}.{part}", dims, kind) for i in range(2) for part, dims, kind in (("key", None, FLOAT), ("value", ("batch", -1, 1 << 40, 64), FLOAT))]
    yield "decoder_without_shapes", model(graph([node("Gather", ["w", "input_ids"], ["logits"])], [value("input_ids", ("batch", "sequence"), INT64), value("attention_mask", None, INT64), *cache], [value("logits", None), value("present.0.key", None)], [floats("w", 1, 2, dims=[2, 1])]))
    yield "picture_of_no_size", chain([node("Conv", ["x", "w"], ["y"])], [floats("w", 1.0, 1.0, 1.0, dims=[1, 3, 1, 1])], dims=["n", 3, "h", "w"])
