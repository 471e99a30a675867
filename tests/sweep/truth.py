"""Where each leaf really is: what PyTorch and ONNX Runtime compute, compared value by value in numpy."""

import numpy as np
import onnx
import onnxruntime

ROUNDING_DB = 80


def leaf_values(model, inputs):
    """{name: value} and [{name, module, type, shape}] of the leaves as they are called."""
    import torch

    from vernier_host.leaves import Leaves

    values, layers = {}, []

    def show(name, tensor, about):
        values[name] = tensor.detach().clone().numpy()
        layers.append({"name": name, "shape": list(tensor.shape), **about()})

    with torch.no_grad(), Leaves(model).watching(show):
        model(**inputs) if isinstance(inputs, dict) else model(inputs)
    return values, layers


def tensor_values(path, inputs):
    """{name: value} of every tensor that a node computes, in a session that leaves the graph as it is."""
    model = onnx.load(path)
    outputs = {each.name for each in model.graph.output}
    computed = [name for node in model.graph.node for name in node.output if name]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in computed if name not in outputs)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    names = [each.name for each in session.get_outputs()]
    feeds = {each.name: value for each, value in zip(session.get_inputs(), inputs)}
    return dict(zip(names, session.run(None, feeds)))


def sqnr_db(reference, candidate):
    if reference.size != candidate.size or candidate.dtype.kind not in "fiub":
        return -np.inf
    reference = reference.astype(np.float64).ravel()
    noise = np.sum((reference - candidate.astype(np.float64).ravel()) ** 2)
    signal = np.sum(reference**2)
    return np.inf if noise == 0 else 10 * np.log10(max(signal, 1e-300) / noise)


def holders(value, tensors):
    """The tensors that hold the value, to rounding."""
    return [name for name, each in tensors.items() if sqnr_db(value, each) >= ROUNDING_DB]
