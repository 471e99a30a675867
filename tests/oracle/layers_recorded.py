"""What `vernier layers --reference REFERENCE --candidate CANDIDATE -f json` prints, by numpy alone:
layers_recorded.py REFERENCE CANDIDATE VERSION

Two .npz files of recorded activations, samples along the leading axis, layers in the reference's
order. The layers are told by their names; a layer that only its values could tell is not looked for.
"""

import itertools
import json
import math
import os
import sys

import numpy as np

TOLERANCE = 1e-4
np.seterr(all="ignore")


def flat(array):
    return array.ravel().astype(np.float64)


def ratio_db(signal, noise):
    """10 log10 of a power ratio: +inf without noise, -inf without signal or with infinite noise."""
    if math.isnan(signal) or math.isnan(noise):
        return math.nan
    if noise == 0:
        return math.inf
    return -math.inf if signal == 0 or math.isinf(noise) else 10 * math.log10(signal / noise)


def sqnr_db(reference, candidate):
    difference = flat(reference) - flat(candidate)
    return ratio_db(np.sum(flat(reference) ** 2), np.sum(difference * difference))


def cosine(reference, candidate):
    reference, candidate = flat(reference), flat(candidate)
    squares = np.sum(reference * reference), np.sum(candidate * candidate)
    if np.array_equal(reference, candidate):
        return 1.0
    if squares[0] == 0 or squares[1] == 0:
        return 0.0
    return np.sum(reference * candidate) / (math.sqrt(squares[0]) * math.sqrt(squares[1]))


def figures(reference, candidate):
    difference = np.abs(flat(reference) - flat(candidate))
    return {
        "max_abs_diff": np.max(difference),
        "mean_abs_diff": np.sum(difference) / difference.size,
        "sqnr_db": sqnr_db(reference, candidate),
        "cosine_similarity": cosine(reference, candidate),
    }


def worst(metric, values):
    """Over samples; NaN is worst."""
    if any(math.isnan(value) for value in values):
        return math.nan
    return min(values) if metric in ("sqnr_db", "cosine_similarity") else max(values)


def layout(reference, candidate):
    """The permutation of axes under which one sample agrees, as a text."""
    if sqnr_db(reference, candidate) >= 40:
        return None
    found = []
    for axes in itertools.permutations(range(reference.ndim)):
        transposed = np.transpose(reference, axes)
        if transposed.shape == candidate.shape and list(axes) != sorted(axes):
            found.append((sqnr_db(transposed, candidate), axes))
    best = max((score for score, _ in found), default=-math.inf)
    if not best >= 20:
        return None
    axes = next(axes for score, axes in found if score == best)
    return "permutation (" + ",".join(map(str, axes)) + ")"


def counts(test, reference, candidate):
    return {"reference": int(np.sum(test(reference))),
            "candidate": 0 if candidate is None else int(np.sum(test(candidate)))}


def number(value):
    if value is None or math.isfinite(value):
        return None if value is None else float(value)
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def blank_row(name, reference):
    zero = {"reference": 0, "candidate": 0}
    return {
        "layer": name, "type": None, "tensor": None, "aligned_by": "unmatched",
        "shape": list(reference.shape[1:]), "candidate_shape": None,
        "max_abs_diff": None, "mean_abs_diff": None, "sqnr_db": None, "cosine_similarity": None,
        "nan": dict(zero), "inf": dict(zero), "exceeds_tol": True, "layout": None,
        "introduced_max_abs_diff": None, "cause": "none", "detail": "",
    }


def measured_row(name, reference, candidate):
    row = blank_row(name, reference)
    row.update(tensor=name, aligned_by="name", candidate_shape=list(candidate.shape[1:]))
    if reference.size != candidate.size:
        return row
    pairs = list(zip(reference, candidate))
    samples = [figures(*pair) for pair in pairs]
    for metric in samples[0]:
        row[metric] = number(worst(metric, [sample[metric] for sample in samples]))
    row["nan"] = counts(np.isnan, reference, candidate)
    row["inf"] = counts(np.isinf, reference, candidate)
    difference = worst("max_abs_diff", [sample["max_abs_diff"] for sample in samples])
    row["exceeds_tol"] = reference.shape != candidate.shape or not difference <= TOLERANCE
    if row["exceeds_tol"]:
        row["layout"] = next(filter(None, (layout(*pair) for pair in pairs)), None)
    return row


def cause(row, candidate, reference, above):
    """Why a row exceeds; `above` is the nearest exceeding layer before it."""
    if row["layout"]:
        return ("layout_mismatch",
                "the values agree once the axes are reordered: " + row["layout"])
    if candidate is None:
        return ("missing_or_extra_op",
                "nothing in the candidate stands for it: no tensor has its name, and none its values")
    if candidate.dtype.itemsize < reference.dtype.itemsize:
        return "precision_loss", f"{row['layer']} is {candidate.dtype.name}"
    bad = {side: row["nan"][side] + row["inf"][side] for side in ("reference", "candidate")}
    if bad["candidate"] != bad["reference"]:
        return ("nonfinite", f"{bad['candidate']} elements of the candidate are not finite, "
                             f"{bad['reference']} of the reference; its inputs are")
    if above:
        return "inherited", f"{above} before it is out of tolerance already"
    if row["max_abs_diff"] is None:
        return "unknown", "the shapes differ, and no operator or weight says why"
    return "unknown", "none of the known causes explains it"


def shape_text(shape):
    return "[" + ",".join(map(str, shape)) + "]"


def failures_of(row, limit):
    """What the verdict says of a row that exceeds."""
    def failed(kind, text, metric, value="nan", limit=None):
        return {"subject": row["layer"], "group": "layer", "metric": metric, "value": value,
                "limit": limit, "kind": kind, "text": f"layer {row['layer']}: {text}"}

    value = "nan" if row["max_abs_diff"] is None else row["max_abs_diff"]
    if row["tensor"] is None:
        return [failed("missing", "missing in the candidate", "candidate")]
    if row["max_abs_diff"] is None or (not isinstance(value, str) and value <= TOLERANCE):
        return [failed("shape", f"shape {shape_text(row['shape'])} against "
                                f"{shape_text(row['candidate_shape'])}", "")]
    if isinstance(value, str):
        return [failed("nonfinite", f"{row[key][side]} {words} in the {side}", f"{side}_{key}",
                       float(row[key][side]))
                for side in ("reference", "candidate")
                for key, words in (("nan", "NaN"), ("inf", "infinities")) if row[key][side] > 0]
    return [failed("broken", f"max_abs_diff {value:.6g} > {TOLERANCE:g}", "max_abs_diff", value,
                   limit)]


def main():
    paths, version = sys.argv[1:3], sys.argv[3]
    references, candidates = (np.load(path) for path in paths)
    rows, exceeding = [], []
    for name in references.files:
        reference = references[name]
        candidate = candidates[name] if name in candidates.files else None
        row = blank_row(name, reference) if candidate is None else measured_row(
            name, reference, candidate)
        if row["exceeds_tol"]:
            above = exceeding[-1] if exceeding else None
            row["cause"], row["detail"] = cause(row, candidate, reference, above)
            exceeding.append(name)
        rows.append(row)
    limit = f"max_abs_diff>{TOLERANCE:g}"
    failures = [failure for row in rows if row["exceeds_tol"]
                for failure in failures_of(row, limit)]
    result = {
        "schema_version": 2, "command": "layers", "versions": {"vernier": version},
        "run": {"candidate": os.path.basename(paths[1]), "reference": os.path.basename(paths[0]),
                "inputs": "recorded", "samples": len(references[references.files[0]])},
        "verdict": {"outcome": "fail" if failures else "pass", "failures": failures, "doubts": [],
                    "limits": [limit]},
        "pass": not failures, "interrupted": False, "warnings": [],
        "model": os.path.basename(paths[1]), "tolerance": TOLERANCE, "layers": rows,
        "model_outputs": [], "drift_origin": exceeding[0] if exceeding else None,
        "layers_total": len(rows), "layers_exceeding": len(exceeding), "weight_mismatches": [],
        "weight_evidence": None,
    }
    print(json.dumps(result, indent=2, ensure_ascii=False))


main()
