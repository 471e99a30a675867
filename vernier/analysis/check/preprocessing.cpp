#include "vernier/analysis/check/groups.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "vernier/data/preprocess.h"
#include "vernier/data/preprocessing_config.h"
#include "vernier/error.h"
#include "vernier/exporting/sidecar.h"

namespace vernier {
namespace {

using Numbers = std::vector<double>;

// What the first operators of a graph compute from an image: value * scale + shift, with one number
// for each channel or one for all.
struct ImageGraph {
  ImageInput input;
  Numbers scale{1};
  Numbers shift{0};
  bool reverses_channels = false;
  std::string last_node;  // last of these operators; empty if none

  // The equivalent mean and standard deviation, in units of the input.
  Numbers mean() const;
  Numbers std() const;
  bool rescales() const;    // divides by 255, and nothing else
  bool normalises() const;  // subtracts a mean, or divides by something other than 255
};

std::optional<ImageInput> first_image(const Model& model) {
  for (const TensorSpec& spec : model.inputs()) {
    if (!spec.ranked || spec.shape.size() != 4) continue;
    try {
      return image_input(spec);
    } catch (const Error&) {
      // Not an image; the next input may be one.
    }
  }
  return std::nullopt;
}

// One number for all channels, or one per channel; nullopt for anything else.
std::optional<Numbers> channel_numbers(const GraphIndex& graph, const std::string& tensor,
                                       int channels) {
  const auto numbers = graph.numbers(tensor);
  if (!numbers) return std::nullopt;
  const auto count = static_cast<int>(numbers->size());
  return count == 1 || count == channels ? numbers : std::nullopt;
}

template <typename Function>
Numbers combine(const Numbers& left, const Numbers& right, const Function& function) {
  Numbers out(std::max(left.size(), right.size()));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = function(left[left.size() == 1 ? 0 : i], right[right.size() == 1 ? 0 : i]);
  return out;
}

void multiply(ImageGraph& image, const Numbers& factor) {
  image.scale = combine(image.scale, factor, std::multiplies{});
  image.shift = combine(image.shift, factor, std::multiplies{});
}

// Applies an arithmetic operator with a constant; false if it is not one.
bool apply_arithmetic(const GraphIndex& graph, const NodeProto& node, const std::string& value,
                      ImageGraph& image) {
  const bool first = input_name(node, 0) == value;
  const auto other = channel_numbers(graph, input_name(node, first ? 1 : 0), image.input.channels);
  if (!other) return false;
  if (is_op(node, "Mul")) {
    multiply(image, *other);
  } else if (is_op(node, "Div") && first) {
    multiply(image, combine({1}, *other, std::divides{}));
  } else if (is_op(node, "Add")) {
    image.shift = combine(image.shift, *other, std::plus{});
  } else if (is_op(node, "Sub") && first) {
    image.shift = combine(image.shift, *other, std::minus{});
  } else {
    return false;
  }
  return true;
}

bool apply_batchnorm(const GraphIndex& graph, const NodeProto& node, ImageGraph& image) {
  if (!is_op(node, "BatchNormalization")) return false;
  const auto numbers = [&](int input) {
    return channel_numbers(graph, input_name(node, input), image.input.channels);
  };
  const auto gamma = numbers(1), beta = numbers(2), mean = numbers(3), variance = numbers(4);
  if (!gamma || !beta || !mean || !variance) return false;
  const double epsilon = attribute_float(node, "epsilon", 1e-5F);
  const Numbers factor =
      combine(*gamma, *variance, [&](double g, double v) { return g / std::sqrt(v + epsilon); });
  image.shift = combine(image.shift, *mean, std::minus{});
  multiply(image, factor);
  image.shift = combine(image.shift, *beta, std::plus{});
  return true;
}

// Applies a Gather that reverses the channels; false if it is not one.
bool apply_reversal(const GraphIndex& graph, const NodeProto& node, ImageGraph& image) {
  if (!is_op(node, "Gather")) return false;
  const auto order = graph.numbers(input_name(node, 1));
  if (!order || *order != Numbers{2, 1, 0}) return false;
  image.reverses_channels = !image.reverses_channels;
  std::ranges::reverse(image.scale);
  std::ranges::reverse(image.shift);
  return true;
}

bool leaves_values(const NodeProto& node) {
  return is_op(node, "Cast") || is_op(node, "Identity") || is_op(node, "Transpose") ||
         is_op(node, "QuantizeLinear") || is_op(node, "DequantizeLinear");
}

bool close(double value, double expected) { return std::abs(value - expected) <= 0.01 * expected; }

Numbers ImageGraph::std() const { return combine({1}, scale, std::divides{}); }
Numbers ImageGraph::mean() const {
  return combine(shift, scale, [](double b, double a) { return a == 0 ? 0 : -b / a; });
}

bool ImageGraph::rescales() const {
  return std::ranges::all_of(scale, [](double factor) { return close(factor, 1.0 / 255); }) &&
         std::ranges::all_of(shift, [](double value) { return value == 0; });
}

bool ImageGraph::normalises() const {
  const bool unchanged = std::ranges::all_of(scale, [](double factor) { return factor == 1; }) &&
                         std::ranges::all_of(shift, [](double value) { return value == 0; });
  return !unchanged && !rescales();
}

// Follows the first image input through its first operators; nullopt if there is no image input.
std::optional<ImageGraph> read_image_graph(const ModelIndex& index) {
  const std::optional<ImageInput> input = first_image(index.model());
  if (!input) return std::nullopt;
  ImageGraph image{.input = *input};
  std::string value = input->name;
  while (true) {
    const auto readers = index.main().consumers(value);
    if (readers.size() != 1 || readers[0]->output_size() != 1) break;
    const NodeProto& node = *readers[0];
    const bool counts = apply_arithmetic(index.main(), node, value, image) ||
                        apply_batchnorm(index.main(), node, image) ||
                        apply_reversal(index.main(), node, image);
    if (!counts && !leaves_values(node)) break;
    if (counts) image.last_node = node_label(node);
    value = node.output(0);
  }
  return image;
}

std::string layout_name(Layout layout) { return layout == Layout::nchw ? "NCHW" : "NHWC"; }

bool divides_by_255(const Preprocessing& config) {
  return std::abs(config.rescale_factor * 255 - 1) < 0.01;
}
bool leaves_range(const Preprocessing& config) { return config.rescale_factor == 1; }

bool normalises(const Preprocessing& config) {
  const auto differs = [](const Numbers& numbers, double from) {
    return std::ranges::any_of(numbers, [&](double number) { return number != from; });
  };
  return differs(config.mean, 0) || differs(config.std, 1);
}

double largest(const Numbers& numbers) {
  double found = 0;
  for (const double number : numbers) found = std::max(found, std::abs(number));
  return found;
}

// Mean and deviation for values in [0,1] are below 1, for [0,255] in the tens.
bool is_of_bytes(const Numbers& mean, const Numbers& std) {
  return largest(mean) > 2 || largest(std) > 2;
}

class Expectation {
 public:
  Expectation(const ImageGraph& image, const Preprocessing& config)
      : image_(image), config_(config) {}

  Findings check() {
    if (!is_float(image_.input.dtype)) return std::move(findings_);  // takes bytes as they are
    check_range();
    check_normalisation();
    check_channel_order();
    return std::move(findings_);
  }

  Findings check_shape(const std::optional<Sidecar>& sidecar) {
    check_layout(sidecar);
    check_size();
    return std::move(findings_);
  }

 private:
  void add(std::string_view id, Statement evidence) {
    const Subject subject = image_.last_node.empty()
                                ? Subject{SubjectKind::tensor, image_.input.name}
                                : Subject{SubjectKind::node, image_.last_node};
    findings_.push_back(make_finding(id, subject, std::move(evidence)));
  }
  void add_input(std::string_view id, Statement evidence) {
    findings_.push_back(
        make_finding(id, {SubjectKind::tensor, image_.input.name}, std::move(evidence)));
  }

  void check_range() {
    const bool graph_wants_bytes =
        image_.rescales() || (image_.normalises() && is_of_bytes(image_.mean(), image_.std()));
    const bool graph_wants_unit = image_.normalises() && !graph_wants_bytes;
    if (graph_wants_bytes && divides_by_255(config_))
      add("value-range", image_.rescales()
                             ? Statement{StatementKind::rescaled_twice}
                             : Statement{StatementKind::byte_mean_in_graph, {image_.mean()}});
    else if (graph_wants_unit && !normalises(config_) && leaves_range(config_))
      add("value-range", {StatementKind::unit_mean_in_graph, {image_.mean()}});
    else if (normalises(config_))
      check_own_range();
  }

  // Compares the mean and deviation of the preprocessing with its own rescaling.
  void check_own_range() {
    const bool of_bytes = is_of_bytes(config_.mean, config_.std);
    if (of_bytes && divides_by_255(config_))
      add_input("value-range", {StatementKind::byte_mean_rescaled, {config_.mean}});
    if (!of_bytes && leaves_range(config_) && !image_.rescales())
      add_input("value-range", {StatementKind::unit_mean_unscaled, {config_.mean}});
  }

  void check_normalisation() {
    if (image_.normalises() && normalises(config_))
      add("normalised-twice", {StatementKind::normalised_twice,
                               {image_.mean(), image_.std(), config_.mean, config_.std}});
    else if (!image_.normalises() && !normalises(config_))
      add_input("never-normalised", {StatementKind::never_normalised});
  }

  // Whether this is ImageNet's mean, in [0,1] or times 255, in RGB or reversed order.
  static bool is_imagenet(const Numbers& mean, bool reversed) {
    std::array<double, 3> known = {0.485, 0.456, 0.406};
    if (reversed) std::ranges::reverse(known);
    if (mean.size() != known.size()) return false;
    const double unit = largest(mean) > 2 ? 255 : 1;
    for (std::size_t i = 0; i < known.size(); ++i)
      if (std::abs(mean[i] / unit - known[i]) > 0.005) return false;
    return true;
  }

  void check_channel_order() {
    const bool gives_bgr = config_.reverse_channels;
    if (image_.reverses_channels && gives_bgr) {
      add("channel-order", {StatementKind::reversed_twice});
      return;
    }
    const Numbers& mean = image_.normalises() ? image_.mean() : config_.mean;
    const Statement whose{image_.normalises() ? StatementKind::of_graph
                                              : StatementKind::of_preprocessing};
    if (is_imagenet(mean, true) && !gives_bgr)
      add("channel-order", {StatementKind::bgr_mean, {mean, whose}});
    if (is_imagenet(mean, false) && gives_bgr)
      add("channel-order", {StatementKind::rgb_mean, {mean, whose}});
  }

  void check_layout(const std::optional<Sidecar>& sidecar) {
    std::optional<Layout> declared = config_.layout;
    StatementKind whose = StatementKind::layout_of_config;
    if (!declared && sidecar)
      for (const TensorSpec& spec : sidecar->inputs)
        if (spec.name == image_.input.name && spec.ranked && spec.shape.size() == 4) {
          declared = sidecar_layout(spec);
          whose = StatementKind::layout_of_sidecar;
        }
    if (declared && *declared != image_.input.layout && image_.input.channels > 0)
      add_input("image-layout",
                {whose, {layout_name(image_.input.layout), layout_name(*declared)}});
  }

  static std::optional<Layout> sidecar_layout(const TensorSpec& spec) {
    const auto is_channels = [](const Dim& dim) { return dim.size == 1 || dim.size == 3; };
    if (is_channels(spec.shape[1])) return Layout::nchw;
    return is_channels(spec.shape[3]) ? std::optional(Layout::nhwc) : std::nullopt;
  }

  void check_size() {
    const ImageInput& input = image_.input;
    for (const Numbers* numbers : {&config_.mean, &config_.std})
      if (numbers->size() > 1 && std::ssize(*numbers) != input.channels) {
        add_input("image-size",
                  {StatementKind::other_channel_count, {input.channels, std::ssize(*numbers)}});
        break;
      }
    std::optional<Size> size = config_.pad_to;
    if (!size && config_.pad) return;
    if (!size && config_.center_crop) size = config_.center_crop->size;
    if (!size && config_.resize) size = config_.resize->exact;
    if (!size) return;
    const bool fits = (input.height < 0 || input.height == size->height) &&
                      (input.width < 0 || input.width == size->width);
    if (!fits)
      add_input("image-size", {StatementKind::other_image_size,
                               {size->height, size->width, input.height, input.width}});
  }

  const ImageGraph& image_;
  const Preprocessing& config_;
  Findings findings_;
};

struct Configured {
  std::optional<Preprocessing> preprocessing;
  std::optional<Sidecar> sidecar;
};

// Reads files found beside the model. They may be unrelated to it, so that an error in them is only
// a finding, unlike one in a file that the options name.
Configured read_beside(const std::filesystem::path& model) {
  Configured found;
  if (model.empty()) return found;
  found.sidecar = read_sidecar(model);
  if (const auto path = find_preprocessing(model)) found.preprocessing = read_preprocessing(*path);
  return found;
}

}  // namespace

Findings check_preprocessing(const ModelIndex& index, const CheckOptions& options) {
  Configured found;
  if (!options.preprocessing.empty()) {
    found.preprocessing = read_preprocessing(options.preprocessing);
  } else {
    try {
      found = read_beside(index.model().path());
    } catch (const Error& error) {
      return {
          make_finding("unreadable-preprocessing", {}, {StatementKind::message, {error.what()}})};
    }
  }
  const std::optional<ImageGraph> image = read_image_graph(index);
  if (!image || (!found.preprocessing && !found.sidecar)) return {};
  const Preprocessing config = found.preprocessing.value_or(Preprocessing{});
  Findings findings = Expectation(*image, config).check_shape(found.sidecar);
  if (found.preprocessing) append(findings, Expectation(*image, config).check());
  return findings;
}

}  // namespace vernier
