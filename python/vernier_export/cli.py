"""The command line: python -m vernier_export SOURCE -o DIR."""

import argparse
import json
import sys

from vernier_export.errors import ExportError, import_torch

EXIT_ERROR = 2


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise ExportError(f"{message}; see --help")


def parser():
    result = Parser(prog="vernier_export", description=__doc__)
    result.add_argument(
        "source",
        nargs="?",
        help="torchvision:NAME, timm:NAME, FILE.py:FUNCTION, package.module:FUNCTION, or a Hugging "
        "Face id or folder (hf:)",
    )
    result.add_argument("-o", "--output", help="the folder to write")
    result.add_argument("--task", help="what the model is for; needed for a Hugging Face model")
    result.add_argument("--weights", help="a state dict to load")
    result.add_argument("--seed", type=int, default=42, help="of random weights and inputs")
    result.add_argument("--shape", type=shape, help="of the example, as 1x3x224x224 (torchvision)")
    result.add_argument(
        "--exporter",
        choices=("torchscript", "dynamo"),
        help="default: dynamo from PyTorch 2.5 on, unless --instrument is given",
    )
    result.add_argument("--opset", type=int, help="default: the newest that torch can write")
    result.add_argument("--dynamic", default="", help="more dynamic axes: NAME:AXIS[=SYMBOL],...")
    result.add_argument("--instrument", action="store_true", help="also write model.layers.onnx")
    result.add_argument(
        "--allow-frozen", action="store_true", help="export a trace that differs on other inputs"
    )
    result.add_argument("--versions", action="store_true", help="print versions as JSON, and end")
    result.add_argument("--error-to-stdout", action="store_true", help=argparse.SUPPRESS)
    result.set_defaults(needs_inputs=True)
    return result


def shape(text):
    sizes = text.split("x")
    if not all(size.isdigit() and int(size) > 0 for size in sizes):
        raise argparse.ArgumentTypeError(f"{text}: expected sizes as in 1x3x224x224")
    return [int(size) for size in sizes]


def say(kind, message):
    print(f"{kind}: {message}", file=sys.stderr, flush=True)


def main(arguments):
    try:
        run(parser().parse_args(arguments))
        return 0
    except ExportError as error:
        # The C++ command shows the error as its own.
        if "--error-to-stdout" in arguments:
            print(f"[export] {error}")
        else:
            print(f"vernier: [export] {error}", file=sys.stderr)
        return EXIT_ERROR


def run(options):
    if options.versions:
        from vernier_export.sidecar import versions

        print(json.dumps(versions(["torch", "torchvision", "transformers"])))
        return
    if not options.source or not options.output:
        raise ExportError("SOURCE and -o DIR are needed; see --help")
    import_torch()
    from vernier_export.export import export

    try:
        export(options, say)
    except ExportError as error:
        raise ExportError(f"{options.source}: {error}") from error
