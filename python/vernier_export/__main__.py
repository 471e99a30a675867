import sys

from vernier_export.cli import main

sys.exit(main(sys.argv[1:]))
