"""Asks `vernier eval` for its verdict on right pairs of models and on the same with faults in them, with real data
and without, and prints a table. A right pair is to pass with data and never to fail without; no fault that moves
an output may pass.
    verdicts.py VERNIER FOLDER... [--pairs NAMES] [--faults NAMES] [--only-right]
A folder holds reference.onnx, real.npz if there is data, and its candidates, *.onnx; the folder of models from
the wild is known by its name. Ends with 1 if a verdict is wrong, and with 77 if a package is missing."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"not run: {missing}")
    sys.exit(SKIPPED)

from verdict_faults import FAULTS

# A fault that leaves the candidate's outputs this near to what they were does nothing.
HARMLESS_DB = 45
KNOWN = [
    ("steel1", "wild/steel/v1_fp32", "wild/steel/v1_int8_qdq", "steel"),
    ("steel2", "wild/steel/v2_fp32", "wild/steel/v2_int8_qoperator", "steel"),
    ("cifar.static", "wild/cifar/resnet_fp32", "wild/cifar/resnet_int8_static", "cifar"),
    ("cifar.dynamic", "wild/cifar/resnet_fp32", "wild/cifar/resnet_int8_dynamic", "cifar"),
    ("tinycnn", "wild/cifar/tinycnn", "wild/cifar/tinycnn_int8_qoperator", "tiny"),
    ("cnn", "mnist/mnist_cnn", "mnist/mnist_cnn.int8", "digits"),
    ("cnn.channel", "mnist/mnist_cnn", "mnist/mnist_cnn.int8_per_channel", "digits"),
    ("vit", "mnist/mnist_vit", "mnist/mnist_vit.int8", "digits"),
    ("vit.channel", "mnist/mnist_vit", "mnist/mnist_vit.int8_per_channel", "digits"),
    ("resnet_nhwc", "resnet_nhwc/fp32/model", "resnet_nhwc/w8a8/model", None),
    ("silero", "silero/silero_vad", "silero/silero_vad_op18_ifless", None),
    ("credit", "wild/credit/credit", "wild/credit/credit_int8", None),
]


def real_inputs(kind, root, folder):
    """A file of the first twelve real inputs of the models of this kind."""
    path = folder / f"{kind}.npz"
    if path.exists():
        return path
    if kind == "digits":
        return root / "mnist/mnist_inputs.npz"
    if kind in ("cifar", "tiny"):
        deviation = {"cifar": (0.2023, 0.1994, 0.2010), "tiny": (0.2470, 0.2435, 0.2616)}[kind]
        images = np.load(root / "wild/cifar/cifar10_test_512.npz")["image"][:12].astype(np.float32) / 255
        mean = np.array((0.4914, 0.4822, 0.4465), np.float32).reshape(1, 3, 1, 1)
        x = (images - mean) / np.array(deviation, np.float32).reshape(1, 3, 1, 1)
    else:
        from PIL import Image

        files = sorted((root / "wild/steel/images").glob("*/*.bmp"))[::3][:24:2]
        images = [Image.open(each).convert("L").resize((96, 96), Image.BICUBIC) for each in files]
        x = np.stack([np.asarray(each, np.float32)[None] / 255 for each in images])
    np.savez(path, input=x)
    return path


def renamed(path, model, folder):
    """The same file with the name of the model's input."""
    constant = {each.name for each in model.graph.initializer}
    name = next(each.name for each in model.graph.input if each.name not in constant)
    arrays = np.load(path)
    if name in arrays:
        return path
    copy = folder / f"{path.stem}.{len(list(folder.glob('*.npz')))}.npz"
    np.savez(copy, **{name: arrays[arrays.files[0]]})
    return copy


class Pair:
    def __init__(self, name, reference, candidate, data, arguments=()):
        self.name, self.reference, self.candidate, self.data = name, reference, candidate, data
        self.arguments = list(arguments)


def pairs_of(folder, work):
    if (folder / "wild").is_dir():
        for name, reference, candidate, kind in KNOWN:
            candidate = folder / f"{candidate}.onnx"
            data = None
            if kind:
                model = onnx.load(candidate, load_external_data=False)
                data = renamed(real_inputs(kind, folder, work), model, work)
            arguments = ["--shape", "input=1x576"] if name == "silero" else []
            yield Pair(name, folder / f"{reference}.onnx", candidate, data, arguments)
        return
    data = folder / "real.npz"
    for candidate in sorted(folder.glob("*.onnx")):
        if candidate.stem not in ("reference", "ref", "pre"):
            reference = folder / ("reference.onnx" if (folder / "reference.onnx").exists() else "ref.onnx")
            yield Pair(f"{folder.name}.{candidate.stem}", reference, candidate, data if data.exists() else None)


def verdict(vernier, pair, candidate, with_data):
    command = [vernier, "eval", "-m", str(candidate), "--reference", str(pair.reference), "-f", "json"]
    command += ["--input-data", str(pair.data), "--samples", "12"] if with_data else pair.arguments
    run = subprocess.run(command, capture_output=True, text=True)
    try:
        result = json.loads(run.stdout)
    except ValueError:
        return "error", run.stderr.strip()[-160:]
    found = result["verdict"]
    structure = (result["evidence"]["structure"] or {}).get("unquantized_sqnr_db")
    why = [f"{each['subject']} {each['metric']} {each['value']}" for each in found["failures"][:1]]
    why += [f"{each['kind']} {each['subject']}" for each in found["doubts"][:2]]
    shown = "" if structure is None else f"{float(structure):.0f} dB unquantized "
    return found["outcome"], shown + "; ".join(why)


def outputs_of(model, data):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    arrays = np.load(data)
    name = session.get_inputs()[0].name
    x = arrays[name]
    rows = [x[i : i + 1] if x.ndim == len(session.get_inputs()[0].shape) else x[i] for i in range(min(4, len(x)))]
    names = sorted(each.name for each in session.get_outputs())
    return {key: np.stack([session.run([key], {name: row})[0] for row in rows]) for key in names}


def harm(pair, right, broken):
    """SQNR of the faulty candidate's outputs against the right one's, or None where that cannot be told."""
    if not pair.data:
        return None
    before, after = outputs_of(right, pair.data), outputs_of(broken, pair.data)
    if before.keys() != after.keys():
        return -99.0
    worst = 99.0
    for key, value in before.items():
        value = value.astype(np.float64)
        noise = ((value - after[key]) ** 2).sum()
        if noise > 0:
            worst = min(worst, 10 * np.log10((value**2).sum() / noise))
    return worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("vernier")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--pairs")
    parser.add_argument("--faults")
    parser.add_argument("--only-right", action="store_true")
    options = parser.parse_args()
    wanted = options.faults.split(",") if options.faults else list(FAULTS)
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        pairs = [pair for folder in options.folders for pair in pairs_of(folder, work)]
        if options.pairs:
            pairs = [pair for pair in pairs if any(pair.name.startswith(name) for name in options.pairs.split(","))]
        for pair in pairs:
            right = onnx.load(pair.candidate)

            def ask(name, path, is_right, effect):
                nonlocal wrong
                cells = []
                for with_data in (True, False):
                    if with_data and not pair.data:
                        cells.append(("-", ""))
                        continue
                    outcome, why = verdict(options.vernier, pair, path, with_data)
                    if is_right:
                        bad = outcome != "pass" if with_data else outcome == "fail"
                    else:
                        bad = outcome == "pass" and not (effect is not None and effect > HARMLESS_DB)
                    bad = bad or outcome == "error"
                    wrong += bad
                    cells.append(("*" * bad + outcome, why))
                shown = "" if effect is None else f"{effect:.1f}"
                print(f"{pair.name:16} {name:20} {shown:>6} {cells[0][0]:14} {cells[1][0]:14} | {cells[0][1]} | {cells[1][1]}", flush=True)

            ask("right", pair.candidate, True, None)
            if options.only_right:
                continue
            for name in wanted:
                broken = onnx.ModelProto()
                broken.CopyFrom(right)
                try:
                    where = FAULTS[name](broken)
                except Exception as error:
                    print(f"{pair.name:16} {name:20} not injected: {error}")
                    continue
                if where is None:
                    continue
                path = work / "broken.onnx"
                onnx.save(broken, path)
                try:
                    effect = harm(pair, right, broken)
                except Exception:  # no model that anyone can run
                    continue
                ask(name, path, False, effect)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
