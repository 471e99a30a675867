"""What numpy says of the embeddings in an .npz: neighbours, accuracies, agreement of two sides.

Writes arrays to stdout, each behind its length in 8 bytes, in the order the test reads them.
"""
import sys

import numpy as np


def similarities(embedding):
    rows = embedding.astype(np.float64)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    result = rows @ rows.T
    np.fill_diagonal(result, -np.inf)
    return result


def neighbours(similarity, k):
    return np.argsort(-similarity, axis=1, kind="stable")[:, :k]


def accuracies(similarity, label, k, weight):
    """Top-1 and top-5 in percent: each neighbour votes for its label with its weight."""
    top1 = top5 = 0
    for query, nearest in enumerate(neighbours(similarity, k)):
        votes = {}
        for index in nearest:
            votes[label[index]] = votes.get(label[index], 0) + weight(similarity[query, index])
        ranked = sorted(votes, key=lambda name: -votes[name])
        top1 += ranked[0] == label[query]
        top5 += label[query] in ranked[:5]
    return [round(100 * top1 / len(label), 4), round(100 * top5 / len(label), 4)]


def ranks(values):
    """From 1; equal values share the mean of their ranks."""
    distinct, group = np.unique(values, return_inverse=True)
    last = np.cumsum(np.bincount(group, minlength=len(distinct)))
    first = np.r_[0, last[:-1]] + 1
    return ((first + last) / 2)[group]


def spearman(reference, candidate):
    return np.mean([
        np.corrcoef(ranks(np.delete(reference[i], i)), ranks(np.delete(candidate[i], i)))[0, 1]
        for i in range(len(reference))
    ])


def overlap(reference, candidate, k):
    pairs = zip(neighbours(reference, k), neighbours(candidate, k))
    return np.mean([len(set(left) & set(right)) / k for left, right in pairs])


def write(array):
    data = np.ascontiguousarray(array).tobytes()
    sys.stdout.buffer.write(len(data).to_bytes(8, "little") + data)


archive = np.load(sys.argv[1])
label = archive["label"]
reference = similarities(archive["embedding"])
candidate = similarities(archive["embedding"].astype(np.float16))

write(neighbours(reference, 10).astype(np.int32))
write(np.take_along_axis(reference, neighbours(reference, 10), axis=1))
write(np.array([accuracies(reference, label, k, lambda s: s) for k in (10, 5)]))
write(np.array(accuracies(reference, label, 10, lambda s: np.exp(s / 0.07))))
write(np.array([overlap(reference, candidate, 10), spearman(reference, candidate)]))
