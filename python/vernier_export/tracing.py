"""Traces a model, and checks that the trace is the model: on other values and on other shapes."""

import warnings
from pathlib import Path

import torch

from vernier_export import axes
from vernier_export.calling import flat, run
from vernier_export.errors import ExportError, first_line

TOLERANCE = {"rtol": 1e-3, "atol": 1e-4}


class Frozen(Exception):
    """The trace is the model for the example alone."""


class Trace:
    """The traced module, what it returned for the examples, and what tracing warned of."""

    def __init__(self, source):
        self.source = source
        self.examples = list(source.inputs.values())
        try:
            self.outputs = run(source, self.examples)
        except Exception as error:
            raise ExportError(
                f"does not run on the example inputs: {first_line(error)}"
            ) from error
        if not self.outputs:
            raise ExportError("it returns no tensor")
        with warnings.catch_warnings(record=True) as caught, flat(source) as model:
            warnings.simplefilter("always")
            try:
                self.module = torch.jit.trace(
                    model, tuple(self.examples), check_trace=False, strict=False
                )
            except Exception as error:
                raise ExportError(f"cannot be traced: {first_line(error)}") from error
        self.hints = [
            f"{Path(each.filename).name}:{each.lineno}: {first_line(each.message).split('. ')[0]}"
            for each in caught
            if issubclass(each.category, torch.jit.TracerWarning)
        ]

    def difference(self, inputs):
        """How the trace differs from the model on these inputs; empty when it does not. None when
        the model itself does not take them."""
        tensors = list(inputs.values())
        try:
            expected = run(self.source, tensors)
        except Exception:
            return None
        try:
            # Without this, the second run of a large trace spends minutes on optimising it.
            with torch.no_grad(), torch.jit.optimized_execution(False):
                got = self.module(*tensors)
        except Exception as error:
            return first_line(error)
        got = (got,) if isinstance(got, torch.Tensor) else got
        for (name, reference), candidate in zip(expected, got):
            if reference.shape != candidate.shape:
                return f"'{name}' is {list(candidate.shape)}, not {list(reference.shape)}"
            if not torch.allclose(reference, candidate, equal_nan=True, **TOLERANCE):
                largest = (reference - candidate).abs().max().item()
                return f"'{name}' differs by {largest:.3g}"
        return ""

    def check_values(self):
        """A branch taken on the example's values, and on no others, makes another function of it."""
        inputs = {name: axes.random_like(each) for name, each in self.source.inputs.items()}
        if difference := self.difference(inputs):
            raise Frozen(
                f"tracing froze a branch or a value: on other inputs {difference}{self.hint()}"
            )

    def dynamic(self, symbols):
        """({input or output: {axis: symbol}}, warnings): the axes that are dynamic in the trace."""
        found, complaints = {}, []
        batch = axes.batch_axes(self.source.inputs, sum(symbols.values(), []))
        for symbol, places in {axes.BATCH: batch, **symbols}.items():
            try:
                moving = self.moving_axes(symbol, places) if places else []
            except Frozen as error:
                if symbol != axes.BATCH:
                    raise ExportError(f"--dynamic {places[0][0]}:{places[0][1]}: {error}") from error
                complaints.append(f"the batch is fixed: {error}")
                continue
            for name, axis in moving:
                found.setdefault(name, {}).setdefault(axis, symbol)
        return found, complaints

    def moving_axes(self, symbol, places):
        """[(input or output, axis)] that change with these; raises Frozen when the trace does not
        follow."""
        inputs = axes.resized(self.source.inputs, places, symbol)
        difference = self.difference(inputs)
        sizes = ", ".join(f"{name} {list(inputs[name].shape)}" for name, _ in places)
        if difference is None:
            raise Frozen(f"the model does not take {sizes}")
        if difference:
            raise Frozen(f"tracing froze its shape: with {sizes}, {difference}{self.hint()}")
        changed = axes.changed_axes(self.outputs, run(self.source, list(inputs.values())))
        if changed is None:
            raise Frozen(f"with {sizes} it returns other outputs")
        return places + changed

    def hint(self):
        return f" ({self.hints[0]})" if self.hints else ""
