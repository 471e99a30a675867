"""`python -m vernier`: the program, in this interpreter."""

import sys

from vernier import _vernier

sys.exit(_vernier.main(sys.argv[1:]))
