#pragma once

#include <hwy/aligned_allocator.h>

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/metrics/inner_products.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Embeddings prepared for cosine similarities. The similarity of two rows is their inner product
// times their scales, 1 / max(L2 norm, 1e-9), all in float64. Elements are converted to float32;
// rows with NaN or infinity are left out.
struct Embeddings {
  std::int64_t source_rows = 0;           // including the rows left out
  std::vector<std::int32_t> row_numbers;  // index of each row in the source
  std::vector<double> scales;             // of each row
  PanelMatrix unit_rows;                  // the rows scaled to length 1 and rounded to float32
  std::span<const float> source;          // the tensor's own elements if it is float32
  std::vector<float> converted;           // the converted elements if it is not float32

  std::int64_t rows() const { return static_cast<std::int64_t>(row_numbers.size()); }
  std::int64_t dims() const { return unit_rows.dims; }
  std::int64_t non_finite() const { return source_rows - rows(); }
  std::span<const float> row(std::int64_t index) const {
    const std::span<const float> values = converted.empty() ? source : converted;
    return values.subspan(row_numbers[index] * dims(), dims());
  }
};

// Prepares a tensor [rows, dims], which must outlive the result. Throws Error for another shape.
Embeddings prepare_embeddings(const TensorView& tensor, int threads);

// Computes the similarities of one row with others; widens that row to float64 once.
class RowSimilarity {
 public:
  RowSimilarity(const Embeddings& embeddings, std::int64_t row);
  double with(const Embeddings& others, std::int64_t row) const {
    return exact_product(std::span<const double>(values_.get(), dims_), others.row(row)) *
           (scale_ * others.scales[row]);
  }

 private:
  hwy::AlignedFreeUniquePtr<double[]> values_;
  std::size_t dims_;
  double scale_;
};

}  // namespace vernier
