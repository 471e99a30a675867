#include "cli/eval_models.h"

#include <fmt/format.h>

#include "cli/input_options.h"
#include "vernier/error.h"
#include "vernier/model/convert_fp16.h"
#include "vernier/model/precision.h"

namespace vernier::cli {

Model load_candidate(const std::filesystem::path& path, const std::string& precision) {
  if (model_format(path) != ModelFormat::onnx)
    throw Error(fmt::format("[eval] {}: the candidate must be an .onnx model; export it first",
                            path.string()));
  Model model = Model::load(path);
  const Precision found = precision_of(model);
  if (precision.empty() || precision == precision_name(found)) return model;
  if (precision == "fp16" && found == Precision::fp32) return convert_to_fp16(model).model;
  if (precision != "fp32" && found == Precision::int8) return model;
  throw Error(fmt::format("[eval] {} is {}: it cannot be made {}; give a model that is {} already",
                          path.string(), precision_name(found), precision, precision));
}

std::unique_ptr<Runner> open_reference(const std::filesystem::path& path,
                                       const RuntimeOptions& runtime) {
  auto reference = open_runner(path, runner_options(runtime));
  print_warnings(reference->warnings());
  return reference;
}

}  // namespace vernier::cli
