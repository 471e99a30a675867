#!/usr/bin/env python3
"""Builds the Python package: scripts/wheel.py OUT --prebuilt BUILD_FOLDER [--python PROGRAM]...

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
    parser.add_argument("out", type=Path, nargs="?", default=Path("build/wheels"))
    parser.add_argument("--prebuilt", type=Path, help="the build folder")
    parser.add_argument("--python", action="append", help="default: every one found, from 3.10 on")
    parser.add_argument("--largest", type=int, help="bytes that a wheel may have")
    parser.add_argument("--sdist", action="store_true", help="the sources as well")
    only_print = parser.add_mutually_exclusive_group()
    only_print.add_argument("--newest", action="store_true", help="print the newest Python from 3.12 on, if any")
    only_print.add_argument("--oldest", action="store_true", help="print the oldest likewise")
    options = parser.parse_args()
    if options.newest or options.oldest:
        found = list(from_312(found_pythons()).values())
        return print((found or [""])[-1 if options.newest else 0])
    if not options.prebuilt:
        parser.error("--prebuilt is missing")
    options.out.mkdir(parents=True, exist_ok=True)
    if options.sdist:
        build_sdist(options.out, options.prebuilt)
    pythons = options.python or pythons_of_wheels(found_pythons())
    if not pythons:
        sys.exit("wheel: no Python from 3.10 on has its headers; install python3-dev")
    for python in pythons:
        with tempfile.TemporaryDirectory() as work:
            wheel = repaired(build(python, options.prebuilt.resolve(), Path(work)), Path(work))
            wheel = Path(shutil.copy(wheel, options.out))
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        if options.largest and wheel.stat().st_size > options.largest:
            sys.exit(f"wheel: {wheel.name} is larger than {options.largest} bytes")


def found_pythons():
    """The Pythons from 3.10 on that have their headers, by the second number of their versions."""
    found = {}
    folders = os.environ.get("PATH", "").split(os.pathsep)
    folders += [str(each) for each in Path.home().glob(".pyenv/versions/*/bin")]
    for minor in range(10, 21):
        for folder in folders:
            python = Path(folder, f"python3.{minor}")
            if python.exists() and ".pyenv/shims" not in folder and has_headers(python):
                found.setdefault(minor, str(python))
    return found


def from_312(pythons):
    return {minor: each for minor, each in pythons.items() if minor >= 12}


def pythons_of_wheels(pythons):
    """3.10 and 3.11, and the oldest from 3.12 on: its wheel serves all that follow."""
    oldest = sorted(from_312(pythons))[:1]
    return [each for minor, each in pythons.items() if minor < 12 or minor in oldest]


def has_headers(python):
    code = "import sysconfig, os; print(os.path.exists(sysconfig.get_path('include') + '/Python.h'))"
    result = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return result.stdout.strip() == "True"


def tools():
    """The environment in which a Python of any version finds what builds the package."""
    return {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib"), "PATH": tool_path()}


def tool_path():
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def build_sdist(out, prebuilt):
    """The sources, with the report page ready made: whoever builds them needs no Node.js."""
    page = Path(shutil.copy(prebuilt / "generated" / "html_page.cpp", SOURCE / "web"))
    try:
        code = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
        run([sys.executable, "-c", code, str(out.resolve())], cwd=SOURCE, env=tools())
    finally:
        page.unlink()


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
