#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/quantize.h"
#include "vernier/analysis/quantize/precision.h"
#include "vernier/error.h"
#include "vernier/model/convert_fp16.h"
#include "vernier/model/precision.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/dtype.h"
#include "vernier/utf8.h"

namespace vernier::cli {
namespace {

struct ConvertCommand {
  std::string model;
  std::string output;
  std::string precision;
  std::string io = "fp32";
  std::vector<std::string> keep;
  bool no_default_keep = false;
  QuantizeCommand quantize;  // for all precisions except fp16
  std::vector<CLI::Option*> of_half, of_quantizing;
};

// Parses "op:Softmax,node:NAME,tensor:GLOB"; an item without a prefix has the prefix of the item
// before it.
void add_kept(Fp16Options& options, const std::string& text) {
  std::vector<std::string>* list = nullptr;
  for (const std::string& item : CLI::detail::split(text, ',')) {
    std::string name = item;
    for (const auto& [prefix, target] :
         {std::pair{"op:", &options.keep_ops}, std::pair{"node:", &options.keep_nodes},
          std::pair{"tensor:", &options.keep_tensors}})
      if (item.starts_with(prefix)) {
        list = target;
        name = item.substr(std::string_view(prefix).size());
      }
    if (!list || name.empty())
      throw Error(fmt::format(
          "[convert] --keep-fp32 '{}': expected op:TYPE, node:NAME or tensor:GLOB", item));
    list->push_back(name);
  }
}

Fp16Options fp16_options(const ConvertCommand& options) {
  Fp16Options result{.fp16_io = options.io == "fp16", .keep_default_ops = !options.no_default_keep};
  for (const std::string& text : options.keep) add_kept(result, text);
  return result;
}

std::vector<std::string> converted_precisions() {
  std::vector<std::string> names = {"fp16"};
  for (const std::string& name : quantized_precision_names()) names.push_back(name);
  return names;
}

void print_summary(const ConvertCommand& options, const Fp16Result& result) {
  fmt::print("{}: {} weights and {} nodes in float16, {} nodes kept in float32, {} casts\n",
             options.output, result.converted_weights, result.converted_nodes, result.kept_nodes,
             result.casts);
  for (const ClampedWeight& weight : result.clamped)
    fmt::print("  clamped {}: {} of {} values above 65504, {} below 5.96e-8\n",
               printable(weight.name), weight.overflowed, weight.count, weight.underflowed);
}

// Why ONNX Runtime cannot load the model; empty if it can.
std::string refusal(const Model& model) {
  try {
    const OrtRunner runner(model.clone());
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Throws Error if ONNX Runtime loads the original but not the converted model.
void require_loadable(const Model& original, const Model& converted, const std::string& output) {
  const std::string reason = refusal(converted);
  if (!reason.empty() && refusal(original).empty())
    throw Error(fmt::format(
        "[convert] {}: not written, for ONNX Runtime does not load it: {}; keep the operator in "
        "float32: --keep-fp32 op:TYPE",
        output, reason));
}

// Throws Error for an option that a conversion to this precision would ignore.
void refuse_ignored(const ConvertCommand& options) {
  const bool half = options.precision == "fp16";
  for (const CLI::Option* option : half ? options.of_quantizing : options.of_half)
    if (option->count() > 0 && option->get_name() != "--threads" &&
        option->get_name() != "--no-color")  // which change nothing
      throw Error(fmt::format("[convert] {}: does not go with --precision {}; leave one out",
                              option->get_name(), options.precision));
}

int run_convert(ConvertCommand& options) {
  if (options.precision != "fp16") {
    if (!options.keep.empty())
      throw Error(
          "[convert] --keep-fp32: is of fp16; nodes of a quantized model are kept in float by "
          "--keep-float");
    refuse_ignored(options);
    options.quantize.model = options.model;
    options.quantize.quantized = options.output;
    options.quantize.precision = options.precision;
    return run_quantize(options.quantize);
  }
  refuse_ignored(options);
  require_model_writable(options.output);
  const Model model = Model::load(options.model);
  if (precision_of(model) == Precision::int8)
    throw Error(fmt::format(
        "[convert] {} is int8: it cannot be made fp16; give the float model it was made from",
        options.model));
  const Fp16Result result = convert_to_fp16(model, fp16_options(options));
  require_loadable(model, result.model, options.output);
  result.model.save(options.output);
  print_summary(options, result);
  return exit_pass;
}

}  // namespace

void add_convert(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<ConvertCommand>();
  auto* command = program.add_subcommand("convert", "Convert an ONNX model to another precision");
  OptionGroup main(*command, main_group);
  main.add("MODEL,-m,--model", options->model, "The .onnx model to convert", "MODEL")->required();
  main.choice("--precision", options->precision, "Precision to convert to", converted_precisions())
      ->required();
  main.add("-o,--output", options->output, "Where to write the converted model", "OUT.onnx")
      ->required();
  const auto count = command->get_options().size();
  main.choice("--io", options->io, "Precision of the graph's inputs and outputs", {"fp32", "fp16"});
  main.add("--keep-fp32", options->keep,
           "Keep in float32: op:TYPE, node:NAME or tensor:GLOB, separated by commas; repeatable",
           "LIST");
  main.flag("--convert-all", options->no_default_keep,
            "Convert also the operators that are kept in float32 by default");
  const auto all = command->get_options();
  options->of_half.assign(all.begin() + static_cast<std::ptrdiff_t>(count), all.end());
  add_quantizing_options(*command, options->quantize);
  const auto more = command->get_options();
  options->of_quantizing.assign(more.begin() + std::ssize(all), more.end());
  command->footer("Example:\n  vernier convert model.onnx --precision fp16 -o model.fp16.onnx\n");
  command->callback([options, &exit_code] { exit_code = run_convert(*options); });
}

}  // namespace vernier::cli
