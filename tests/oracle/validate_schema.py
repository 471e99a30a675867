"""Validates JSON results against a schema: validate_schema.py SCHEMA RESULT..."""

import json
import pathlib
import sys

import jsonschema


def reject_constant(name):
    raise ValueError(f"bare {name} is not JSON")


with open(sys.argv[1]) as file:
    schema = json.load(file)
# Schemas refer to others beside them.
resolver = jsonschema.RefResolver(pathlib.Path(sys.argv[1]).resolve().as_uri(), schema)
for path in sys.argv[2:]:
    with open(path) as file:
        result = json.load(file, parse_constant=reject_constant)
    jsonschema.validate(result, schema, resolver=resolver)
