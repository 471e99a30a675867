"""Runs a model in float64 though it names narrower types in its code."""

from contextlib import contextmanager

import torch
from torch.overrides import TorchFunctionMode

NARROW = (torch.float32, torch.float16, torch.bfloat16)
CASTS = {torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16}


class Widening(TorchFunctionMode):
    """x.float(), x.to(torch.float32) and softmax(x, dtype=torch.float32) give float64."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in CASTS:
            return torch.Tensor.double(args[0])
        keywords = {key: widened(each) for key, each in (kwargs or {}).items()}
        return func(*map(widened, args), **keywords)


def widened(value):
    return torch.float64 if isinstance(value, torch.dtype) and value in NARROW else value


@contextmanager
def in_float64():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with Widening():
            yield
    finally:
        torch.set_default_dtype(before)
