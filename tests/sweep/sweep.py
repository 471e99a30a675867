"""Exports models with PyTorch 2, changes the graphs as others do, and asks `vernier layers` for each: every
leaf is to be where its values are, no drift where there is none, and each injected fault at its layer.
    sweep.py VERNIER [--python PROGRAM] [--models NAMES] [--variants NAMES] [--faults NAMES|none]
VERNIER_SWEEP=full takes models of the published sizes. Ends with 1 if something is not as it should be, and
with 77 if a package is missing."""

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parent.parent / "python"
SKIPPED = 77
WITHOUT_TENSOR = ("fused", "elided")
sys.path[:0] = [str(PYTHON), str(HERE)]


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("vernier")
    parser.add_argument("--python", default=sys.executable, help="one that has PyTorch 2")
    parser.add_argument("--models")
    parser.add_argument("--variants")
    parser.add_argument("--faults")
    parser.add_argument("--keep", help="a folder for the models and results")
    parser.add_argument("-v", action="store_true", help="print what is as it should be, too")
    return parser.parse_args()


@contextlib.contextmanager
def server(folder):
    """The address of hosts that need not import anything any more."""
    address = str(folder / "host")
    command = [sys.executable, "-B", str(HERE / "forking_host.py"), "--serve", address]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        yield address
    finally:
        process.kill()
        process.communicate()


class Sweep:
    def __init__(self, vernier, folder, address, verbose):
        self.vernier, self.folder, self.address, self.verbose = vernier, folder, address, verbose
        self.complaints = 0

    def say(self, subject, complaints):
        self.complaints += len(complaints)
        if self.verbose or complaints:
            print(f"{subject}: {'; '.join(complaints) or 'as it should be'}", flush=True)

    def export(self, name):
        from vernier_export.cli import main

        folder = self.folder / name
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
            if main([f"{HERE / 'models.py'}:{name}", "-o", str(folder)]) != 0:
                raise SystemExit(f"{name}: {errors.getvalue()}")
        return folder

    def layers(self, name, model, inputs):
        """The exit code and the result."""
        host = f"'{sys.executable}' -S -B '{HERE}/forking_host.py' {self.address} '{HERE}/models.py:{name}'"
        result = model.with_suffix(".json")
        command = [
            self.vernier, "layers", str(model), "--reference", f"host:{host}", "--input-data", str(inputs),
            "-o", str(result),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1, 3):
            raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
        return done.returncode, json.loads(result.read_text("utf-8"))

    def sweep(self, name, variants, faults):
        import models
        import numpy
        import onnx
        from faults import ONLY_PLAIN, injected
        from truth import leaf_values
        from variants import write_variant

        folder = self.export(name)
        plain = onnx.load(folder / "model.onnx")
        model, inputs = getattr(models, name)()
        values, layers = leaf_values(model, inputs)
        arrays = [each.numpy() for each in (inputs.values() if isinstance(inputs, dict) else [inputs])]
        numpy.savez(folder / "inputs.npz", **dict(zip((each.name for each in plain.graph.input), arrays)))
        for variant in variants:
            path = folder / f"{variant}.onnx"
            write_variant(variant, plain, path)
            code, result = self.layers(name, path, folder / "inputs.npz")
            self.say(f"{name} {variant}", sound(code, result, values, path, arrays))
        for fault in faults:
            found = injected(fault, plain, layers)
            taken = [each for each in variants if each == "plain" or fault not in ONLY_PLAIN]
            for variant in taken if found else ():
                changed, layer, cause = found
                path = folder / f"{variant}.{fault.__name__}.onnx"
                write_variant(variant, changed, path)
                code, result = self.layers(name, path, folder / "inputs.npz")
                self.say(f"{name} {variant} {fault.__name__}", found_at(layer, cause, code, result))


def sound(code, result, values, path, inputs):
    """What is wrong with the result of a candidate that is right."""
    from truth import ROUNDING_DB, holders, sqnr_db, tensor_values

    complaints = [] if code == 0 else [f"exit code {code}, drift origin {result['drift_origin']}"]
    complaints += [f"warning: {each}" for each in result["warnings"] if "random weights" not in each]
    complaints += [f"weight {each['parameter']}: {each['detail']}" for each in result["weight_mismatches"][:3]]
    tensors = tensor_values(path, inputs)
    taken = {row["tensor"] for row in result["layers"]}
    for row in result["layers"]:
        value = values[row["layer"]]
        if row["tensor"]:
            found = sqnr_db(value, tensors[row["tensor"]])
            if found < ROUNDING_DB:
                complaints.append(f"{row['layer']} is not {row['tensor']}: {found:.0f} dB")
        elif row["aligned_by"] not in WITHOUT_TENSOR:
            complaints.append(f"{row['layer']} is {row['aligned_by']}")
        elif free := [each for each in holders(value, tensors) if each not in taken]:
            complaints.append(f"{row['layer']} is {row['aligned_by']}, and yet {free[0]} holds it")
    return complaints


def found_at(layer, cause, code, result):
    """What is wrong with the result of a candidate with a fault. Layers without a tensor show it at the next."""
    rows = result["layers"]
    names = [row["layer"] for row in rows]
    expected = names.index(layer)
    while expected + 1 < len(rows) and rows[expected]["aligned_by"] in WITHOUT_TENSOR:
        expected += 1
    origin = result["drift_origin"]
    complaints = [] if code == 1 else [f"exit code {code}"]
    if origin != names[expected]:
        complaints.append(f"{layer} is wrong, the origin is {origin}")
    row = rows[names.index(origin)] if origin in names else rows[expected]
    if row["cause"] != cause:
        complaints.append(f"{cause} at {layer} is called {row['cause']} ({row['detail']})")
    missing = [row["layer"] for row in rows if row["aligned_by"] == "unmatched" and row["layer"] != layer]
    return complaints + ([f"missing: {', '.join(missing[:3])}"] if missing else [])


def chosen(names, known, name_of):
    by_name = {name_of(each): each for each in known}
    wanted = list(by_name) if names is None else [each for each in names.split(",") if each != "none"]
    if unknown := [each for each in wanted if each not in by_name]:
        raise SystemExit(f"no {', '.join(unknown)}; there are {', '.join(by_name)}")
    return [by_name[each] for each in wanted]


def main():
    asked = options()
    if not os.access(asked.python, os.X_OK):
        print(f"skipped: {asked.python} is not there; run scripts/setup.sh torch2")
        return SKIPPED
    if asked.python != sys.executable:
        others = [each for each in sys.argv if each not in ("--python", asked.python)]
        os.execv(asked.python, [asked.python, "-B", *others])
    try:
        import models
        from faults import FAULTS
        from variants import VARIANTS
    except ImportError as error:
        print(f"skipped: {error}; run scripts/setup.sh torch2")
        return SKIPPED
    picked = chosen(asked.models, models.MODELS, lambda each: each.__name__)
    faults = chosen(asked.faults, FAULTS, lambda each: each.__name__)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(asked.keep or made)
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        with server(Path(made)) as address:
            sweep = Sweep(asked.vernier, folder, address, asked.v)
            for model in picked:
                sweep.sweep(model.__name__, chosen(asked.variants, VARIANTS, str), faults)
    print(f"{sweep.complaints} complaints")
    return 1 if sweep.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
