"""CPU seconds that numpy takes for the five classic metrics of a float32 pair, best of several runs.

metrics_numpy.py REFERENCE CANDIDATE RUNS, both files raw float32.
"""

import sys
import time

import numpy as np


def five_metrics(reference, candidate):
    r, c = reference.astype(np.float64), candidate.astype(np.float64)
    d = r - c
    signal, noise = np.sum(r * r), np.sum(d * d)
    mse = np.mean(d * d)
    return (10 * np.log10(signal / noise), 10 * np.log10(np.max(np.abs(r)) ** 2 / mse),
            np.dot(r, c) / (np.linalg.norm(r) * np.linalg.norm(c)), mse, np.max(np.abs(d)))


def seconds(reference, candidate):
    start = time.thread_time()
    five_metrics(reference, candidate)
    return time.thread_time() - start


if __name__ == "__main__":
    pair = [np.fromfile(path, np.float32) for path in sys.argv[1:3]]
    print(min(seconds(*pair) for _ in range(int(sys.argv[3]))))
