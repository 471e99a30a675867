#include "cli/dataset_options.h"

#include <fmt/format.h>

#include <charconv>

#include "cli/validators.h"
#include "vernier/data/preprocessing_config.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

constexpr const char* group = "Dataset";

void add_images_options(CLI::App& command, DatasetFlags& flags) {
  command
      .add_option("--preprocess", flags.preprocess,
                  "How images are prepared: preprocessor_config.json, or a JSON file with a "
                  "\"preprocessing\" object (by default what lies beside the model)")
      ->type_name("FILE")
      ->group(group);
  auto* size = command
                   .add_option("--image-size", flags.image_size,
                               "Resize images to exactly this size, as in 224 or 384x512")
                   ->type_name("N|HxW")
                   ->group(group);
  command
      .add_option("--resize-edge", flags.resize_edge, "Resize so that the shorter edge is N pixels")
      ->check(at_least(1))
      ->excludes(size)
      ->type_name("N")
      ->group(group);
  command.add_option("--center-crop", flags.center_crop, "Then crop to this size")
      ->type_name("N|HxW")
      ->group(group);
  command
      .add_option("--interpolation", flags.interpolation,
                  "nearest, box, bilinear, hamming, bicubic or lanczos, as in Pillow")
      ->check(CLI::IsMember({"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"}))
      ->group(group);
}

void add_values_options(CLI::App& command, DatasetFlags& flags) {
  command.add_option("--rescale", flags.rescale, "Multiply samples of 0 to 255 by this (1/255)")
      ->type_name("FACTOR")
      ->group(group);
  command.add_option("--mean", flags.mean, "Subtract this, one for each channel or one for all")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("X,X,X")
      ->group(group);
  command.add_option("--std", flags.std, "Divide by this, likewise")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("X,X,X")
      ->group(group);
}

std::optional<int> parse_edge(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool valid = error == std::errc{} && end == text.data() + text.size();
  return valid && value >= 1 && value <= 65536 ? std::optional(value) : std::nullopt;
}

Size parse_size(const std::string& text, std::string_view option) {
  const std::string_view whole = text;
  const std::size_t cross = whole.find('x');
  const auto height = parse_edge(whole.substr(0, cross));
  const auto width = cross == whole.npos ? height : parse_edge(whole.substr(cross + 1));
  if (!height || !width)
    throw Error(fmt::format("[dataset] {} {}: expected pixels, as in 224 or 384x512 (height first)",
                            option, text));
  return {.width = *width, .height = *height};
}

std::optional<std::filesystem::path> preprocessing_file(const DatasetFlags& flags,
                                                        const std::filesystem::path& model) {
  if (!flags.preprocess.empty()) return flags.preprocess;
  return find_preprocessing(model);
}

// A filter alone changes how, not whether, images are resized.
std::optional<ResizeRule> resize_rule(const DatasetFlags& flags, std::optional<ResizeRule> rule) {
  const Filter filter = rule ? rule->filter : Filter::bilinear;
  if (!flags.image_size.empty())
    rule = {.exact = parse_size(flags.image_size, "--image-size"), .filter = filter};
  if (flags.resize_edge > 0) rule = {.shortest_edge = flags.resize_edge, .filter = filter};
  if (!flags.interpolation.empty()) {
    if (!rule) throw Error("[dataset] --interpolation: images are not resized; add --image-size");
    rule->filter = parse_filter(flags.interpolation).value();
  }
  return rule;
}

}  // namespace

CLI::Option* add_dataset_options(CLI::App& command, DatasetFlags& flags) {
  auto* dataset =
      command
          .add_option(
              "--dataset", flags.name,
              "Images: a folder with a subfolder for each class, Parquet files, IDX or .npz, "
              "or the id of a dataset in the Hugging Face cache")
          ->type_name("PATH|ID")
          ->group(group);
  command.add_option("--split", flags.split, "Which part of the dataset, as in test")
      ->type_name("NAME")
      ->group(group);
  command.add_flag("--shuffle", flags.shuffle, "Take examples in an order drawn with --seed")
      ->group(group);
  command
      .add_option("--column", flags.columns,
                  "Where the dataset keeps its images or labels, as in image=img; repeatable")
      ->type_name("image|label=NAME")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--batch", flags.batch, "Examples a run, where the model's batch axis is dynamic")
      ->check(at_least(1))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command
      .add_option("--max-bad", flags.max_bad,
                  "Give up when more examples than this cannot be used (they are counted)")
      ->check(at_least(0))
      ->type_name("N")
      ->group(group);
  add_images_options(command, flags);
  add_values_options(command, flags);
  for (auto* option : command.get_options())
    if (option->get_group() == group && option != dataset) option->needs(dataset);
  return dataset;
}

std::unique_ptr<Dataset> open_dataset(const DatasetFlags& flags) {
  DatasetOptions options{.split = flags.split};
  for (const std::string& column : flags.columns) {
    const std::size_t equals = column.find('=');
    const std::string role = column.substr(0, equals);
    if (equals == column.npos || equals + 1 == column.size() ||
        (role != "image" && role != "label"))
      throw Error(fmt::format("[dataset] --column {}: expected image=NAME or label=NAME", column));
    (role == "image" ? options.image_column : options.label_column) = column.substr(equals + 1);
  }
  return vernier::open_dataset(flags.name, options);
}

std::string describe_dataset(const DatasetFlags& flags, std::uint64_t seed) {
  std::string text = std::filesystem::path(flags.name).lexically_normal().filename().string();
  if (!std::filesystem::exists(flags.name)) text = flags.name;
  if (!flags.split.empty()) text += ", " + flags.split + " split";
  if (flags.shuffle) text += fmt::format(", shuffled with seed {}", seed);
  return text;
}

Preprocessing make_preprocessing(const DatasetFlags& flags, const std::filesystem::path& model) {
  const auto file = preprocessing_file(flags, model);
  Preprocessing result = file ? read_preprocessing(*file) : Preprocessing{};
  result.resize = resize_rule(flags, result.resize);
  if (!flags.center_crop.empty())
    result.center_crop = CropRule{parse_size(flags.center_crop, "--center-crop")};
  if (flags.rescale) result.rescale_factor = *flags.rescale;
  if (!flags.mean.empty()) result.mean = flags.mean;
  if (!flags.std.empty()) result.std = flags.std;
  if (std::ranges::count(result.std, 0.0) > 0) throw Error("[dataset] --std: expected no zero");
  return result;
}

LoaderOptions loader_options(const DatasetFlags& flags, const std::filesystem::path& model) {
  return {.preprocessing = make_preprocessing(flags, model),
          .batch = flags.batch,
          .max_bad = flags.max_bad};
}

void add_label_options(CLI::App& command, DatasetFlags& flags) {
  command
      .add_option("--label-mapping", flags.label_mapping,
                  "JSON object from the dataset's labels or class names to the model's labels")
      ->needs("--dataset")
      ->type_name("FILE")
      ->group(group);
}

LoaderOptions labelled_loader_options(const DatasetFlags& flags, const std::filesystem::path& model,
                                      const std::vector<std::string>& classes, Needs needs) {
  LoaderOptions options = loader_options(flags, model);
  options.needs = needs;
  if (!flags.label_mapping.empty())
    options.mapping = read_label_mapping(flags.label_mapping, classes);
  return options;
}

std::vector<std::string> warnings_of(const DatasetReport& report) {
  std::vector<std::string> warnings;
  const auto add = [&](std::int64_t count, std::string_view what) {
    if (count > 0)
      warnings.push_back(
          fmt::format("[dataset] {} of {} examples left out: {}", count, report.selected, what));
  };
  add(report.unreadable, "their images cannot be read");
  add(report.without_label, "they have no label");
  add(report.unknown_labels, "the model does not have their label");
  if (!report.problems.empty()) warnings.back() += "; the first: " + report.problems[0];
  return warnings;
}

}  // namespace vernier::cli
