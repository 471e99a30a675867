"""Sends models to every command, whole, cut off and with flipped bytes: each run is to end in an answer or in
one line of error.
    damaged.py VERNIER [--models FOLDER] [--runs N] [--keep FOLDER]
A run is one model, one damage and one command; N of them are drawn with a fixed seed, all without --runs.
No crash, nothing over 10 seconds, at most 1 GB (3 with AddressSanitizer, whose own memory counts), no control
characters, no second line and no other library's internals in an error. Ends with 1 if one is otherwise, and
with 77 where there are no models."""

import argparse
import concurrent.futures
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path

SKIPPED = 77
SECONDS = 10
FOREIGN = (b"std::", b"json.exception", b"tensorprotoutils", b".cc:", b".cpp:", b"google.protobuf", b"basic_string", b"ONNXRuntimeError", b"onnxruntime_src", b"IsOK", b"filesystem error")
DAMAGES = ("whole", "cut off", "one byte", "eight bytes")
# {whole} is the model, {file} the damaged one, {out} a file to write.
COMMANDS = {
    "inspect": ["{file}", "--tensors"],
    "check": ["{file}"],
    "record": ["{file}", "-o", "{out}.npz"],
    "eval": ["-m", "{file}", "--reference", "{whole}", "--samples", "2"],
    "debug": ["--float-model", "{whole}", "--quant-model", "{file}", "--samples", "2"],
    "layers": ["{file}", "--reference", "{whole}"],
    "diagnose": ["{file}", "{whole}", "--samples", "2"],
    "convert": ["{file}", "--precision", "fp16", "-o", "{out}.onnx"],
    "quantize": ["{file}", "--synthetic", "--fast", "-o", "{out}.onnx"],
    "repair": ["{file}", "--reference", "{whole}", "--synthetic", "-o", "{out}.onnx"],
    "tune": ["{file}", "--synthetic", "--fast", "--target", "sqnr_db>20", "-o", "{out}.onnx"],
    "sweep": ["{file}", "--synthetic", "--fast", "--runs", "1", "--precisions", "fp16,w8", "-o", "{out}"],
    "report": ["{file}", "-o", "{out}.html"],
}


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("vernier")
    parser.add_argument("--models", default="/usr/share/libonnx-testdata", type=Path)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--keep", type=Path, help="a folder for the files that were not answered well")
    parser.add_argument("-v", action="store_true", help="for CTest; says nothing more")
    return parser.parse_args()


def damaged(content, damage, seed):
    source = random.Random(seed)
    if damage == "whole" or not content:
        return content
    if damage == "cut off":
        return content[: source.randrange(len(content))]
    changed = bytearray(content)
    for _ in range(1 if damage == "one byte" else 8):
        changed[source.randrange(len(changed))] ^= 1 << source.randrange(8)
    return bytes(changed)


def is_control(byte):
    return byte < 0x20 and byte not in b"\n" or byte == 0x7F


def complaint(code, out, err, seconds, kilobytes, limit):
    """What is wrong with a run; nothing if it was an answer."""
    if b"exceeds maximum supported size" in err:
        return ""  # AddressSanitizer's word for memory that cannot be had, which ends a process under it
    if code not in (0, 1, 2, 3):
        return f"ended with {code}"
    if b"Sanitizer" in err or b"runtime error:" in err:
        return "a sanitizer spoke"
    if seconds > SECONDS:
        return f"took {seconds:.0f} s"
    if kilobytes > limit:
        return f"took {kilobytes >> 10} MB"
    if any(map(is_control, out + err)):
        return "control characters"
    if code == 2 and (out or err.count(b"\n") != 1 or not err.startswith(b"vernier: ")):
        return "an error that is not one line"
    if code == 2 and any(word in err for word in FOREIGN):
        return "another library's words"
    return ""


def run(command, environment):
    """Exit code, both streams, seconds and the most memory of the process and its children."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment)
        timer = threading.Timer(6 * SECONDS, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        seconds = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read())
    return process.returncode, *texts, seconds, usage.ru_maxrss


def try_one(arguments, limit, model, damage, command):
    content = model.read_bytes()
    name = model.relative_to(arguments.models)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "damaged.onnx"
        file.write_bytes(damaged(content, damage, zlib.crc32(f"{name} {damage}".encode())))
        words = [word.format(file=file, whole=model, out=Path(folder) / "out") for word in COMMANDS[command]]
        environment = os.environ | {"LC_ALL": "C.UTF-8", "TMPDIR": folder}
        code, out, err, seconds, kilobytes = run([arguments.vernier, command, *words], environment)
        wrong = complaint(code, out, err, seconds, kilobytes, limit)
        if not wrong:
            return code, ""
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, arguments.keep / f"{command}-{zlib.crc32(file.read_bytes()):08x}.onnx")
        shown = err.decode(errors="replace").strip().splitlines()
        return code, f"{command} of {name}, {damage}: {wrong}: {' | '.join(shown[:3])[:300]}"


def main():
    arguments = options()
    models = sorted(arguments.models.rglob("*.onnx")) if arguments.models.is_dir() else []
    if not models:
        print(f"skipped: no models in {arguments.models}")
        return SKIPPED
    runs = [(model, damage, command) for model in models for damage in DAMAGES for command in COMMANDS]
    random.Random(1).shuffle(runs)
    runs = runs[: arguments.runs]
    sanitized = b"__asan_init" in Path(arguments.vernier).read_bytes()
    limit = (3 if sanitized else 1) << 20
    codes = {}
    failures = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for code, text in pool.map(lambda one: try_one(arguments, limit, *one), runs):
            codes[code] = codes.get(code, 0) + 1
            if text:
                failures.append(text)
                print(text, flush=True)
    print(f"{len(runs)} runs of {len(models)} models, exit codes {dict(sorted(codes.items()))}, {len(failures)} not answered")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
