#include "vernier/model/n_bits.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include "vernier/error.h"
#include "vernier/model/graph.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

struct Layout {
  std::int64_t k, n, width, block;
  std::int64_t blocks() const { return (k + block - 1) / block; }
  std::int64_t block_bytes() const { return (block * width + 7) / 8; }
};

unsigned field(const std::byte* bytes, std::int64_t index, std::int64_t width) {
  const std::int64_t bit = index * width;
  return (std::to_integer<unsigned>(bytes[bit / 8]) >> (bit % 8)) & ((1U << width) - 1);
}

Layout layout_of(const NodeProto& node, const Tensor& packed, const Tensor& scales) {
  const Layout layout{attribute_int(node, "K", 0), attribute_int(node, "N", 0),
                      attribute_int(node, "bits", 4), attribute_int(node, "block_size", 0)};
  const bool sane = layout.k > 0 && layout.n > 0 && layout.block > 0 &&
                    (layout.width == 2 || layout.width == 4 || layout.width == 8);
  if (!sane ||
      static_cast<std::int64_t>(packed.bytes.size()) !=
          layout.n * layout.blocks() * layout.block_bytes() ||
      scales.size() != layout.n * layout.blocks())
    throw Error(fmt::format(
        "[MatMulNBits] {}: K {}, N {}, bits {}, block_size {} do not fit a weight of {} "
        "bytes and {} scales",
        node_label(node), layout.k, layout.n, layout.width, layout.block, packed.bytes.size(),
        scales.size()));
  return layout;
}

// One zero point per row and block.
std::vector<float> zeros_of(const Layout& layout, const std::optional<Tensor>& zero_points) {
  const std::int64_t blocks = layout.blocks();
  std::vector<float> zeros(layout.n * blocks, static_cast<float>(1U << (layout.width - 1)));
  if (!zero_points) return zeros;
  if (is_float(zero_points->dtype)) return to_f32(*zero_points);
  const std::int64_t row_bytes = (blocks * layout.width + 7) / 8;
  if (static_cast<std::int64_t>(zero_points->bytes.size()) < layout.n * row_bytes)
    throw Error(fmt::format("[MatMulNBits] {} bytes of zero points, expected {}",
                            zero_points->bytes.size(), layout.n * row_bytes));
  for (std::int64_t row = 0; row < layout.n; ++row)
    for (std::int64_t block = 0; block < blocks; ++block)
      zeros[row * blocks + block] = static_cast<float>(
          field(zero_points->bytes.data() + row * row_bytes, block, layout.width));
  return zeros;
}

}  // namespace

Tensor unpack_n_bits(const NodeProto& node, const Tensor& packed, const Tensor& scales,
                     const std::optional<Tensor>& zero_points) {
  const Layout layout = layout_of(node, packed, scales);
  const std::vector<float> scale_values = to_f32(scales);
  const std::vector<float> zeros = zeros_of(layout, zero_points);
  Tensor weight = make_tensor(packed.name, DType::f32, {layout.n, layout.k});
  const auto out = elements<float>(weight);
  for (std::int64_t row = 0; row < layout.n; ++row)
    for (std::int64_t column = 0; column < layout.k; ++column) {
      const std::int64_t block = row * layout.blocks() + column / layout.block;
      const std::byte* bytes = packed.bytes.data() + block * layout.block_bytes();
      const auto stored = static_cast<float>(field(bytes, column % layout.block, layout.width));
      out[row * layout.k + column] = (stored - zeros[block]) * scale_values[block];
    }
  return weight;
}

Quantizer n_bits_quantizer(const NodeProto& node, Tensor scales) {
  return {.dtype = attribute_int(node, "bits", 4) == 8 ? DType::u8 : DType::u4,
          .scale = std::move(scales),
          .block_size = attribute_int(node, "block_size", 0)};
}

}  // namespace vernier
