"""Validates JSON results against a schema: validate_schema.py SCHEMA RESULT..."""

import json
import sys

import jsonschema


def reject_constant(name):
    raise ValueError(f"bare {name} is not JSON")


with open(sys.argv[1]) as file:
    schema = json.load(file)
for path in sys.argv[2:]:
    with open(path) as file:
        jsonschema.validate(json.load(file, parse_constant=reject_constant), schema)
