"""What numpy takes for leave-one-out nearest neighbours, best of several runs.

knn_numpy.py EMBEDDINGS.npy K RUNS OUT.npz prints, for a full sort and for a partial one, wall and
CPU seconds; OUT gets the neighbours of both and, by float64 similarities, of the truth.
"""

import sys
import time

import numpy as np


def similarities(embeddings):
    rows = embeddings / np.maximum(np.linalg.norm(embeddings, axis=1, keepdims=True), 1e-9)
    result = rows @ rows.T
    np.fill_diagonal(result, -np.inf)
    return result


def sorted_fully(embeddings, k):
    return np.argsort(-similarities(embeddings), axis=1)[:, :k]


def sorted_partially(embeddings, k):
    similarity = similarities(embeddings)
    nearest = np.argpartition(-similarity, k, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(similarity, nearest, axis=1), axis=1)
    return np.take_along_axis(nearest, order, axis=1)


def truth(embeddings, k):
    """In float64, a block of rows at a time."""
    rows = embeddings.astype(np.float64)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    nearest = []
    for begin in range(0, len(rows), 1000):
        block = rows[begin:begin + 1000] @ rows.T
        block[np.arange(len(block)), begin + np.arange(len(block))] = -np.inf
        candidates = np.sort(np.argpartition(-block, 2 * k, axis=1)[:, :2 * k], axis=1)
        order = np.argsort(-np.take_along_axis(block, candidates, axis=1), axis=1, kind="stable")
        nearest.append(np.take_along_axis(candidates, order[:, :k], axis=1))
    return np.concatenate(nearest)


def best_seconds(search, embeddings, k, runs):
    wall = cpu = np.inf
    for _ in range(runs):
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        found = search(embeddings, k)
        wall = min(wall, time.perf_counter() - wall_start)
        cpu = min(cpu, time.process_time() - cpu_start)
    print(wall, cpu)
    return found.astype(np.int32)


if __name__ == "__main__":
    embeddings, k, runs = np.load(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    np.savez(sys.argv[4],
             full=best_seconds(sorted_fully, embeddings, k, runs),
             partial=best_seconds(sorted_partially, embeddings, k, runs),
             truth=truth(embeddings, k).astype(np.int32))
