"""Archives between numpy and us.

npz_cases.py write FOLDER   writes stored.npz, deflated.npz and v1.npy, v2.npy, v3.npy with numpy
npz_cases.py check FILE     reads an archive of ours and prints "N arrays are right"

An array's name says what it is: DTYPE/LAYOUT, elements counting up from 0 in C order (bool: every
one but the first true). In our archives DTYPE/STORED/LAYOUT, where numpy has no DTYPE of its own.
"""

import sys

import numpy as np

DTYPES = "float64 float32 float16 int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool".split()
SHAPES = {"c": (2, 3, 4), "fortran": (2, 3, 4), "big": (2, 3, 4), "vector": (5,), "scalar": (),
          "empty": (2, 0, 3)}


def counting(dtype, layout):
    shape = SHAPES[layout]
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    if layout == "fortran":
        return np.asfortranarray(array)
    if layout == "big":
        return array.astype(array.dtype.newbyteorder(">"))
    return array


def write(folder):
    arrays = {f"{dtype}/{layout}": counting(dtype, layout) for dtype in DTYPES for layout in SHAPES}
    np.savez(folder + "/stored.npz", **arrays)
    np.savez_compressed(folder + "/deflated.npz", **arrays)
    for major in 1, 2, 3:
        with open(f"{folder}/v{major}.npy", "wb") as file:
            np.lib.format.write_array(file, counting("int32", "fortran"), version=(major, 0))


def check(path):
    with np.load(path, allow_pickle=False) as archive:
        for name in archive.files:
            stored, layout = name.split("/")[-2:]
            expected, found = counting(stored, layout), archive[name]
            assert found.dtype == expected.dtype, (name, found.dtype)
            assert found.shape == expected.shape, (name, found.shape)
            assert found.tobytes() == expected.tobytes(), name
        print(f"{len(archive.files)} arrays are right")


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](sys.argv[2])
