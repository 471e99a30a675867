#include "vernier/tensor/rows.h"

#include "vernier/tensor/convert.h"

namespace vernier {

TensorView row_of(const TensorView& rows, std::int64_t row) {
  const std::size_t bytes = rows.bytes.size() / rows.shape[0];
  return {rows.name, rows.dtype, rows.shape.subspan(1), rows.bytes.subspan(row * bytes, bytes)};
}

std::vector<float> row_to_f32(const TensorView& tensor, std::int64_t row) {
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.back()));
  widen(tensor, row * tensor.shape.back(), values);
  return values;
}

}  // namespace vernier
