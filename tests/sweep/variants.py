"""What people do with an export: simplify it, or let ONNX Runtime optimise it. Both drop the metadata of
nodes and rename what they fuse."""

import subprocess
from pathlib import Path

import onnx
import onnxruntime

ONNXSIM = Path(__file__).resolve().parent.parent.parent / ".deps" / "onnxsim" / "bin" / "python"
LEVELS = {
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
}


VARIANTS = ("plain", *(["onnxsim"] if ONNXSIM.exists() else []), *LEVELS)


def write_variant(name, model, path):
    """`path` stands beside the export's model.json, which tells where tensors come from."""
    if name == "plain":
        onnx.save(model, path)
    elif name == "onnxsim":
        given = path.with_suffix(".given.onnx")
        onnx.save(model, given)
        command = [str(ONNXSIM), "-m", "onnxsim", str(given), str(path)]
        subprocess.run(command, check=True, capture_output=True)
    else:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = LEVELS[name]
        options.optimized_model_filepath = str(path)
        options.log_severity_level = 3
        onnxruntime.InferenceSession(model.SerializeToString(), options)
