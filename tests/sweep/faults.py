"""Faults that a conversion can bring into a model. Each function changes the export and gives (the layer
that is wrong, its cause), or None where the model has nothing to break in this way."""

import copy

import numpy as np
import onnx
from onnx import helper, numpy_helper

ACTIVATIONS = ("ReLU", "GELU", "GELUActivation", "Hardswish", "Hardsigmoid", "SiLU", "SiLUActivation")


def middle(found):
    return found[len(found) // 2] if found else None


def scopes_of(node):
    for entry in node.metadata_props:
        if entry.key == "pkg.torch.onnx.name_scopes":
            return [part for part in entry.value.split("'")[1::2]]
    return []


def nodes_of(model, module):
    return [node for node in model.graph.node if scopes_of(node)[-2:-1] == [module]]


def called_once(layers):
    return [each for each in layers if sum(other["module"] == each["module"] for other in layers) == 1]


def initializers(model):
    return {each.name: each for each in model.graph.initializer}


def own_weights(model, layers):
    """[(layer, initializer)] of matrix products and convolutions that keep the name of their weight."""
    known = initializers(model)
    names = [(each["name"], each["module"] + ".weight") for each in called_once(layers)]
    found = [(layer, known[name]) for layer, name in names if name in known]
    return [(layer, each) for layer, each in found if len(each.dims) > 1 and numpy_helper.to_array(each).any()]


def set_values(initializer, values):
    initializer.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values), initializer.name))


def weight_scaled(model, layers):
    found = [each for each in own_weights(model, layers) if "embed" not in each[0]]
    if not found:
        return None
    layer, weight = middle(found)
    set_values(weight, numpy_helper.to_array(weight) * np.float32(1.01))
    return layer, "weight_bit_mismatch"


def weight_transposed(model, layers):
    square = [each for each in own_weights(model, layers) if each[1].dims[0] == each[1].dims[1]]
    if not square:
        return None
    layer, weight = middle(square)
    set_values(weight, numpy_helper.to_array(weight).swapaxes(0, 1))
    return layer, "weight_bit_mismatch"


def activation_removed(model, layers):
    found = [each for each in called_once(layers) if each["type"] in ACTIVATIONS]
    found = [each for each in found if nodes_of(model, each["module"])]
    if not found:
        return None
    layer = middle(found)
    nodes = nodes_of(model, layer["module"])
    written = {name for node in nodes for name in node.output}
    read = [name for node in nodes for name in node.input if name not in written]
    source = next(name for name in read if name not in initializers(model))
    target = nodes[-1].output[0]
    for node in nodes:
        model.graph.node.remove(node)
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            if name == target:
                node.input[i] = source
    return layer["name"], "missing_or_extra_op"


def epsilon_changed(model, layers):
    norms = [node for node in model.graph.node if node.op_type.endswith("Normalization")]
    names = {each["module"]: each["name"] for each in called_once(layers)}
    norms = [node for node in norms if scopes_of(node)[-2:-1] and scopes_of(node)[-2] in names]
    norms = [node for node in norms if any(each.name == "epsilon" for each in node.attribute)]
    if not norms:
        return None
    node = middle(norms)
    for attribute in node.attribute:
        if attribute.name == "epsilon":
            attribute.f = 0.01
    return names[scopes_of(node)[-2]], "attribute_mismatch"


def behind(model, node, *added):
    """Puts nodes behind one, which take its tensor's name and its place in the code."""
    tensor = node.output[0]
    at = list(model.graph.node).index(node) + 1
    names = [*(f"{tensor}_before_{i}" for i in range(len(added))), tensor]
    node.output[0] = names[0]
    for i, each in enumerate(added):
        each.input[:], each.output[:] = [names[i]], [names[i + 1]]
        each.metadata_props.extend(node.metadata_props)
        model.graph.node.insert(at + i, each)


def inner_layers(model, layers, kinds):
    found = [each for each in called_once(layers) if each["type"] in kinds and len(each["shape"]) > 2]
    return [each for each in found if nodes_of(model, each["module"])]


def rounded_to_float16(model, layers):
    layer = middle(inner_layers(model, layers, (*ACTIVATIONS, "LayerNorm", "LlamaRMSNorm", "Linear")))
    if layer is None:
        return None
    node = nodes_of(model, layer["module"])[-1]
    half, single = onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT
    behind(model, node, helper.make_node("Cast", [], [], to=half), helper.make_node("Cast", [], [], to=single))
    return layer["name"], "precision_loss"


def axes_swapped(model, layers):
    found = inner_layers(model, layers, ("ReLU", "Conv2d", "GELU"))
    layer = middle([each for each in found if len(each["shape"]) == 4 and each["shape"][2] == each["shape"][3] > 1])
    if layer is None:
        return None
    node = nodes_of(model, layer["module"])[-1]
    behind(model, node, helper.make_node("Transpose", [], [], perm=[0, 1, 3, 2]))
    return layer["name"], "layout_mismatch"


# Optimisers merge a Transpose with its neighbours: then it is no layer's any more.
ONLY_PLAIN = (axes_swapped,)
FAULTS = (
    weight_scaled, weight_transposed, activation_removed, epsilon_changed, rounded_to_float16, axes_swapped,
)


def injected(fault, model, layers):
    """(the changed model, layer, cause) or None."""
    changed = copy.deepcopy(model)
    found = fault(changed, layers)
    return found and (changed, *found)
