"""python PATH/vernier_export, as Vernier starts it, or python -m vernier_export."""

import signal
import sys

# Started by the path of this folder, so that the current one is not searched for modules: only what
# is installed, and the packages beside this one.
if not __package__:
    sys.path[0] = __file__.rpartition("vernier_export")[0] or "."

from vernier_export.cli import main  # noqa: E402

# Asked to end, as when the program that started it was: as an exception, so that what is half written goes.
signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
sys.exit(main(sys.argv[1:]))
