"""Installs the wheel into a virtual environment made for it and runs the tests of the package there.

python run.py BUILD_FOLDER WHEEL_PYTHON TORCH_PYTHON: the wheel is made of what the build folder holds, with
the tools of WHEEL_PYTHON's environment; PyTorch, onnxruntime and numpy are those of TORCH_PYTHON's. Exits
with 77, skipped, where one of the environments is missing.
"""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent.parent


def main(build, wheel_python, torch_python):
    for python in (wheel_python, torch_python):
        if not Path(python).exists():
            print(f"skipped: {python} is not there; scripts/setup.sh wheel torch2 makes it")
            return 77
    folder = Path(build, "package").resolve()
    wheel = make_wheel(build, wheel_python, torch_python, folder)
    python = install(wheel, wheel_python, torch_python, folder / "venv")
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",
        "VERNIER_TEST_WHEEL": str(wheel),
    }
    command = [python, "-m", "unittest", "discover", "-v", "-s", TESTS, "-p", "*_test.py"]
    return subprocess.run(command, env=environment, cwd=folder).returncode


def make_wheel(build, wheel_python, torch_python, folder):
    for old in folder.glob("*.whl"):
        old.unlink()
    script = SOURCE / "scripts" / "wheel.py"
    base = subprocess.check_output(
        [torch_python, "-c", "import sys; print(sys._base_executable)"], text=True
    ).strip()
    subprocess.run([wheel_python, script, folder, "--prebuilt", build, "--python", base], check=True)
    return next(folder.glob("*.whl"))


def install(wheel, wheel_python, torch_python, venv):
    """A fresh environment with the wheel and onnxruntime in it; the rest is found in the others."""
    subprocess.run([torch_python, "-m", "venv", "--clear", "--without-pip", venv], check=True)
    python = venv / "bin" / "python"
    pip = [wheel_python, "-m", "pip", "--disable-pip-version-check", "--python", python]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", wheel], check=True)
    packages = site_packages(python)
    others = [site_packages(torch_python), site_packages(wheel_python)]
    (packages / "others.pth").write_text("".join(f"{each}\n" for each in others))
    (packages / "onnxruntime").symlink_to(others[0] / "onnxruntime")
    return python


def site_packages(python):
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(subprocess.check_output([python, "-c", code], text=True).strip())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
