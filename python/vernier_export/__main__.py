"""python PATH/vernier_export, as Vernier starts it, or python -m vernier_export."""

import signal
import sys

# Started by the path of this folder: only installed modules and the packages next to this one are
# imported, and not those of the current folder.
if not __package__:
    sys.path[0] = __file__.rpartition("vernier_export")[0] or "."

from vernier_export.cli import main  # noqa: E402

# SIGTERM, which arrives when the parent ends, becomes an exception, so that half-written files are
# removed.
signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
sys.exit(main(sys.argv[1:]))
