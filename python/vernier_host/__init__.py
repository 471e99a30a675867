"""Runs a model in the user's own Python for Vernier, and shows it every tensor.

`protocol` speaks docs/host-protocol.md for any framework; the rest of the package is the host for
PyTorch.
"""
