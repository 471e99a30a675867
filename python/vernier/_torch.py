"""A torch.nn.Module of this process as a host: the code of vernier_host, on the module itself."""

from __future__ import annotations

import copy
import sys
import threading
import weakref
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Iterator

from vernier import _vernier

# Hooks belong to the module, so only one run at a time may watch it.
_locks: weakref.WeakKeyDictionary[Any, threading.RLock] = weakref.WeakKeyDictionary()
_locks_lock = threading.Lock()


def lock_of(module: Any) -> Any:
    with _locks_lock:
        return _locks.setdefault(module, threading.RLock())


def companions() -> None:
    """Makes vernier_host and vernier_export importable."""
    folder = _vernier.companions()
    if folder not in sys.path:
        sys.path.append(folder)


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Every part of the module in evaluation mode, and as it was afterwards."""
    training = [each for each in module.modules() if each.training]
    for each in training:
        each.training = False
    try:
        yield
    finally:
        for each in training:
            each.training = True


def needs_copy(module: Any) -> bool:
    """Whether it is elsewhere than on the CPU, or narrower than float32."""
    import torch

    tensors = [*module.parameters(), *module.buffers()]
    narrow = (torch.float16, torch.bfloat16)
    return any(each.device.type != "cpu" or each.dtype in narrow for each in tensors)


def module_host(module: Any, open_attention: bool) -> Any:
    companions()
    from vernier_export.source import Source
    from vernier_host.torch_host import TorchHost

    class ModuleHost(TorchHost):  # type: ignore[misc]
        def __init__(self) -> None:
            self.options = SimpleNamespace(
                source=type(module).__name__, open_attention=open_attention
            )
            self.use(copied(module) if needs_copy(module) else module)

        def use(self, model: Any) -> None:
            self.source = Source(model)
            self.model = model

        def describe(self, request: Any, inputs: Any) -> Any:
            if request["precision"] == "float64":
                self.use(copied(module))  # a copy, because describe() widens the model in place
            return super().describe(request, inputs)

        def forward(self, tensors: Any, show: Any) -> Any:
            with lock_of(module), evaluating(self.model):
                return super().forward(tensors, show)

    return ModuleHost()


def copied(module: Any) -> Any:
    return copy.deepcopy(module).cpu().float()
