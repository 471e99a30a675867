#!/usr/bin/env bash
# Prints the first Python that can import the named modules: `scripts/find_python.sh numpy torch`.
# $VERNIER_PYTHON is tried first, then every python3 on PATH, then Debian's own.
for python in ${VERNIER_PYTHON:+"$VERNIER_PYTHON"} $(type -ap python3) /usr/bin/python3; do
  "$python" -c "import importlib; [importlib.import_module(name) for name in '$*'.split()]" 2>/dev/null &&
    echo "$python" && exit 0
done
echo "find_python: no python3 imports $*: run scripts/setup.sh build torch" >&2
exit 2
