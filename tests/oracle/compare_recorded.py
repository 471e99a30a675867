"""Recomputes the metrics of one sample from recorded outputs: compare_recorded.py RESULT REFERENCE CANDIDATE

RESULT is the JSON of `vernier eval --mode compare` over that sample alone. Every figure must be the
same float64, but for the cosine, whose products numpy may add up in another order.
"""

import json
import math
import sys

import numpy as np

with open(sys.argv[1]) as file:
    output = json.load(file)["outputs"][0]
name = output["name"]
reference = np.load(sys.argv[2])[name].ravel().astype(np.float64)
candidate = np.load(sys.argv[3])[name].ravel().astype(np.float64)
difference = reference - candidate
noise = np.sum(difference * difference)
mse = noise / difference.size
expected = {
    "sqnr_db": 10 * math.log10(np.sum(reference * reference) / noise),
    "psnr_db": 10 * math.log10(np.max(np.abs(reference)) ** 2 / mse),
    "mse": mse,
    "max_abs_diff": np.max(np.abs(difference)),
    "mean_abs_diff": np.sum(np.abs(difference)) / difference.size,
}
for metric, value in expected.items():
    found = output["metrics"][metric + "_mean"]
    assert found == value, f"{metric}: {found!r}, numpy says {value!r}"
norms = math.sqrt(np.sum(reference * reference)) * math.sqrt(np.sum(candidate * candidate))
cosine = np.sum(reference * candidate) / norms
assert abs(output["metrics"]["cosine_similarity_mean"] - cosine) <= 4 * math.ulp(cosine)
