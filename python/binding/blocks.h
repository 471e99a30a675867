#pragma once

#include <nanobind/nanobind.h>

#include "vernier/report/document.h"

namespace vernier::binding {

// The blocks of a document as dictionaries with a "kind": what python/vernier/_notebook.py shows.
nanobind::list blocks_of(const Document& document);

}  // namespace vernier::binding
