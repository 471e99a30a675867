"""What the Python package costs: pairs of 100 MB, importing, memory over many calls, Ctrl-C.

python bench/package_bench.py METRICS_BENCH [CALLS]

Run it with the Python that the wheel is installed into; METRICS_BENCH is the program of that name, whose C++
is compared with. CALLS (10,000) is how often each function is called to see whether memory grows.
"""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy

import vernier
from metrics_numpy import seconds as numpy_seconds

MNIST = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "mnist"
FLOAT, INT8, INPUTS = (str(MNIST / name) for name in ("mnist_cnn.onnx", "mnist_cnn.int8.onnx", "mnist_inputs.npz"))
ELEMENTS = 25_000_000  # 100 MB of float32


def cpu_seconds(work, rounds):
    def once():
        start = time.thread_time()
        work()
        return time.thread_time() - start

    return min(once() for _ in range(rounds))


def pairs(metrics_bench):
    generator = numpy.random.default_rng(1)
    reference, candidate = (generator.standard_normal(ELEMENTS, dtype=numpy.float32) for _ in range(2))
    python = cpu_seconds(lambda: vernier.metrics.measure(reference, candidate), 15)
    table = subprocess.check_output([metrics_bench, str(ELEMENTS)], text=True).splitlines()
    rate = float(table[-1].split()[2])  # GB/s of both tensors
    plain = 8e-9 * ELEMENTS / rate
    numpys = min(numpy_seconds(reference, candidate) for _ in range(5))
    print(f"a pair of {reference.nbytes / 1e6:.0f} MB each, CPU seconds, best of several runs")
    print(f"  C++ {plain:.4f}, Python {python:.4f} ({python / plain:.2f} x C++), numpy {numpys:.4f} "
          f"({numpys / python:.1f} x Python)")


def importing():
    """By processor time: what else runs does not matter."""

    def once(*command):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    bare, whole, program = [], [], []
    for _ in range(20):
        bare.append(once(sys.executable, "-c", "pass"))
        whole.append(once(sys.executable, "-c", "import vernier"))
        program.append(once(Path(sys.executable).parent / "vernier", "--help"))
    print(f"import vernier takes {1e3 * (min(whole) - min(bare)):.0f} ms beyond the interpreter's {1e3 * min(bare):.0f} ms; "
          f"vernier --help {1e3 * min(program):.0f} ms, in processor time")


def resident():
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory(calls):
    with numpy.load(INPUTS) as file:
        inputs = {name: file[name][:1] for name in file.files}
    small = numpy.ones((100, 10), numpy.float32)
    session_like = numpy.zeros((1, 10), numpy.float32)
    work = {
        "metrics.sqnr_db": lambda: vernier.metrics.sqnr_db(small, small + 1),
        "metrics.sqnr_db of a strided array": lambda: vernier.metrics.sqnr_db(small.T, small.T + 1),
        "compare": lambda: vernier.compare(FLOAT, INT8, inputs, threads=1).to_dict(),
        "compare with a callable": lambda: vernier.compare(lambda image: session_like, FLOAT, inputs, threads=1).outputs,
        "an error": lambda: error(),
    }

    def error():
        try:
            vernier.compare("none.onnx", "none.onnx")
        except vernier.Error:
            pass

    for name, each in work.items():
        for _ in range(calls // 10):
            each()
        before, start = resident(), time.perf_counter()
        for _ in range(calls):
            each()
        grown = resident() - before
        print(f"{name}: {calls} calls in {time.perf_counter() - start:.0f} s, memory grew by {grown / 1024:.0f} KiB, "
              f"{grown / calls:.1f} bytes a call", flush=True)


def interruption():
    """From the signal to KeyboardInterrupt, while ONNX Runtime works and while Python does."""

    def sleeping(image):
        for _ in range(2000):
            time.sleep(0.01)
        return image

    signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
    many = numpy.zeros((20_000, 1, 28, 28), numpy.float32)
    for name, work in {
        "ONNX Runtime": lambda: vernier.compare(FLOAT, INT8, many),
        "a callable": lambda: vernier.compare(sleeping, FLOAT, many),
    }.items():
        sent = []

        def interrupt(sent=sent):
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Timer(1, interrupt).start()
        try:
            work()
            print(f"Ctrl-C while {name} works: it ended before")
        except KeyboardInterrupt:
            print(f"Ctrl-C while {name} works: {1e3 * (time.perf_counter() - sent[0]):.0f} ms, "
                  f"{threading.active_count()} thread left")


if __name__ == "__main__":
    importing()
    pairs(sys.argv[1])
    interruption()
    memory(int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
