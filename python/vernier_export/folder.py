"""A folder that appears complete or not at all."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

# The files that an export may write; those of an earlier export are removed.
OWN = ("model.onnx", "model.onnx.data", "model.pt", "model.layers.onnx", "preprocessor_config.json", "model.json")


@contextmanager
def complete(target):
    """Yields an empty folder beside `target`; its files replace those there when the block ends
    without an exception, and are removed otherwise."""
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield work
        publish(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def publish(work, target):
    if not target.exists():
        umask = os.umask(0)
        os.umask(umask)
        work.chmod(0o777 & ~umask)  # mkdtemp makes folders for the owner only
        work.rename(target)
        return
    for name in OWN:
        if not (work / name).exists():
            (target / name).unlink(missing_ok=True)
    for file in sorted(work.iterdir(), key=lambda each: each.name == "model.json"):
        os.replace(file, target / file.name)
