"""Exports a PyTorch model for Vernier: model.onnx, model.pt (TorchScript) and model.json.

Run it with `vernier export SOURCE -o DIR`, or `python -m vernier_export SOURCE -o DIR`.
"""
