"""Tensors as they cross the channel: named dtypes, C order, little endian."""

import torch

DTYPES = {
    torch.float64: "float64",
    torch.float32: "float32",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.int64: "int64",
    torch.int32: "int32",
    torch.int16: "int16",
    torch.int8: "int8",
    torch.uint8: "uint8",
    torch.bool: "bool",
}
for _name in ("uint16", "uint32", "uint64"):  # added in PyTorch 2.3
    if hasattr(torch, _name):
        DTYPES[getattr(torch, _name)] = _name
BY_NAME = {name: dtype for dtype, name in DTYPES.items()}


def dense(tensor):
    """The same values on the CPU, one after the other; the tensor itself where they are already."""
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    return tensor.cpu().resolve_neg().contiguous()


def byte_count(tensor):
    return tensor.numel() * tensor.element_size()


def message_of(kind, name, tensor):
    return {
        "type": kind,
        "name": name,
        "dtype": DTYPES[tensor.dtype],
        "shape": list(tensor.shape),
    }


def from_bytes(message, data):
    dtype = BY_NAME[message["dtype"]]
    if not data:
        return torch.empty(message["shape"], dtype=dtype)
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(message["shape"])
