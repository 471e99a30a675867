"""Installs the wheel into virtual environments made for it and runs the tests of the package there.

python run.py BUILD_FOLDER WHEEL_PYTHON TORCH_PYTHON OTHER_PYTHON: the wheel is made of what the build folder
holds, with the tools of WHEEL_PYTHON's environment; PyTorch, onnxruntime and numpy are those of TORCH_PYTHON's.
OTHER_PYTHON is of another version, and the tests that need no PyTorch are run there as well, if it is there.
Exits with 77, skipped, where one of the other environments is missing.
"""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent.parent
SCRIPT = SOURCE / "scripts" / "wheel.py"


def main(build, wheel_python, torch_python, other_python):
    for python in (wheel_python, torch_python):
        if not Path(python).exists():
            print(f"skipped: {python} is not there; scripts/setup.sh wheel torch2 makes it")
            return 77
    folder = Path(build, "package").resolve()
    failed = run_tests(
        make_wheel(build, wheel_python, base_of(torch_python), folder / "wheel"),
        environment(folder / "venv", torch_python, [torch_python, wheel_python]),
        wheel_python,
        wheel_python,
        "*_test.py",
    )
    if not Path(other_python).exists():
        print("skipped: another Python: none from 3.12 on with its headers was there for scripts/setup.sh wheel")
        return failed
    return failed or run_tests(
        make_wheel(build, wheel_python, oldest_from_312(wheel_python), folder / "other_wheel"),
        environment(folder / "other_venv", other_python, [other_python]),
        other_python,  # an older Python's pip does not run in a newer one
        wheel_python,
        "api_test.py",
    )


def make_wheel(build, wheel_python, python, folder):
    for old in folder.glob("*.whl"):
        old.unlink()
    subprocess.run([wheel_python, SCRIPT, folder, "--prebuilt", build, "--python", python], check=True)
    return next(folder.glob("*.whl"))


def base_of(python):
    return subprocess.check_output([python, "-c", "import sys; print(sys._base_executable)"], text=True).strip()


def oldest_from_312(wheel_python):
    """One wheel serves all from there on: it is built with the oldest and tried with the newest."""
    return subprocess.check_output([wheel_python, SCRIPT, "--oldest"], text=True).strip()


def environment(venv, python, others):
    """A fresh environment with onnxruntime in it; the rest is found in the others."""
    subprocess.run([python, "-m", "venv", "--clear", "--without-pip", venv], check=True)
    made = venv / "bin" / "python"
    packages = site_packages(made)
    folders = [site_packages(each) for each in others]
    folders += SOURCE.glob(f".deps/cluster/lib/{packages.parent.name}/site-packages")  # Ray, which a test asks for
    (packages / "others.pth").write_text("".join(f"{each}\n" for each in folders))
    (packages / "onnxruntime").symlink_to(folders[0] / "onnxruntime")
    for folder in folders:
        for module in folder.glob("_duckdb*.so"):
            (packages / module.name).symlink_to(module)
    return made


def run_tests(wheel, python, pip_python, wheel_python, pattern):
    pip = [pip_python, "-m", "pip", "--disable-pip-version-check", "--python", python]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", wheel], check=True)
    variables = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",
        "VERNIER_TEST_WHEEL": str(wheel),
        "VERNIER_TEST_TOOLS": str(wheel_python),
    }
    command = [python, "-m", "unittest", "discover", "-v", "-s", TESTS, "-p", pattern]
    return subprocess.run(command, env=variables, cwd=wheel.parent).returncode


def site_packages(python):
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(subprocess.check_output([python, "-c", code], text=True).strip())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
