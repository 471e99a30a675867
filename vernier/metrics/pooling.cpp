#include "vernier/metrics/pooling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

struct Kind {
  std::string_view name;
  std::size_t rank;
  std::string_view shape;
};
constexpr std::array<Kind, 4> kinds{{{"cls", 3, "[samples,tokens,dims]"},
                                     {"mean", 3, "[samples,tokens,dims]"},
                                     {"gap", 4, "[samples,channels,height,width]"},
                                     {"none", 2, "[samples,dims]"}}};
constexpr std::array<std::string_view, 4> names{"cls", "mean", "gap", "none"};

const Kind& kind_of(Pooling pooling) { return kinds[static_cast<std::size_t>(pooling)]; }

// The layout, within a sample, of the values that each element of an embedding is the mean of.
struct Layout {
  std::int64_t dims = 0;    // elements of an embedding
  std::int64_t pooled = 0;  // values per element
  std::int64_t dim_stride = 0;
  std::int64_t pooled_stride = 0;
};

Layout layout_of(std::span<const std::int64_t> shape, Pooling pooling) {
  switch (pooling) {
    case Pooling::cls: return {shape[2], 1, 1, shape[2]};
    case Pooling::mean: return {shape[2], shape[1], 1, shape[2]};
    case Pooling::gap: return {shape[1], shape[2] * shape[3], shape[2] * shape[3], 1};
    case Pooling::none: return {shape[1], 1, 1, 1};
  }
  return {};
}

void check(const TensorView& output, Pooling pooling) {
  const Kind& kind = kind_of(pooling);
  const bool fits = output.shape.size() == kind.rank &&
                    std::ranges::all_of(output.shape.subspan(1), [](auto dim) { return dim > 0; });
  if (!fits)
    throw Error(
        fmt::format("[pooling] '{}' has shape {}, pooling {} expects {}; choose another "
                    "--pooling",
                    output.name, format_shape(output.shape), kind.name, kind.shape));
}

}  // namespace

std::optional<Pooling> parse_pooling(std::string_view name) {
  const auto found = std::ranges::find(kinds, name, &Kind::name);
  if (found == kinds.end()) return std::nullopt;
  return static_cast<Pooling>(found - kinds.begin());
}

std::span<const std::string_view> pooling_names() { return names; }

Pooling default_pooling(const TensorView& output) {
  if (output.shape.size() == 2) return Pooling::none;
  if (output.shape.size() == 3) return Pooling::cls;
  throw Error(
      fmt::format("[pooling] '{}' has shape {}, expected [samples,dims] or "
                  "[samples,tokens,dims]; pass --pooling to choose how it becomes an "
                  "embedding",
                  output.name, format_shape(output.shape)));
}

Tensor pool(const TensorView& output, Pooling pooling) {
  check(output, pooling);
  const Layout layout = layout_of(output.shape, pooling);
  const std::int64_t samples = output.shape[0];
  const std::int64_t sample_size = element_count(output.shape.subspan(1));
  Tensor embeddings = make_tensor(std::string(output.name), DType::f32, {samples, layout.dims});
  const std::span<float> out = elements<float>(embeddings);
  std::vector<double> values(sample_size);
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    widen(output, sample * sample_size, std::span(values));
    for (std::int64_t d = 0; d < layout.dims; ++d) {
      double sum = 0;
      for (std::int64_t i = 0; i < layout.pooled; ++i)
        sum += values[d * layout.dim_stride + i * layout.pooled_stride];
      out[sample * layout.dims + d] = static_cast<float>(sum / static_cast<double>(layout.pooled));
    }
  }
  return embeddings;
}

}  // namespace vernier
