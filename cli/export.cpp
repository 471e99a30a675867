#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "vernier/error.h"
#include "vernier/exporting/exporter.h"

namespace vernier::cli {
namespace {

struct Options {
  ExportOptions exported;
  std::string folder;
  bool rebuild = false;
};

int run(const Options& options) {
  const ExportedModel model = options.folder.empty()
                                  ? resolve_model(options.exported, options.rebuild)
                                  : export_model(options.exported, options.folder);
  for (const auto& file : {model.onnx, model.torchscript, model.layers, model.sidecar})
    if (!file.empty()) fmt::print("{}\n", file.string());
  return exit_pass;
}

}  // namespace

void add_export(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<Options>();
  ExportOptions& exported = options->exported;
  auto* command = program.add_subcommand(
      "export", "Export a PyTorch model to ONNX and TorchScript, with a Python that has PyTorch");
  command
      ->add_option("SOURCE", exported.source,
                   "torchvision/NAME, FILE.py:FUNCTION or package.module:FUNCTION (which returns "
                   "a model and example inputs), or a Hugging Face id or folder")
      ->required();
  command->add_option("-o,--output", options->folder,
                      "Folder to write; without it, the cache of models, where -m finds it");
  command->add_option("--task", exported.task,
                      "What the model is for; a Hugging Face model needs it");
  command->add_option("--weights", exported.weights, "State dict to load (torchvision)")
      ->check(CLI::ExistingFile)
      ->type_name("FILE");
  command->add_option("--seed", exported.seed, "Of random weights and inputs")
      ->capture_default_str();
  command->add_option("--shape", exported.shape, "Shape of the example input (torchvision)")
      ->type_name("1x3x224x224");
  command->add_option("--opset", exported.opset, "Opset (the newest that PyTorch writes)")
      ->check(CLI::PositiveNumber);
  command->add_option("--dynamic", exported.dynamic, "Dynamic axes beside the batch")
      ->type_name("NAME:AXIS[=SYMBOL],...");
  command->add_flag("--instrument", exported.instrument,
                    "Also write model.layers.onnx, with an output for each layer's call");
  command->add_flag("--allow-frozen", exported.allow_frozen,
                    "Export also when the trace differs from the model on other inputs");
  command->add_flag("--rebuild", options->rebuild, "Export again what is in the cache");
  command->add_option("--python", exported.python, "Interpreter (the first that has PyTorch)")
      ->type_name("PROGRAM");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace vernier::cli
