#include "vernier/runtime/placement.h"

#include <onnxruntime_cxx_api.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "vernier/json.h"
#include "vernier/runtime/ort_session.h"
#include "vernier/runtime/ort_values.h"
#include "vernier/tensor/temporary_folder.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

void run(Ort::Session& session, const Model& model, std::span<const Tensor> inputs) {
  const std::vector<TensorSpec> specs = model.inputs();
  const SessionOutputs outputs = session_outputs(session);
  std::vector<const char*> input_names, output_names;
  std::vector<Ort::Value> feeds;
  for (const TensorSpec& spec : specs) input_names.push_back(spec.name.c_str());
  for (const TensorSpec& spec : outputs.tensors) output_names.push_back(spec.name.c_str());
  for (const OtherValue& other : outputs.others) output_names.push_back(other.name.c_str());
  for (const Tensor& input : inputs) feeds.push_back(to_ort(input));
  session.Run(Ort::RunOptions{}, input_names.data(), feeds.data(), feeds.size(),
              output_names.data(), output_names.size());
}

Placement read_profile(const fs::path& path) {
  Placement placement;
  std::ifstream file(path);
  const auto events =
      try_parse_json<nlohmann::json>(std::string{std::istreambuf_iterator<char>(file), {}});
  if (!events.is_array()) return placement;
  for (const nlohmann::json& event : events)
    if (event.value("cat", "") == "Node" && event.value("name", "").ends_with("_kernel_time")) {
      const nlohmann::json arguments = event.value("args", nlohmann::json::object());
      const std::string provider = arguments.value("provider", "");
      placement[provider_name(provider)].push_back(arguments.value("op_name", ""));
    }
  return placement;
}

}  // namespace

Placement placement(const Model& model, const OrtOptions& options, std::span<const Tensor> inputs) {
  const TemporaryFolder folder;
  Ort::SessionOptions profiled =
      session_options(options, options.optimization.value_or(Optimization::all));
  profiled.EnableProfiling((folder.path() / "run").c_str());
  try {
    Ort::Session session = create_session(model, profiled);
    run(session, model, inputs);
    const Ort::AllocatorWithDefaultOptions allocator;
    return read_profile(session.EndProfilingAllocated(allocator).get());
  } catch (const Ort::Exception& error) {
    throw ort_error(model.name(), error.what());
  }
}

}  // namespace vernier
