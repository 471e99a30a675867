#include "vernier/data/dataset_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "vernier/data/preprocessing_config.h"
#include "vernier/error.h"

namespace vernier {
namespace {

std::optional<int> parse_edge(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool valid = error == std::errc{} && end == text.data() + text.size();
  return valid && value >= 1 && value <= 65536 ? std::optional(value) : std::nullopt;
}

// A filter alone does not cause a resize; throws Error if there is none to apply it to.
std::optional<ResizeRule> resize_rule(const PreprocessingChanges& changes,
                                      std::optional<ResizeRule> rule) {
  const Filter filter = rule ? rule->filter : Filter::bilinear;
  if (changes.image_size) rule = {.exact = changes.image_size, .filter = filter};
  if (changes.resize_edge > 0) rule = {.shortest_edge = changes.resize_edge, .filter = filter};
  if (changes.filter) {
    if (!rule) throw Error("[dataset] --interpolation: images are not resized; add --image-size");
    rule->filter = *changes.filter;
  }
  return rule;
}

}  // namespace

std::optional<Size> parse_size(std::string_view text) {
  const std::size_t cross = text.find('x');
  const auto height = parse_edge(text.substr(0, cross));
  const auto width = cross == text.npos ? height : parse_edge(text.substr(cross + 1));
  if (!height || !width) return std::nullopt;
  return Size{.width = *width, .height = *height};
}

std::string describe_dataset(const DatasetSpec& spec, std::uint64_t seed) {
  std::string text = spec.name;
  if (std::filesystem::exists(spec.name)) {
    const auto path = std::filesystem::path(spec.name).lexically_normal();
    text = (path.has_filename() ? path : path.parent_path()).filename().string();
  }
  if (!spec.options.split.empty()) text += ", " + spec.options.split + " split";
  if (spec.shuffle.value_or(false)) text += fmt::format(", shuffled with seed {}", seed);
  return text;
}

Preprocessing make_preprocessing(const PreprocessingChanges& changes,
                                 const std::filesystem::path& model) {
  const auto file = changes.file.empty() ? find_preprocessing(model) : changes.file;
  Preprocessing result = file ? read_preprocessing(*file) : Preprocessing{};
  result.resize = resize_rule(changes, result.resize);
  if (changes.center_crop) result.center_crop = CropRule{*changes.center_crop};
  if (changes.rescale_factor) result.rescale_factor = *changes.rescale_factor;
  if (!changes.mean.empty()) result.mean = changes.mean;
  if (!changes.std.empty()) result.std = changes.std;
  if (std::ranges::count(result.std, 0.0) > 0) throw Error("[dataset] --std: expected no zero");
  return result;
}

std::string describe_preprocessing(const Preprocessing& preprocessing) {
  std::vector<std::string> steps;
  const auto size_text = [](const Size& size) {
    return fmt::format("{}x{}", size.height, size.width);
  };
  if (const auto& resize = preprocessing.resize) {
    const std::string size = resize->exact ? size_text(*resize->exact)
                             : resize->shortest_edge > 0
                                 ? fmt::format("a shorter edge of {}", resize->shortest_edge)
                                 : fmt::format("a longer edge of {}", resize->longest_edge);
    steps.push_back(fmt::format("resized to {} ({})", size, filter_name(resize->filter)));
  }
  if (preprocessing.center_crop)
    steps.push_back("cropped to " + size_text(preprocessing.center_crop->size));
  if (preprocessing.rescale_factor != 1)
    steps.push_back(fmt::format("times {:g}", preprocessing.rescale_factor));
  if (!preprocessing.mean.empty())
    steps.push_back(fmt::format("minus {:g}", fmt::join(preprocessing.mean, " ")));
  if (!preprocessing.std.empty())
    steps.push_back(fmt::format("over {:g}", fmt::join(preprocessing.std, " ")));
  if (preprocessing.reverse_channels) steps.emplace_back("BGR");
  if (preprocessing.pad) steps.emplace_back("padded");
  return steps.empty() ? "none" : fmt::format("{}", fmt::join(steps, ", "));
}

LoaderOptions loader_options(const DatasetSpec& spec, const std::filesystem::path& model,
                             Needs needs, const std::vector<std::string>& classes) {
  LoaderOptions options{.preprocessing = make_preprocessing(spec.preprocessing, model),
                        .batch = spec.batch,
                        .needs = needs,
                        .images_only = spec.preprocessing != PreprocessingChanges{},
                        .max_bad = spec.max_bad};
  if (!spec.label_mapping.empty())
    options.mapping = read_label_mapping(spec.label_mapping, classes);
  return options;
}

std::vector<Warning> dataset_warnings(const DatasetReport& report) {
  std::vector<Warning> warnings;
  const auto add = [&](std::int64_t count, WarningKind kind) {
    if (count > 0)
      warnings.push_back({.kind = kind,
                          .value = static_cast<double>(count),
                          .limit = static_cast<double>(report.selected)});
  };
  add(report.unreadable, WarningKind::unreadable_images);
  add(report.without_label, WarningKind::without_label);
  add(report.unknown_labels, WarningKind::unknown_labels);
  if (!report.problems.empty() && !warnings.empty()) warnings.back().other = report.problems[0];
  return warnings;
}

}  // namespace vernier
