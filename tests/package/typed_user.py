"""What a user with a type checker writes. Checked, and never run."""

import vernier

result = vernier.compare("a.onnx", "b.onnx", fail_if=["sqnr_db<30"], samples="all")
passed: bool = result.passed
reason: str = result.verdict.reason
for output in result.outputs:
    name: str = output.name
origin = vernier.layers("a.onnx", "b.onnx").drift_origin
layer: str = origin.layer if origin is not None else ""
findings: list[str] = [each.id for each in vernier.check("a.onnx").findings]
decibels: float = vernier.metrics.sqnr_db([1.0], [1.0])
try:
    vernier.evaluate("a.onnx", task="image-classification", dataset="folder")
except vernier.Error as error:
    print(error)
