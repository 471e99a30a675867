#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "cli/program.h"
#include "python/binding/arrays.h"
#include "python/binding/command.h"
#include "python/binding/python_model.h"
#include "vernier/error.h"
#include "vernier/installation.h"
#include "vernier/metrics/similarity.h"
#include "vernier/report/html.h"
#include "vernier/report/markdown.h"
#include "vernier/report/terminal.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/tensor/in_process.h"
#include "vernier/version.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace vernier::binding {
namespace {

// Registers Python arrays under a path that can be given like an .npz or a folder of them.
class PythonArrays {
 public:
  using Sample = std::vector<std::pair<std::string, AnyArray>>;

  PythonArrays(const std::string& name, std::vector<Sample> samples, bool stacked) {
    InProcessArrays arrays{.stacked = stacked};
    for (Sample& sample : samples) {
      std::vector<Array> kept;
      for (auto& [array_name, array] : sample) kept.emplace_back(array_name, std::move(array));
      samples_.push_back(std::move(kept));
      std::vector<TensorView> views;
      for (const Array& array : samples_.back()) views.push_back(array.view());
      arrays.samples.push_back(std::move(views));
    }
    named_ = std::make_unique<NamedArrays>(name, std::move(arrays));
  }

  std::string path() const { return named_->path().string(); }

 private:
  std::vector<std::vector<Array>> samples_;
  std::unique_ptr<NamedArrays> named_;  // declared last: unregisters before the arrays are freed
};

nb::dict measure(AnyArray reference, AnyArray candidate, bool ulp, bool argmax) {
  const Array left("reference", std::move(reference)), right("candidate", std::move(candidate));
  const TensorView expected = left.view(), measured = right.view();
  if (!std::ranges::equal(expected.shape, measured.shape))
    throw Error(fmt::format("[metrics] the reference is {}, the candidate {}; reshape one of them",
                            format_shape(expected.shape), format_shape(measured.shape)));
  Similarity result;
  {
    const nb::gil_scoped_release release;
    result = similarity(expected, measured, {.ulp = ulp, .argmax = argmax});
  }
  nb::dict metrics;
  for (const Metric& metric : similarity_metrics)
    metrics[nb::str(metric.name.data(), metric.name.size())] = metric.value(result);
  return metrics;
}

// The last line of the report; empty if it has none.
std::string conclusion(const Report& report) {
  const auto* last = report.document.blocks.empty()
                         ? nullptr
                         : std::get_if<Paragraph>(&report.document.blocks.back());
  return last ? last->text.text : "";
}

void bind_reports(nb::module_& module) {
  nb::class_<Report>(module, "Report", "What a command would have printed.")
      .def_ro("exit_code", &Report::exit_code, "0 pass, 1 fail, 3 inconclusive.")
      .def_ro("json", &Report::json, "The bytes of -f json, as text.")
      .def_prop_ro("conclusion", &conclusion, "The report's last line.")
      .def_ro("messages", &Report::messages, "Warnings, as the command prints them.")
      .def(
          "text",
          [](const Report& report, int width) {
            return render_terminal(report.document, false, width);
          },
          "width"_a = 0, "The report as the terminal shows it; 0: lines of any length.")
      .def(
          "markdown", [](const Report& report) { return render_markdown(report.document); },
          "The report in Markdown.")
      .def(
          "page",
          [](const Report& report) {
            return render_html({.json = report.json,
                                .document = &report.document,
                                .graph = report.graph,
                                .detail = report.detail});
          },
          "The page of -f html.")
      .def(
          "document", [](const Report& report) { return document_json(report.document); },
          "The report's title and blocks, as JSON.");
  module.def("run", &run_command, "arguments"_a, "progress"_a.none(), "models"_a,
             "Runs a command as `vernier ARGUMENTS` does.");
}

int run_main(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "vernier");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return cli::supervised_program(static_cast<int>(argv.size()), argv.data());
}

}  // namespace
}  // namespace vernier::binding

NB_MODULE(_vernier, module) {
  using namespace vernier::binding;
  module.doc() = "The library behind the package vernier. Not meant to be used directly.";
  nb::exception<vernier::Error>(module, "Error", PyExc_RuntimeError);
  nb::class_<PythonModel>(module, "Model", "A model in Python that a command can be given.")
      .def(nb::init<const std::string&, nb::object>(), "name"_a, "make_host"_a)
      .def_prop_ro("path", &PythonModel::path, "What to give the command.")
      .def_prop_ro("failure", &PythonModel::failure,
                   nb::for_getter(nb::sig("def failure(self) -> BaseException | None")),
                   "The exception that ended it, or None.");
  nb::class_<PythonArrays>(module, "Arrays", "Arrays in Python that a command can be given.")
      .def(nb::init<const std::string&, std::vector<PythonArrays::Sample>, bool>(), "name"_a,
           "samples"_a, "stacked"_a,
           nb::sig("def __init__(self, name: str, samples: "
                   "collections.abc.Sequence[collections.abc.Sequence[tuple[str, typing.Any]]], "
                   "stacked: bool) -> None"))
      .def_prop_ro("path", &PythonArrays::path, "What to give the command.");
  bind_reports(module);
  module.def("measure", &measure, "reference"_a.noconvert(), "candidate"_a.noconvert(),
             "ulp"_a = false, "argmax"_a = false,
             nb::sig("def measure(reference: typing.Any, candidate: typing.Any, ulp: bool = False, "
                     "argmax: bool = False) -> dict[str, float | None]"),
             "Every metric of a pair of arrays, by name.");
  module.def("version", &vernier::version, "Vernier's version.");
  module.def("onnxruntime_version", &vernier::onnxruntime_version,
             "The version of the ONNX Runtime that models run on.");
  module.def("onnxruntime_library", &vernier::onnxruntime_library, "Its file.");
  module.def("providers", &vernier::available_providers,
             "The execution providers of that ONNX Runtime.");
  module.def(
      "set_environment",
      [](const std::string& program, const std::vector<std::string>& folders) {
        vernier::set_python_environment({program, {folders.begin(), folders.end()}});
      },
      "program"_a, "folders"_a, "Says which Python this is, and where it finds packages.");
  module.def("main", &run_main, "arguments"_a,
             "Runs `vernier ARGUMENTS` on the terminal; returns its exit code.");
  module.def(
      "companions", [] { return vernier::installed_file("python").string(); },
      "The folder of the packages that export and host models.");
}
