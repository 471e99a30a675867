"""Sends files that were made to bring programs down to every command that takes them: each run is to end in an
answer or in one line of error.
    crafted.py VERNIER [--runs N] [--only TEXT] [--keep FOLDER]
A run is one file, in the place of one argument, of one command; N of them are drawn with a fixed seed, all
without --runs. What damaged.py asks for is asked for here. Every run has a time limit of 8 seconds and a memory
limit of 1 GB, which the program has to keep, and say so. Ends with 1 if one does not."""

import argparse
import concurrent.futures
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

import crafted_files
import crafted_models
import damaged

LIMITS = ["--timeout", "8", "--memory-limit", "1"]
FIXTURES = Path(__file__).parents[1] / "fixtures"
CNN = str(FIXTURES / "mnist/mnist_cnn.onnx")
INT8 = str(FIXTURES / "mnist/mnist_cnn.int8.onnx")
LABELLED = str(FIXTURES / "mnist/mnist_labelled.npz")

# {file} is what was crafted, {out} a file to write. Beside a model of their own stand {beside} configurations.
MODELS = {name: [word.replace("{whole}", "{file}") for word in words] for name, words in damaged.COMMANDS.items() if name != "report"}
CLASSIFY = ["-m", CNN, "--reference", CNN, "--task", "image-classification", "--samples", "2"]
INPUT_DATA = {
    "record": [CNN, "--input-data", "{file}", "-o", "{out}.npz"],
    "eval": [INT8, "--reference", CNN, "--input-data", "{file}"],
    "layers": [INT8, "--reference", "{file}"],
    "diff": ["{file}", "{file}"],
    "inspect": ["{file}"],
    "quantize": [CNN, "--data", "{file}", "--fast", "-o", "{out}.onnx"],
    "diagnose": [INT8, CNN, "--data", "{file}"],
    "score": ["accuracy", "{file}", "{file}"],
}
DATASET = {"eval 0": [*CLASSIFY, "--dataset", "{file}"], "record 0": [CNN, "--dataset", "{file}", "-o", "{out}.npz"]}
CONFIGURATIONS = {
    "eval 1": [INT8, "--reference", CNN, "--samples", "2", "--baseline", "{file}"],
    "eval 2": [*CLASSIFY, "--dataset", LABELLED, "--label-mapping", "{file}"],
    "eval 3": ["{beside}", "--reference", CNN, "--samples", "2"],
    "quantize": [CNN, "--synthetic", "--fast", "--ranges", "{file}", "-o", "{out}.onnx"],
    "check": [CNN, "--preprocessing", "{file}"],
    "check 2": ["{beside}"],
    "report": ["{file}", "-o", "{out}.html"],
    "inspect": ["{beside}"],
}
PART = {"merge": ["{file}"]}
TEXTS = {"eval 4": [CNN, "--reference", CNN, "--task", "text-generation", "--text", "{file}", "--tokenizer", "{file}"]}


def special(folder):
    """What is no file, by name."""
    for ending in ("", ".npy", ".npz", ".json", ".onnx"):
        os.mkfifo(folder / f"pipe{ending}")
    (folder / "folder").mkdir()
    (folder / "link_to_itself").symlink_to("link_to_itself")
    (folder / "unreadable").write_bytes(b"x")
    pipes = {path.name: path for path in sorted(folder.glob("pipe*"))}
    return pipes | {"folder": folder / "folder", "zero": "/dev/zero", "null": "/dev/null", "random": "/dev/urandom",
            "terminal": "/dev/tty", "link": folder / "link_to_itself", "missing": folder / "nobody", "own memory": "/proc/self/mem"}


def write_all(folder):
    """(name, file, commands) of everything."""
    models = folder / "models"
    models.mkdir()
    os.mkfifo(models / "pipe")
    (models / "zero").symlink_to("/dev/zero")
    (models / "link").symlink_to("/etc/passwd")
    (models / "data.bin").write_bytes(bytes(16))
    os.truncate(os.open(models / "sparse.bin", os.O_CREAT | os.O_RDWR), 4 << 30)
    made = []

    def write(kind, name, content, commands, ending=""):
        path = folder / kind / (name + ending)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        made.append((f"{kind}/{name}", path, commands))

    for name, content in crafted_models.models():
        write("models", name, content, MODELS, ".onnx")
    for name, content in crafted_files.arrays():
        write("arrays", name, content, INPUT_DATA, ".npy")
    for name, content in crafted_files.archives():
        write("archives", name, content, INPUT_DATA | DATASET, ".npz")
        write("scripts", name, content, {"eval": [CNN, "--reference", "{file}", "--samples", "1"], "inspect": ["{file}"]}, ".pt")
    for name, content in crafted_files.idx_files():
        write(f"idx_{name}", "t10k-images-idx3-ubyte" + (".gz" if name.endswith("gz") else ""), content, {})
        made.append((f"idx/{name}", folder / f"idx_{name}", DATASET))
    for name, content in crafted_files.images():
        write(f"images_{name}/cat".replace("/cat", ""), "cat", b"", {})
        (folder / f"images_{name}/cat").unlink()
        for label in ("cat", "dog"):
            (folder / f"images_{name}" / label).mkdir()
            (folder / f"images_{name}" / label / name).write_bytes(content)
        made.append((f"images/{name}", folder / f"images_{name}", DATASET))
    for name, content in crafted_files.json_texts():
        write("json", name, content, CONFIGURATIONS | TEXTS, ".json")
    for name, content in crafted_files.parts():
        write("parts", name, content, PART, ".vpart")
    tables = {"parquet": FIXTURES / "parquet/images.parquet", "arrow": FIXTURES / "arrow/types.arrow"}
    for kind, path in tables.items():
        whole = path.read_bytes()
        source = random.Random(3)
        for number in range(40):
            content = bytearray(whole)
            for _ in range(1 + number % 6):
                at = source.randrange(len(content) - 8)
                content[at : at + 4] = source.choice([b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\0\0\0\x80"])
            write(kind, str(number), bytes(content), DATASET, "." + kind)
    (folder / "special").mkdir()
    for name, path in special(folder / "special").items():
        for commands in (MODELS, INPUT_DATA, DATASET, CONFIGURATIONS, PART, TEXTS):
            made.append((f"special/{name}", Path(path), commands))
    return [each for each in made if each[2]]


def try_one(arguments, limit, name, path, command, words):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        (out / "beside.onnx").symlink_to(CNN)
        for configuration in ("beside.json", "preprocessor_config.json", "config.json"):
            (out / configuration).symlink_to(path)
        filled = [word.format(file=path, out=out / "out", beside=out / "beside.onnx") for word in words]
        environment = os.environ | {"LC_ALL": "C.UTF-8", "TMPDIR": folder}
        line = [arguments.vernier, command.split()[0], *filled, *LIMITS]
        code, output, err, seconds, kilobytes = damaged.run(line, environment)
        # The limit is looked at some times a second: what allocates fast is over it by then.
        wrong = damaged.complaint(code, output, err, seconds, kilobytes, limit)
        if not wrong:
            return code, seconds, ""
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            if path.is_file():
                shutil.copy(path, arguments.keep / path.name)
        shown = err.decode(errors="replace").strip().splitlines()
        return code, seconds, f"{' '.join(line[1:])}\n    {name}, {seconds:.1f} s, {kilobytes >> 10} MB: {wrong}: {' | '.join(shown[:3])[:400]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("vernier")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--only", default="", help="files whose kind and name, or command, hold this")
    parser.add_argument("--keep", type=Path, help="a folder for the files that were not answered well")
    parser.add_argument("--folder", type=Path, help="where the files are written, and left")
    parser.add_argument("-v", action="store_true", help="for CTest; says nothing more")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = write_all(arguments.folder or Path(folder))
        runs = [(name, path, command, words) for name, path, commands in files for command, words in commands.items()]
        runs = [run for run in runs if arguments.only in f"{run[2]} {run[0]}"]
        random.Random(1).shuffle(runs)
        runs = runs[: arguments.runs]
        sanitized = b"__asan_init" in Path(arguments.vernier).read_bytes()
        limit = (4 if sanitized else 1.5) * (1 << 20)
        codes, failures, slowest = {}, 0, (0, "")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for run, (code, seconds, text) in zip(runs, pool.map(lambda one: try_one(arguments, limit, *one), runs)):
                codes[code] = codes.get(code, 0) + 1
                slowest = max(slowest, (seconds, f"{run[2]} of {run[0]}"))
                if text:
                    failures += 1
                    print(text, flush=True)
    print(f"{len(runs)} runs of {len(files)} files, exit codes {dict(sorted(codes.items()))}, slowest {slowest[1]} ({slowest[0]:.1f} s), {failures} not answered")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
