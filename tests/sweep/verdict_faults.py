"""Faults that a conversion can bring into an ONNX model, each a function that changes a model and gives what
it changed, or None where the model has nothing to break in that way."""

import numpy as np
from onnx import helper, numpy_helper

INTEGER_PREFIX = "QLinear"


def base(node):
    """Conv for QLinearConv and ConvInteger."""
    op = node.op_type.removeprefix(INTEGER_PREFIX)
    return op.removesuffix("Integer")


def initializers(model):
    return {each.name: each for each in model.graph.initializer}


def replace(model, name, array):
    stored = initializers(model)[name]
    stored.CopyFrom(numpy_helper.from_array(np.asarray(array, order="C"), name))


def values(model, name):
    stored = initializers(model).get(name)
    return None if stored is None else numpy_helper.to_array(stored)


def weights(model):
    """Names of the weights of two or more axes, the largest first."""
    found = [each for each in model.graph.initializer if len(each.dims) >= 2 and np.prod(each.dims) >= 16]
    return [each.name for each in sorted(found, key=lambda each: -np.prod(each.dims))]


def quantizers(model):
    """Scales of activations, in graph order: what a QuantizeLinear or an operator of integers writes."""
    constant = initializers(model)
    scales = []
    for node in model.graph.node:
        place = None
        if node.op_type == "QuantizeLinear" and node.input[0] not in constant:
            place = 1
        elif node.op_type == "QLinearConv":
            place = 6
        elif node.op_type == "QLinearMatMul":
            place = 6
        elif node.op_type in ("QLinearAdd", "QLinearMul"):
            place = 6
        elif node.op_type == "QGemm" and len(node.input) > 7:
            place = 7
        if place is not None and node.input[place] in constant and node.input[place] not in scales:
            scales.append(node.input[place])
    return scales


def roll_weight(model):
    for name in weights(model):
        array = values(model, name)
        if array.shape[0] > 1:
            replace(model, name, np.roll(array, 1, axis=0))
            return name
    return None


def scale_weight(model):
    """The scale of a weight, x1.5."""
    constant = initializers(model)
    for node in model.graph.node:
        place = {"DequantizeLinear": (0, 1), "QLinearConv": (3, 4), "QLinearMatMul": (3, 4), "QGemm": (3, 4)}
        found = place.get(node.op_type)
        if found and node.input[found[0]] in constant and len(constant[node.input[found[0]]].dims) >= 2:
            scale = node.input[found[1]]
            replace(model, scale, values(model, scale) * np.float32(1.5))
            return node.input[found[0]]
    return None


def narrow(factor, part):
    def inject(model):
        scales = quantizers(model)
        if not scales:
            return None
        name = scales[min(len(scales) - 1, int(len(scales) * part))]
        replace(model, name, (values(model, name) * np.float32(factor)).astype(np.float32))
        return name

    return inject


def reverse_weights(model):
    found = weights(model)
    for name in found:
        array = values(model, name)
        replace(model, name, array.reshape(-1)[::-1].reshape(array.shape))
    return found[0] if found else None


def remove_activation(model):
    """One in the middle."""
    ops = ("Relu", "LeakyRelu", "PRelu", "Sigmoid", "Erf", "Tanh", "Clip", "HardSwish", "HardSigmoid", "Gelu")
    found = [node for node in model.graph.node if node.op_type in ops]
    if not found:
        return None
    node = found[len(found) // 2]
    name = node.output[0]
    node.CopyFrom(helper.make_node("Identity", [node.input[0]], [name], name=node.name))
    return name


def drop_output(model):
    if len(model.graph.output) < 2:
        return None
    name = model.graph.output[-1].name
    del model.graph.output[-1]
    return name


def swap_outputs(model):
    """Two outputs of one shape change their names."""
    outputs = model.graph.output
    for i in range(len(outputs)):
        for j in range(i):
            if outputs[i].type != outputs[j].type:
                continue
            first, second = outputs[i].name, outputs[j].name
            other = {first: second, second: first}
            for node in model.graph.node:
                for names in (node.input, node.output):
                    names[:] = [other.get(name, name) for name in names]
            return first
    return None


def attribute(node, name):
    return next((each for each in node.attribute if each.name == name), None)


def shift_pads(model):
    """A kernel that is padded on the other side: the same shapes."""
    found = []
    for node in model.graph.node:
        pads = attribute(node, "pads")
        if base(node) == "Conv" and pads and max(pads.ints) > 0:
            found.append(pads)
    if not found:
        return None
    pads = found[len(found) // 2]
    half = len(pads.ints) // 2
    ints = list(pads.ints)
    both = [ints[i] + ints[i + half] for i in range(half)]
    pads.ints[:] = [0] * half + both if ints[:half] != [0] * half else both + [0] * half
    return "pads"


def activations(model, node, places):
    constant = set(initializers(model))
    for each in model.graph.node:
        if each.op_type in ("Constant", "DequantizeLinear") and (not each.input or each.input[0] in constant):
            constant.add(each.output[0])
    return all(node.input[place] not in constant for place in places)


def remove_residual(model):
    found = []
    for i, node in enumerate(model.graph.node):
        if node.op_type == "Add" and activations(model, node, (0, 1)):
            found.append(i)
        if node.op_type == "QLinearAdd" and activations(model, node, (0, 3)):
            found.append(i)
    if not found:
        return None
    i = found[len(found) // 2]
    node = model.graph.node[i]
    name = node.output[0]
    if node.op_type == "Add":
        node.CopyFrom(helper.make_node("Identity", [node.input[0]], [name], name=node.name))
        return name
    inputs = list(node.input)
    real = helper.make_node("DequantizeLinear", inputs[0:3], [name + "_real"])
    stored = helper.make_node("QuantizeLinear", [name + "_real", inputs[6], inputs[7]], [name])
    nodes = list(model.graph.node)
    nodes[i : i + 1] = [real, stored]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return name


def change_epsilon(model):
    found = []
    for node in model.graph.node:
        if node.op_type in ("BatchNormalization", "LayerNormalization", "InstanceNormalization"):
            found.append(node)
    if found:
        node = found[len(found) // 2]
        kept = [each for each in node.attribute if each.name != "epsilon"]
        old = attribute(node, "epsilon")
        epsilon = (old.f if old else 1e-5) * 1000
        del node.attribute[:]
        node.attribute.extend(kept + [helper.make_attribute("epsilon", epsilon)])
        return node.output[0]
    return None


def change_slope(model):
    for node in model.graph.node:
        if node.op_type == "LeakyRelu":
            kept = [each for each in node.attribute if each.name != "alpha"]
            old = attribute(node, "alpha")
            del node.attribute[:]
            node.attribute.extend(kept + [helper.make_attribute("alpha", (old.f if old else 0.01) * 5)])
            return node.output[0]
    for node in model.graph.node:
        if node.op_type == "PRelu" and node.input[1] in initializers(model):
            replace(model, node.input[1], values(model, node.input[1]) * np.float32(2))
            return node.input[1]
    return None


def swap_operands(model):
    found = [node for node in model.graph.node if node.op_type in ("Sub", "Div") and len(node.input) == 2]
    found = [node for node in found if activations(model, node, (0, 1))]
    if not found:
        return None
    node = found[len(found) // 2]
    node.input[:] = [node.input[1], node.input[0]]
    return node.output[0]


def swap_concat(model):
    """The first two that Concat joins."""
    found = [node for node in model.graph.node if node.op_type == "Concat" and len(node.input) >= 2]
    found = [node for node in found if activations(model, node, (0, 1))]
    if not found:
        return None
    node = found[len(found) // 2]
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return node.output[0]


def transpose_weight(model):
    for name in weights(model):
        array = values(model, name)
        if array.ndim >= 2 and array.shape[0] == array.shape[1] and array.shape[0] > 1:
            replace(model, name, np.swapaxes(array, 0, 1))
            return name
    return None


def swap_weights(model):
    """Two weights of one shape, with what belongs to each of them left where it is."""
    found = weights(model)
    for i, first in enumerate(found):
        for second in found[i + 1 :]:
            a, b = values(model, first), values(model, second)
            if a.shape == b.shape and a.dtype == b.dtype and not np.array_equal(a, b):
                replace(model, first, b)
                replace(model, second, a)
                return first
    return None


def change_axis(model):
    found = [node for node in model.graph.node if node.op_type in ("Softmax", "LogSoftmax")]
    if not found:
        return None
    node = found[0]
    old = attribute(node, "axis")
    axis = old.i if old else -1
    del node.attribute[:]
    node.attribute.append(helper.make_attribute("axis", 0 if axis != 0 else 1))
    return node.output[0]


def change_pool(model):
    for node in model.graph.node:
        if node.op_type == "MaxPool" and len(node.output) == 1:
            kept = [each for each in node.attribute if each.name in ("kernel_shape", "pads", "strides")]
            inputs, outputs, name = list(node.input), list(node.output), node.name
            node.CopyFrom(helper.make_node("AveragePool", inputs, outputs, name=name))
            node.attribute.extend(kept)
            return outputs[0]
        if node.op_type == "GlobalAveragePool":
            node.op_type = "GlobalMaxPool"
            return node.output[0]
    return None


def roll_bias(model):
    for node in model.graph.node:
        place = {"Conv": 2, "Gemm": 2, "QLinearConv": 8, "QGemm": 6}.get(node.op_type)
        if place is None or len(node.input) <= place:
            continue
        name = node.input[place]
        writer = next((each for each in model.graph.node if name in each.output), None)
        if writer is not None and writer.op_type == "DequantizeLinear":
            name = writer.input[0]
        array = values(model, name)
        if array is not None and array.size > 1 and np.ptp(array) > 0:
            replace(model, name, np.roll(array, array.size // 2))
            return name
    return None


FAULTS = {
    "weight_rolled": roll_weight,
    "weight_scale": scale_weight,
    "weights_swapped": swap_weights,
    "weight_transposed": transpose_weight,
    "other_weights": reverse_weights,
    "bias_rolled": roll_bias,
    "range_quarter": narrow(0.25, 0.5),
    "range_quarter_early": narrow(0.25, 0.15),
    "range_quarter_late": narrow(0.25, 0.85),
    "range_half": narrow(0.5, 0.5),
    "range_half_early": narrow(0.5, 0.15),
    "range_half_late": narrow(0.5, 0.85),
    "input_range_quarter": narrow(0.25, 0),
    "activation_removed": remove_activation,
    "residual_removed": remove_residual,
    "pads": shift_pads,
    "epsilon": change_epsilon,
    "slope": change_slope,
    "operands_swapped": swap_operands,
    "concat_swapped": swap_concat,
    "softmax_axis": change_axis,
    "pool": change_pool,
    "output_dropped": drop_output,
    "outputs_swapped": swap_outputs,
}
