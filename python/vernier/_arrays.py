"""Arrays of Python's as the library takes them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vernier import _vernier
from vernier._vernier import Error

Sample = list[tuple[str, Any]]
# The remedy for a PyTorch Dataset, whose samples have no batch axis.
LOADER = "; a Dataset is given as torch.utils.data.DataLoader(dataset)"


def is_array(value: Any) -> bool:
    return hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__")


def plain(value: Any) -> Any:
    """The array itself, on the CPU, without its gradient and in this machine's order of bytes; numbers and
    lists become one."""
    if hasattr(value, "detach"):
        return plain_tensor(value)
    if not is_array(value):
        import numpy

        try:
            value = numpy.asarray(value)
        except ValueError:
            raise Error("[arrays] a list of lists of other lengths is no array") from None
    if not getattr(getattr(value, "dtype", None), "isnative", True):
        value = value.astype(value.dtype.newbyteorder("="))
    if getattr(getattr(value, "dtype", None), "kind", "f") in "OSUMm":
        raise Error(f"[arrays] its elements ({value.dtype}) are no numbers; convert it first")
    return value


def plain_tensor(tensor: Any) -> Any:
    """A tensor of PyTorch's, as its memory holds it: signs may be kept beside it."""
    if tensor.device.type == "meta":
        raise Error("[arrays] a tensor on the device 'meta' has no elements")
    if str(tensor.layout) != "torch.strided":
        tensor = tensor.to_dense()
    return tensor.detach().cpu().resolve_conj().resolve_neg()


def is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def named(name: str, value: Any) -> _vernier.Arrays:
    """A dictionary of arrays or one array, whose leading axis is the samples; or a sequence of samples,
    each a dictionary, an array, or one array for each input."""
    if isinstance(value, Mapping) or is_array(value):
        return _vernier.Arrays(name, [sample_of(value)], True)
    if not isinstance(value, Iterable):
        raise Error(
            f"[arrays] {name}: expected arrays by name, an array, or a sequence of samples, found "
            f"{type(value).__name__}{LOADER if hasattr(value, '__getitem__') else ''}"
        )
    return _vernier.Arrays(name, [sample_of(each) for each in value], False)


def sample_of(value: Any) -> Sample:
    """Arrays without names are numbered: they are the inputs in turn."""
    if isinstance(value, Mapping):
        return [(str(key), plain(each)) for key, each in value.items()]
    if isinstance(value, Sequence) and not is_array(value):
        return [(str(i), plain(each)) for i, each in enumerate(value)]
    return [("0", plain(value))]
