"""How far has a converted neural network drifted from what it was made from?

    >>> import vernier
    >>> result = vernier.compare("mnist_cnn.onnx", "mnist_cnn.int8.onnx", "mnist_inputs.npz", exact=True)
    >>> result.passed
    True
    >>> result.outputs["logits"].sqnr_db.min > 20
    True

A reference or a candidate is a path, a torch.nn.Module, an onnxruntime.InferenceSession, any callable on
arrays, an object with run(inputs, observer), or a dictionary of recorded arrays. Options are those of
the command line with underscores: `fail_if="sqnr_db<30"` is `--fail-if 'sqnr_db<30'`.

    compare              how far are the outputs apart?
    debug_quantization   which tensors and weights did quantization damage?
    layers               at which layer do they start to differ, and why?
    check                what is wrong with this model?
    evaluate             how well do both do their task on labelled data?
    providers            which execution providers are there?
    metrics              the measures themselves, on arrays
    distributed          the same questions over a Ray cluster
"""

import sys

from vernier import _vernier, metrics
from vernier._api import check, compare, debug_quantization, evaluate, layers, providers
from vernier._results import (
    CheckResult,
    CompareResult,
    DebugResult,
    LayersResult,
    Result,
    TaskResult,
)
from vernier._vernier import Error

__version__ = _vernier.version()
Error.__module__ = "vernier"
_vernier.set_environment(sys.executable or "", [each for each in sys.path if each])
__all__ = [
    "CheckResult",
    "CompareResult",
    "DebugResult",
    "Error",
    "LayersResult",
    "Result",
    "TaskResult",
    "check",
    "compare",
    "debug_quantization",
    "evaluate",
    "layers",
    "metrics",
    "providers",
]
