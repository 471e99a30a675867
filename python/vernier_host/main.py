"""The command line of the host, and what it says when something fails."""

import argparse
import sys
import traceback
from contextlib import contextmanager

from vernier_export.errors import first_line, import_torch
from vernier_host.protocol import Channel, Failure, serve


def parser():
    result = argparse.ArgumentParser(prog="vernier_host")
    result.add_argument("source", help="what torch_host loads, as vernier's --reference takes it")
    result.add_argument("--task", default="", help="of a Hugging Face model that names no class")
    result.add_argument("--weights", default="", help="a state dict to load")
    result.add_argument("--seed", type=int, default=42, help="of weights that are made at random")
    result.add_argument("--open-attention", action="store_true", help="no fused attention")
    return result


@contextmanager
def failures():
    """Whatever goes wrong in the user's model is told in a line, and in full on standard error."""
    try:
        yield
    except (Failure, EOFError):
        raise
    except SystemExit as error:
        raise Failure(f"it ended Python with exit code {error.code}") from error
    except Exception as error:
        traceback.print_exc()
        raise Failure(told(error)) from error


def told(error):
    """What the message says first; the class too, where Python raised it."""
    kind, line = type(error).__name__, first_line(error)
    return line if line == kind or kind == "ExportError" else f"{kind}: {line}"


class Guarded:
    """The host for PyTorch, loaded when the first request needs it: importing it may fail, too."""

    def __init__(self, options):
        self.options = options
        self.host = None

    def describe(self, request, inputs):
        with failures():
            import_torch()
            from vernier_host.torch_host import TorchHost

            if self.host is None:
                self.host = TorchHost(self.options, needs_inputs=not inputs)
            return self.host.describe(request, inputs)

    def run(self, inputs, show, give):
        with failures():
            self.host.run(inputs, show, give)

    def parameters(self, give, names):
        with failures():
            self.host.parameters(give, names)


def main(arguments):
    serve(Channel(), Guarded(parser().parse_args(arguments)))
    return 0
