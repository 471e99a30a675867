#include "vernier/data/preprocessing_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "vernier/data/read_file.h"
#include "vernier/error.h"
#include "vernier/json.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

constexpr int largest_edge = 65536;

// An object of a configuration file; a key that is absent or null takes the default.
class Settings {
 public:
  Settings(const Json& object, std::string subject)
      : object_(object), subject_(std::move(subject)) {
    if (!object.is_object()) fail("expected an object");
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(fmt::format("[preprocess] {}: {}", subject_, reason));
  }
  bool has(const char* key) const { return object_.contains(key) && !object_[key].is_null(); }
  const Json& at(const char* key) const { return object_[key]; }
  Settings child(const char* key) const { return {object_[key], subject_ + ": " + key}; }
  bool holds_object(const char* key) const { return has(key) && at(key).is_object(); }

  bool flag(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!at(key).is_boolean()) fail(fmt::format("'{}' must be true or false", key));
    return at(key);
  }
  double number(const char* key, double otherwise) const {
    if (!has(key)) return otherwise;
    return finite(at(key), key);
  }
  std::string text(const char* key, std::string otherwise) const {
    if (!has(key)) return otherwise;
    if (!at(key).is_string()) fail(fmt::format("'{}' must be a string", key));
    return at(key);
  }
  int edge(const char* key) const {
    const Json& value = has(key) ? at(key) : Json();
    if (!value.is_number_integer() || value < 1 || value > largest_edge)
      fail(fmt::format("'{}' must be a number of pixels from 1 to {}", key, largest_edge));
    return value;
  }
  // One number or a list of them.
  std::vector<double> numbers(const char* key) const {
    if (!has(key)) return {};
    std::vector<double> values;
    for (const Json& value : at(key).is_array() ? at(key) : Json::array({at(key)}))
      values.push_back(finite(value, key));
    return values;
  }
  void allow_only(const std::set<std::string>& known) const {
    for (const auto& [key, value] : object_.items())
      if (!known.contains(key)) fail(fmt::format("unknown key '{}'", key));
  }

 private:
  double finite(const Json& value, const char* key) const {
    if (!value.is_number() || !std::isfinite(value.get<double>()))
      fail(fmt::format("'{}' must be made of finite numbers", key));
    return value;
  }

  const Json& object_;
  std::string subject_;
};

Size exact_size(const Settings& size) {
  return {.width = size.edge("width"), .height = size.edge("height")};
}

// {"height", "width"}, {"shortest_edge", "longest_edge"} or one of the two edges.
ResizeRule size_rule(const Settings& size) {
  size.allow_only({"height", "width", "shortest_edge", "longest_edge"});
  ResizeRule rule;
  if (size.has("height") || size.has("width")) {
    rule.exact = exact_size(size);
    return rule;
  }
  if (size.has("shortest_edge")) rule.shortest_edge = size.edge("shortest_edge");
  if (size.has("longest_edge")) rule.longest_edge = size.edge("longest_edge");
  if (rule == ResizeRule{}) size.fail("expected height and width, or an edge");
  return rule;
}

Preprocessing normalised(Preprocessing result, const Settings& settings, const char* mean,
                         const char* std) {
  result.mean = settings.numbers(mean);
  result.std = settings.numbers(std);
  if (std::ranges::count(result.std, 0.0) > 0) settings.fail(fmt::format("'{}' has a zero", std));
  return result;
}

// ---- the sidecar's "preprocessing" object

Filter named_filter(const Settings& settings) {
  const std::string name = settings.text("interpolation", "bilinear");
  const auto filter = parse_filter(name);
  if (!filter) settings.fail(fmt::format("unknown interpolation '{}'", name));
  return *filter;
}

CropOrigin crop_origin(const Settings& settings) {
  const std::string name = settings.text("crop_origin", "floor");
  if (name != "floor" && name != "round")
    settings.fail(fmt::format("'crop_origin' must be floor or round, found '{}'", name));
  return name == "floor" ? CropOrigin::floor : CropOrigin::round;
}

Preprocessing from_sidecar(const Settings& settings) {
  settings.allow_only({"resize", "interpolation", "center_crop", "crop_origin", "rescale_factor",
                       "mean", "std", "channel_order", "layout"});
  Preprocessing result;
  if (settings.has("resize")) {
    result.resize = size_rule(settings.child("resize"));
    result.resize->filter = named_filter(settings);
  }
  if (settings.has("center_crop"))
    result.center_crop = {exact_size(settings.child("center_crop")), crop_origin(settings)};
  result.rescale_factor = settings.number("rescale_factor", 1.0 / 255);
  const std::string order = settings.text("channel_order", "rgb");
  if (order != "rgb" && order != "bgr")
    settings.fail(fmt::format("'channel_order' must be rgb or bgr, found '{}'", order));
  result.reverse_channels = order == "bgr";
  const std::string layout = settings.text("layout", "");
  if (!layout.empty() && layout != "nchw" && layout != "nhwc")
    settings.fail(fmt::format("'layout' must be nchw or nhwc, found '{}'", layout));
  if (!layout.empty()) result.layout = layout == "nchw" ? Layout::nchw : Layout::nhwc;
  return normalised(result, settings, "mean", "std");
}

// ---- preprocessor_config.json

// The defaults of a family of image processors: whether a size given as one number is the length of
// the shorter edge, and the filter.
struct Family {
  std::string_view prefix;
  bool size_is_edge = false;
  Filter filter = Filter::bilinear;
};

constexpr std::array<Family, 12> families = {{
    {"Beit", false, Filter::bicubic},
    {"Bit", true, Filter::bicubic},
    {"CLIP", true, Filter::bicubic},
    {"ConvNext", true, Filter::bicubic},
    {"DPT", false, Filter::bicubic},
    {"DeiT", false, Filter::bicubic},
    {"EfficientNet", false, Filter::nearest},
    {"Levit", true, Filter::bicubic},
    {"MobileNet", true, Filter::bilinear},
    {"MobileViT", true, Filter::bilinear},
    {"PoolFormer", true, Filter::bicubic},
    {"Siglip", false, Filter::bicubic},
}};

Family family_of(const Settings& settings) {
  const std::string type =
      settings.text("image_processor_type", settings.text("feature_extractor_type", ""));
  for (const Family& family : families)
    if (type.starts_with(family.prefix)) return family;
  return {"", settings.has("crop_pct"), Filter::bilinear};
}

Filter numbered_filter(const Settings& settings, Filter otherwise) {
  constexpr std::array<Filter, 6> filters = {Filter::nearest, Filter::lanczos, Filter::bilinear,
                                             Filter::bicubic, Filter::box,     Filter::hamming};
  if (!settings.has("resample")) return otherwise;
  const double number = settings.number("resample", 0);
  if (number < 0 || number > 5 || number != std::floor(number))
    settings.fail(fmt::format("'resample' must be 0 to 5, found {}", number));
  return filters[static_cast<std::size_t>(number)];
}

ResizeRule processor_size(const Settings& settings, const Family& family) {
  if (settings.holds_object("size")) return size_rule(settings.child("size"));
  ResizeRule rule;
  const int edge = settings.edge("size");
  if (family.size_is_edge)
    rule.shortest_edge = edge;
  else
    rule.exact = Size{edge, edge};
  return rule;
}

Size crop_size(const Settings& settings) {
  if (settings.holds_object("crop_size")) return exact_size(settings.child("crop_size"));
  const int edge = settings.edge("crop_size");
  return {edge, edge};
}

double crop_share(const Settings& settings) {
  const double share = settings.number("crop_pct", 224.0 / 256);
  if (!(share > 0 && share <= 1)) settings.fail("'crop_pct' must be above 0 and at most 1");
  return share;
}

// With crop_pct, the size is that of the crop, and the image is resized to a larger one. ConvNeXT's
// processor crops as part of this step; from 384 up it stretches the image instead.
Preprocessing enlarged_by_crop_share(Preprocessing result, const Settings& settings) {
  const double share = crop_share(settings);
  const bool crops_itself = !settings.has("do_center_crop");
  ResizeRule& rule = *result.resize;
  if (rule.exact && rule.exact->width != rule.exact->height) {
    rule.exact = Size{static_cast<int>(rule.exact->width / share),
                      static_cast<int>(rule.exact->height / share)};
    return result;
  }
  const int edge = rule.exact ? rule.exact->width : rule.shortest_edge;
  if (crops_itself && edge >= 384) {
    rule = {.exact = Size{edge, edge}, .filter = rule.filter};
    return result;
  }
  rule = {.shortest_edge = static_cast<int>(edge / share), .filter = rule.filter};
  if (crops_itself) result.center_crop = CropRule{{edge, edge}};
  return result;
}

Preprocessing resized(Preprocessing result, const Settings& settings) {
  const Family family = family_of(settings);
  result.resize = processor_size(settings, family);
  result.resize->filter = numbered_filter(settings, family.filter);
  if (family.prefix == "Levit")
    result.resize->shortest_edge = static_cast<int>(256.0 / 224 * result.resize->shortest_edge);
  if (settings.has("crop_pct") || family.prefix == "ConvNext")
    return enlarged_by_crop_share(result, settings);
  return result;
}

void refuse_unknown_steps(const Settings& settings) {
  for (const char* step :
       {"do_thumbnail", "do_align_long_axis", "do_crop_margin", "do_image_splitting",
        "rescale_offset", "include_top", "do_color_quantize"})
    if (settings.flag(step, false)) settings.fail(fmt::format("'{}' is not supported", step));
}

Preprocessing from_processor(const Settings& settings) {
  refuse_unknown_steps(settings);
  Preprocessing result;
  if (settings.flag("do_resize", settings.has("size"))) result = resized(result, settings);
  if (settings.flag("do_center_crop", false)) result.center_crop = CropRule{crop_size(settings)};
  result.rescale_factor =
      settings.flag("do_rescale", true) ? settings.number("rescale_factor", 1.0 / 255) : 1.0;
  if (settings.flag("do_normalize", settings.has("image_mean"))) {
    if (!settings.has("image_mean") || !settings.has("image_std"))
      settings.fail("'do_normalize' needs image_mean and image_std");
    result = normalised(result, settings, "image_mean", "image_std");
  }
  result.reverse_channels = settings.flag("do_flip_channel_order", false);
  const std::string format = settings.text("data_format", "");
  if (format == "channels_first") result.layout = Layout::nchw;
  if (format == "channels_last") result.layout = Layout::nhwc;
  result.pad = settings.flag("do_pad", false);
  if (result.pad && settings.has("pad_size"))
    result.pad_to = exact_size(settings.child("pad_size"));
  return result;
}

Json read_json(const std::filesystem::path& path) {
  try {
    return parse_json<Json>(as_text(read_file(path, "preprocess")));
  } catch (const Json::exception& error) {
    throw Error(
        fmt::format("[preprocess] {}: not valid JSON: {}", path.string(), json_reason(error)));
  }
}

}  // namespace

Preprocessing read_preprocessing(const std::filesystem::path& path) {
  const Json json = read_json(path);
  const Settings settings(json, path.string());
  if (settings.has("preprocessing")) return from_sidecar(settings.child("preprocessing"));
  constexpr const char* keys[] = {"size", "image_mean", "do_resize", "do_rescale", "do_normalize"};
  if (std::ranges::none_of(keys, [&](const char* key) { return settings.has(key); }))
    settings.fail("expected an image processor's settings, or a model's with 'preprocessing'");
  return from_processor(settings);
}

std::optional<std::filesystem::path> find_preprocessing(const std::filesystem::path& model) {
  std::filesystem::path sidecar = model;
  sidecar.replace_extension(".json");
  if (std::filesystem::is_regular_file(sidecar)) {
    const Json json = read_json(sidecar);
    if (json.is_object() && json.contains("preprocessing")) return sidecar;
  }
  const auto processor = model.parent_path() / "preprocessor_config.json";
  if (std::filesystem::is_regular_file(processor)) return processor;
  return std::nullopt;
}

}  // namespace vernier
