"""A PyTorch model as a host: it is described by running it once, and shows leaves or operators."""

import platform
import sys
from contextlib import ExitStack, contextmanager

import torch

from vernier_export.calling import attention_fast_path_off
from vernier_export.errors import first_line
from vernier_export.source import resolve
from vernier_export.structure import flatten
from vernier_host.calling import Calling, inputs_among
from vernier_host.leaves import Leaves
from vernier_host.operators import Operators
from vernier_host.precision import in_float64
from vernier_host.protocol import Failure
from vernier_host.tensors import DTYPES, byte_count, dense, from_bytes, message_of

NAMED = 3  # names shown of a long list
WATCHES = {"layers": Leaves, "operators": Operators}


class TorchHost:
    """`needs_inputs`: whether it is described by example inputs of its own."""

    def __init__(self, options, needs_inputs=False):
        self.options = options
        options.shape, options.needs_inputs = None, needs_inputs
        with quiet_default_dtype():
            self.source = resolve(options.source, options)
        self.model = self.source.model.eval().cpu().float()

    def describe(self, request, inputs):
        if request.get("threads"):
            torch.set_num_threads(request["threads"])
        self.float64 = request["precision"] == "float64"
        if self.float64:
            self.model.double()
        self.buffers = {
            name: (each, each.clone(), each._version) for name, each in self.model.named_buffers()
        }
        self.watch = WATCHES[request["watch"]](self.model) if request["watch"] in WATCHES else None
        in_file = bool(inputs) and not request["outputs"]
        if in_file:
            inputs = inputs_among(self.source, inputs)
        tensors = [from_bytes(message, data) for message, data in inputs]
        given = [message for message, _ in inputs]
        if not inputs:
            tensors, given = self.own_example()
        elif in_file:
            tensors, given = self.example_in_file(tensors, given)
        self.calling = Calling(self.source, given)
        names = request["outputs"] + self.calling.names
        if hasattr(self.model, "config") and any(is_of_a_cache(name) for name in names):
            self.model.config.use_cache = True
        layers, skipped = [], []
        with explained(self.calling):
            outputs = self.forward(tensors, self.describing(layers, skipped))
        if not outputs:
            raise Failure("it returns no tensor")
        if self.float64:
            require_float64(layers + [spec(name, tensor) for name, tensor in outputs])
        return {
            "inputs": self.calling.inputs(self.float64),
            "outputs": [spec(name, tensor) for name, tensor in outputs],
            "outputs_are_positional": any(is_positional(name) for name, _ in outputs),
            "layers": layers,
            "parameters": [spec(name, tensor) for name, tensor in self.named_tensors()],
            "unwatched": skipped + (self.watch.unwatched() if self.watch else []),
            "warnings": self.warnings(),
            "versions": versions(),
        }

    def own_example(self):
        """(tensors, their specs): of a source that comes with example inputs."""
        example = self.source.inputs
        if not example or not all(isinstance(each, torch.Tensor) for each in example.values()):
            raise Failure(
                "it comes without example inputs; give it some with --input-data, or write a function "
                "that returns (model, inputs)"
            )
        return list(example.values()), [spec(name, each) for name, each in example.items()]

    def example_in_file(self, tensors, given):
        """(tensors, their specs) in the rank that the model takes them in: a row of a file may be a batch
        of one without its axis, or all of a sample, as recordings have it."""
        example = self.source.inputs or {}
        whole = [each[0] if each.dim() else each for each in tensors]
        ranks = [each.dim() for each in example.values() if isinstance(each, torch.Tensor)]
        if ranks and ranks == [each.dim() for each in whole]:
            tensors = whole
        elif not ranks and not self.runs_on(tensors, given) and self.runs_on(whole, given):
            tensors = whole
        return tensors, [spec(each["name"], tensor) for each, tensor in zip(given, tensors)]

    def runs_on(self, tensors, given):
        self.calling = Calling(self.source, given)
        try:
            self.forward(tensors, None)
        except Exception:
            return False
        return True

    def warnings(self):
        found = []
        if self.source.weights.startswith("random"):
            found.append(
                f"{self.options.source} has random weights; to give it others pass "
                "their file as --reference and this as --reference-model"
            )
        if self.options.open_attention:
            found.append("fused attention is run operator by operator, which moves the result")
        return found

    @staticmethod
    def describing(layers, skipped):
        def show(name, tensor, about):
            if tensor.dtype in DTYPES:
                layers.append({**spec(name, tensor), **about()})
            else:
                skipped.append({"name": name, "reason": f"{tensor.dtype} cannot be compared"})

        return show

    def run(self, inputs, show, give):
        def send(name, tensor, about):
            if tensor.dtype in DTYPES:
                plain = dense(tensor)
                show(message_of("tensor", name, plain), plain.data_ptr(), byte_count(plain))

        tensors = [from_bytes(message, data) for message, data in inputs]
        for name, tensor in self.forward(tensors, send if show else None):
            plain = dense(tensor)
            give(message_of("output", name, plain), plain.data_ptr(), byte_count(plain))

    def forward(self, tensors, show):
        self.restore_buffers()
        arguments, keywords = self.calling.arguments(tensors, self.float64)
        with ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            if self.options.open_attention:
                stack.enter_context(attention_fast_path_off(self.model))
            if self.float64:
                stack.enter_context(in_float64())
            if self.watch and show:
                stack.enter_context(self.watch.watching(show))
            result = self.model(*arguments, **keywords)
        return [(name, tensor) for name, tensor in flatten(result) if tensor.dtype in DTYPES]

    def restore_buffers(self):
        """Every run starts from the state that the model was loaded with."""
        for name, (buffer, saved, version) in self.buffers.items():
            path, _, attribute = name.rpartition(".")
            owner = self.model.get_submodule(path)
            if getattr(owner, attribute) is not buffer:
                owner._buffers[attribute] = buffer
            if buffer._version != version:
                with torch.no_grad():
                    buffer.copy_(saved)
                self.buffers[name] = (buffer, saved, buffer._version)

    def parameters(self, give, names):
        wanted = None if names is None else set(names)
        for name, tensor in self.named_tensors():
            if wanted is None or name in wanted:
                plain = dense(tensor)
                give(message_of("tensor", name, plain), plain.data_ptr(), byte_count(plain))

    def named_tensors(self):
        """Parameters and buffers, those that are tied by each of their names; of a parametrized module what
        its parametrizations compute."""
        for path, module in self.model.named_modules(remove_duplicate=False):
            if ".parametrizations" in f".{path}":
                continue
            computed = getattr(module, "parametrizations", {})
            if not isinstance(computed, torch.nn.ModuleDict):
                computed = {}  # an exported program computes them as it runs
            tensors = {**module._parameters, **module._buffers, **{name: getattr(module, name) for name in computed}}
            for name, tensor in tensors.items():
                if tensor is not None and tensor.dtype in DTYPES:
                    yield f"{path}.{name}" if path else name, tensor


@contextmanager
def explained(calling):
    """What fails where names of inputs are not forward's may fail for that reason."""
    try:
        yield
    except Exception as error:
        if calling.by_name or isinstance(error, Failure):
            raise
        given = ", ".join(each["name"] for each in calling.given)
        raise Failure(
            f"{type(error).__name__}: {first_line(error)}; it was given the candidate's {given} in turn as "
            f"{', '.join(calling.names)}"
        ) from error


def spec(name, tensor):
    return {"name": name, "dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape)}


def is_of_a_cache(name):
    return "past_key_values" in name or "present" in name


def is_positional(name):
    return name.rstrip("_0123456789") == "output"


def require_float64(specs):
    floats = [each for each in specs if "float" in each["dtype"]]
    narrow = [each["name"] for each in floats if each["dtype"] != "float64"]
    if narrow:
        more = f" and {len(narrow) - NAMED} more" if len(narrow) > NAMED else ""
        raise Failure(
            f"run in float64, these are not: {', '.join(narrow[:NAMED])}{more}; the model chooses a "
            "dtype of its own, so leave --truth out"
        )


def versions():
    """Of Python, PyTorch and the libraries that the model was made with."""
    found = {"python": platform.python_version()}
    for package in ("torch", "torchvision", "transformers", "timm"):
        if package in sys.modules and hasattr(sys.modules[package], "__version__"):
            found[package] = str(sys.modules[package].__version__)
    return found


@contextmanager
def quiet_default_dtype():
    """A source that changes the default dtype while it loads changes it for itself alone."""
    before = torch.get_default_dtype()
    try:
        yield
    finally:
        torch.set_default_dtype(before)
