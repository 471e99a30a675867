#include "vernier/exporting/sidecar.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "vernier/error.h"
#include "vernier/json.h"
#include "vernier/tensor/inflate_limit.h"

namespace vernier {
namespace {

using nlohmann::json;

[[noreturn]] void throw_wrong(const std::string& what) {
  throw Error(what + "; correct or remove the file");
}

Dim dim_of(const json& dim) {
  if (dim.is_string()) return {.symbol = dim.get<std::string>()};
  if (dim.is_null()) return {};
  if (dim.is_number_integer() && dim.get<std::int64_t>() >= 0) return {.size = dim};
  throw_wrong("a dimension is a size, a name or null, not " + json_line(dim));
}

TensorSpec spec_of(const json& entry) {
  if (!entry.is_object() || !entry.value("name", json()).is_string())
    throw_wrong("expected an object with a name, found " + json_line(entry));
  TensorSpec spec{.name = entry["name"], .ranked = entry.contains("shape")};
  if (entry.contains("dtype")) {
    const auto dtype = entry["dtype"].is_string()
                           ? parse_dtype(entry["dtype"].get_ref<const std::string&>())
                           : std::nullopt;
    if (!dtype) throw_wrong(fmt::format("'{}' has dtype {}", spec.name, json_line(entry["dtype"])));
    spec.dtype = *dtype;
  }
  if (!spec.ranked) return spec;
  if (!entry["shape"].is_array()) throw_wrong(fmt::format("'{}' has no list as shape", spec.name));
  for (const json& dim : entry["shape"]) spec.shape.push_back(dim_of(dim));
  return spec;
}

std::vector<TensorSpec> specs_of(const json& sidecar, const char* key) {
  std::vector<TensorSpec> specs;
  if (!sidecar.contains(key)) return specs;
  if (!sidecar[key].is_array()) throw_wrong(fmt::format("'{}' is not a list", key));
  for (const json& entry : sidecar[key]) specs.push_back(spec_of(entry));
  return specs;
}

std::string text_of(const json& entry, const char* key) {
  const json text = entry.value(key, json());
  return text.is_string() ? text.get<std::string>() : "";
}

SidecarReference reference_of(const json& sidecar) {
  const json reference = sidecar.value("reference", json());
  if (!reference.is_object()) return {};
  return {reference.value("source", ""), reference.value("weights", ""),
          reference.value("seed", std::int64_t{42}), text_of(sidecar, "task")};
}

std::vector<SidecarTensor> tensors_of(const json& sidecar) {
  std::vector<SidecarTensor> tensors;
  for (const json& entry : sidecar.value("tensors", json::array()))
    if (entry.is_object())
      tensors.push_back(
          {text_of(entry, "name"), text_of(entry, "module"), text_of(entry, "source")});
  return tensors;
}

std::optional<Sidecar> parse(std::string_view text) {
  const json sidecar = parse_json<json>(text);
  if (!sidecar.is_object() || (!sidecar.contains("inputs") && !sidecar.contains("outputs")))
    return std::nullopt;
  return Sidecar{.inputs = specs_of(sidecar, "inputs"),
                 .outputs = specs_of(sidecar, "outputs"),
                 .task = text_of(sidecar, "task"),
                 .reference = reference_of(sidecar),
                 .tensors = tensors_of(sidecar)};
}

}  // namespace

std::optional<Sidecar> read_sidecar(const std::filesystem::path& model) {
  const auto path = std::filesystem::path(model).replace_extension(".json");
  require_file("[sidecar]", path);
  std::ifstream file(path);
  if (!file) return std::nullopt;
  try {
    return parse(std::string(std::istreambuf_iterator<char>(file), {}));
  } catch (const json::exception& error) {
    throw Error(fmt::format("[sidecar] {}: is not JSON ({}); correct or remove the file",
                            path.string(), json_reason(error)));
  } catch (const Error& error) {
    throw Error(fmt::format("[sidecar] {}: {}", path.string(), error.what()));
  }
}

std::vector<SidecarTensor> exported_tensors(const std::filesystem::path& model) {
  auto sidecar = read_sidecar(model);
  if (!sidecar || sidecar->tensors.empty())
    sidecar = read_sidecar(model.parent_path() / "model.onnx");
  return sidecar ? std::move(sidecar->tensors) : std::vector<SidecarTensor>();
}

}  // namespace vernier
