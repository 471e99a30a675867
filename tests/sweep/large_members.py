"""Arrays of more than 4 GiB in .npz files, stored and deflated: large_members.py VERNIER
Each has 1,100 samples, the last ones behind 4 GiB, and each sample its own number in it: `record` of a model that
looks for the largest has to give them all. The deflated one is refused without the flag that its message names.
Ends with 1 if one does not; writes 4.6 GB to TMPDIR."""

import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy

import crafted_models as onnx

SAMPLES, LENGTH = 1100, 1 << 20
HEADER = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({SAMPLES}, {LENGTH}), }}"


def write(path, compression):
    row = numpy.zeros(LENGTH, numpy.float32)
    with zipfile.ZipFile(path, "w", compression, compresslevel=1) as archive:
        with archive.open("x.npy", "w", force_zip64=True) as member:
            text = HEADER.ljust(117).encode() + b"\n"
            member.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
            for number in range(SAMPLES):
                row[number] = number + 1
                member.write(row.tobytes())
                row[number] = 0


def record(vernier, folder, *options):
    command = [vernier, "record", folder / "model.onnx", "--input-data", folder / "x.npz", "-o", folder / "out.npz"]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False)


def try_one(vernier, folder, kind):
    """What is wrong; nothing if all is as it should be."""
    write(folder / "x.npz", kind)
    if kind == zipfile.ZIP_DEFLATED:
        refused = record(vernier, folder)
        if refused.returncode != 2 or "--inflate-limit" not in refused.stderr or refused.stderr.count("\n") != 1:
            return f"expected a refusal that names --inflate-limit, found {refused.returncode}: {refused.stderr}"
    done = record(vernier, folder, "--samples", str(SAMPLES), "--inflate-limit", "5")
    if done.returncode:
        return f"ended with {done.returncode}: {done.stderr}"
    found = numpy.load(folder / "out.npz")["y"].ravel()
    expected = numpy.arange(1, SAMPLES + 1)
    return "" if numpy.array_equal(found, expected) else f"wrong numbers: {found}"


def main(vernier):
    failures = 0
    for name, kind in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
        with tempfile.TemporaryDirectory() as given:
            folder = Path(given)
            nodes = [onnx.node("ReduceMax", ["x"], ["y"], keepdims=1)]
            inputs, outputs = [onnx.value("x", (1, LENGTH))], [onnx.value("y", (1, 1))]
            (folder / "model.onnx").write_bytes(onnx.model(onnx.graph(nodes, inputs, outputs)))
            wrong = try_one(vernier, folder, kind)
            print(f"{name}: {wrong or 'answered'}", flush=True)
            failures += bool(wrong)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
