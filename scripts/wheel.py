#!/usr/bin/env python3
"""Builds the Python package: scripts/wheel.py --prebuilt BUILD_FOLDER [--python PROGRAM]... OUT

The library comes from a build folder, where it was made before, so each Python only compiles the module.
A wheel is made portable by auditwheel, which copies the libraries that it needs into it. Run it with the
Python of .deps/wheel; the Pythons that the wheels are for need nothing but pip and their headers.
"""

import argparse
import base64
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
# Found beside the wheel at run time, or belongs to every Linux.
NOT_BUNDLED = ["libonnxruntime.so*", "libduckdb.so*"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--prebuilt", type=Path, required=True)
    parser.add_argument("--python", action="append", help="default: every one found, from 3.10 on")
    parser.add_argument("--largest", type=int, help="bytes that a wheel may have")
    parser.add_argument("--sdist", action="store_true", help="the sources as well")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.sdist:
        build_sdist(options.out)
    for python in options.python or found_pythons():
        with tempfile.TemporaryDirectory() as work:
            wheel = repaired(build(python, options.prebuilt.resolve(), Path(work)), Path(work))
            wheel = Path(shutil.copy(wheel, options.out))
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        if options.largest and wheel.stat().st_size > options.largest:
            sys.exit(f"wheel: {wheel.name} is larger than {options.largest} bytes")


def found_pythons():
    """One of each version that a wheel is made for: 3.10 and 3.11, and one for all from 3.12 on."""
    found = {}
    folders = os.environ.get("PATH", "").split(os.pathsep)
    folders += [str(each) for each in Path.home().glob(".pyenv/versions/*/bin")]
    for minor in range(10, 21):
        for folder in folders:
            python = Path(folder, f"python3.{minor}")
            if python.exists() and ".pyenv/shims" not in folder and has_headers(python):
                found.setdefault(min(minor, 12), str(python))
    if not found:
        sys.exit("wheel: no Python from 3.10 on has its headers; install python3-dev")
    return list(found.values())


def has_headers(python):
    code = "import sysconfig, os; print(os.path.exists(sysconfig.get_path('include') + '/Python.h'))"
    result = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return result.stdout.strip() == "True"


def tools():
    """The environment in which a Python of any version finds what builds the package."""
    return {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib"), "PATH": tool_path()}


def tool_path():
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def build_sdist(out):
    code = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    run([sys.executable, "-c", code, str(out.resolve())], cwd=SOURCE, env=tools())


def build(python, prebuilt, work):
    code = (
        "import sys, scikit_build_core.build as b; "
        "b.build_wheel(sys.argv[1], {'cmake.define.VERNIER_PREBUILT': sys.argv[2]})"
    )
    run([python, "-B", "-c", code, str(work / "built"), str(prebuilt)], cwd=SOURCE, env=tools())
    return next((work / "built").glob("*.whl"))


def repaired(wheel, work):
    """The wheel with what it needs inside. The program goes around auditwheel, which would start it
    through Python; it needs nothing but the library, which it finds by its own search path."""
    bare, program = work / wheel.name, None
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(bare, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            data = source.read(entry)
            if ".data/scripts/" in entry.filename:
                program = (entry, data)
            elif entry.filename.endswith(".dist-info/RECORD"):
                lines = data.decode().splitlines(keepends=True)
                target.writestr(entry, "".join(each for each in lines if "/scripts/" not in each))
            else:
                target.writestr(entry, data)
    excluded = [part for name in NOT_BUNDLED for part in ("--exclude", name)]
    auditwheel = [sys.executable, "-m", "auditwheel", "repair", "--strip", *excluded]
    run([*auditwheel, "-w", str(work / "repaired"), str(bare)], env=tools())
    result = next((work / "repaired").glob("*.whl"))
    add_program(result, program)
    return result


def add_program(wheel, program):
    entry, data = program
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        run(["strip", file.name])
        data = Path(file.name).read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    packed = wheel.with_suffix(".packed")
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for each in source.infolist():
            content = source.read(each)
            if each.filename.endswith(".dist-info/RECORD"):
                content += f"{entry.filename},sha256={digest},{len(data)}\n".encode()
            target.writestr(each, content, zipfile.ZIP_DEFLATED, 9)
        target.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    packed.replace(wheel)


def run(command, **keywords):
    result = subprocess.run(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **keywords
    )
    if result.returncode != 0:
        sys.stderr.write(result.stdout[-8000:])
        sys.exit(f"wheel: {Path(str(command[0])).name} failed")


if __name__ == "__main__":
    main()
