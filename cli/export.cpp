#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "vernier/data/random.h"
#include "vernier/exporting/exporter.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier::cli {
namespace {

struct ExportCommand {
  ExportOptions exported;
  std::string folder;
  bool rebuild = false;
};

// Throws Error if the exported model cannot be run.
void run_once(const std::filesystem::path& path) {
  OrtRunner runner(Model::load(path));
  runner.run(random_samples(runner.inputs(), {})->sample(0));
}

int run_export(const ExportCommand& options) {
  const ExportedModel model = options.folder.empty()
                                  ? resolve_model(options.exported, options.rebuild)
                                  : export_model(options.exported, options.folder);
  run_once(model.onnx);
  for (const auto& file : {model.onnx, model.torchscript, model.layers, model.sidecar})
    if (!file.empty()) fmt::print("{}\n", file.string());
  return exit_pass;
}

}  // namespace

void add_export(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<ExportCommand>();
  ExportOptions& exported = options->exported;
  auto* command = program.add_subcommand(
      "export", "Export a PyTorch model to ONNX and TorchScript, with a Python that has PyTorch");
  command
      ->add_option(
          "SOURCE", exported.source,
          "torchvision:NAME, timm:NAME, FILE.py:FUNCTION or package.module:FUNCTION (which "
          "returns a model and example inputs), or a Hugging Face id or folder")
      ->required();
  OptionGroup main(*command, main_group);
  main.add("-o,--output", options->folder,
           "Folder to write (default: the cache of models, where -m finds it)", "FOLDER");
  main.add("--task", exported.task, "What the model is for; a Hugging Face model needs it", "TASK");
  main.add("--weights", exported.weights, "State dict to load (torchvision)", "FILE")
      ->check(CLI::ExistingFile);
  main.add("--shape", exported.shape, "Shape of the example input (torchvision), as in 1x3x224x224",
           "DIMS");
  main.add("--seed", exported.seed, "Of random weights and inputs", "N");
  command->add_option("--opset", exported.opset, "Opset (default: the newest that PyTorch writes)")
      ->check(above_zero())
      ->type_name("N");
  main.add("--dynamic", exported.dynamic, "Dynamic axes besides the batch",
           "NAME:AXIS[=SYMBOL],...");
  main.choice(
      "--exporter", exported.exporter,
      "PyTorch's exporter: dynamo (default from 2.5 on), or torchscript, which also writes a "
      "trace",
      {"dynamo", "torchscript"});
  main.flag("--instrument", exported.instrument,
            "Also write model.layers.onnx, with an output for each layer's call");
  main.flag("--allow-frozen", exported.allow_frozen,
            "Export also when the trace differs from the model on other inputs");
  main.flag("--rebuild", options->rebuild, "Export again what is in the cache");
  main.add("--python", exported.python, "Interpreter (default: the first that has PyTorch)",
           "PROGRAM");
  command->footer("Example:\n  vernier export torchvision/resnet18 -o resnet18\n");
  command->callback([options, &exit_code] { exit_code = run_export(*options); });
}

}  // namespace vernier::cli
