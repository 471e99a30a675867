#pragma once

#include <optional>
#include <string>

#include "vernier/analysis/inspect.h"
#include "vernier/report/document.h"

namespace vernier {

// `model` is the file's name; `live` is nullopt if the model was not run.
Document describe_inspection(const std::string& model, const Inspection& inspection,
                             const std::optional<LiveTensors>& live);

// Schema: docs/schemas/inspect.schema.json.
std::string inspection_json(const std::string& model, const Inspection& inspection,
                            const std::optional<LiveTensors>& live);

std::string_view format_name(ModelFormat format);  // "onnx", "torchscript", "recorded", "hosted"

}  // namespace vernier
