#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <filesystem>
#include <limits>

#include "vernier/analysis/check/structure.h"
#include "vernier/error.h"
#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

using vernier_onnx::TensorProto;

bool leaves_the_folder(const std::string& location) {
  const std::filesystem::path path(location);
  if (path.is_absolute()) return true;
  for (const auto& part : path)
    if (part == "..") return true;
  return false;
}

std::optional<Finding> check_external(const Model& model, const Body& subgraph,
                                      const TensorProto& weight) {
  if (!has_external_data(weight) || model.is_inside(weight)) return std::nullopt;
  const Subject subject = tensor_subject(subgraph, weight.name());
  try {
    const ExternalData data = external_data(weight);
    if (leaves_the_folder(data.location))
      return make_finding("escaping-external-data", subject,
                          fmt::format("its data is in '{}'", data.location));
    const auto file = resolve_external(model.folder(), data.location);
    const auto size = static_cast<std::int64_t>(std::filesystem::file_size(file));
    const std::int64_t needed = weight_bytes(weight);
    if (data.offset > size || needed > size - data.offset)
      return make_finding("missing-external-data", subject,
                          fmt::format("it needs {} bytes from byte {} of '{}', which has {}",
                                      needed, data.offset, data.location, size));
  } catch (const Error& error) {
    const std::string message = error.what();
    const bool escapes = message.find("leaves it") != std::string::npos;
    return make_finding(escapes ? "escaping-external-data" : "missing-external-data", subject,
                        message.substr(message.find(']') + 2));
  }
  return std::nullopt;
}

}  // namespace

Findings check_files(const Graphs& graphs) {
  Findings findings;
  const Model& model = graphs.model;
  for (const Body& subgraph : graphs.subgraphs)
    for (const TensorProto& weight : subgraph.graph->initializer())
      if (auto finding = check_external(model, subgraph, weight)) findings.push_back(*finding);
  if (!model.path().empty())
    if (auto finding = check_file_size(model.path())) findings.push_back(*finding);
  return findings;
}

std::optional<Finding> check_file_size(const std::filesystem::path& path) {
  constexpr std::uintmax_t most = std::numeric_limits<std::int32_t>::max();
  const std::uintmax_t size = std::filesystem::file_size(path);
  if (size <= most) return std::nullopt;
  return make_finding("oversized-file", {},
                      fmt::format("the file has {} bytes, ONNX files at most {}", size, most));
}

}  // namespace vernier
