"""python PATH/vernier_host SOURCE: the host for PyTorch models. Vernier starts it."""

import sys

# Started by the path of this folder: only installed modules and the packages next to this one are
# imported, and not those of the current folder.
sys.path[0] = __file__.rpartition("vernier_host")[0] or "."

from vernier_host.main import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
