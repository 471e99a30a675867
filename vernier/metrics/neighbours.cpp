#include "vernier/metrics/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <mutex>

#include "vernier/error.h"
#include "vernier/metrics/embeddings.h"
#include "vernier/metrics/parallel.h"

namespace vernier {
namespace {

// How the search works. All products are computed in float32, a tile of 32 x 32 at a time. In
// leave-one-out search, only tiles on and above the diagonal are computed, and each serves its rows
// and its columns. Each row keeps a shortlist of somewhat more than k candidates. The error of a
// float32 product is bounded, so it is known which candidates could be among the k nearest; these
// are scored again in float64. If the shortlist is too short to hold them all, the row is scored
// against all others in float64.

constexpr float nothing = -2;  // below every cosine: no candidate
constexpr std::int64_t panels_per_block = 4;
constexpr std::int64_t longest_shortlist = 1000;  // above this k, scoring everything is faster

// A similarity and an index packed into one double that sorts by similarity: a float32 widened to
// float64 leaves the low 29 bits free.
class Candidate {
 public:
  static constexpr std::uint64_t index_bits = (1u << 29) - 1;

  Candidate(float similarity, std::int64_t index)
      : key_(std::bit_cast<double>(std::bit_cast<std::uint64_t>(static_cast<double>(similarity)) |
                                   static_cast<std::uint64_t>(index))) {}
  explicit Candidate(double key) : key_(key) {}

  double key() const { return key_; }
  std::int32_t index() const { return static_cast<std::int32_t>(bits() & index_bits); }
  float similarity() const {
    return static_cast<float>(std::bit_cast<double>(bits() & ~index_bits));
  }
  bool exists() const { return key_ > nothing; }

 private:
  std::uint64_t bits() const { return std::bit_cast<std::uint64_t>(key_); }
  double key_;
};

// The best candidates of every query so far, sorted. Holds a few more than k, so that near ties at
// the k-th place rarely require scoring the whole row.
class Shortlists {
 public:
  Shortlists(std::int64_t rows, std::int64_t k)
      : capacity_(k + 4 + k / 16),
        keys_(rows * capacity_, nothing),
        thresholds_((rows + panel_rows - 1) / panel_rows * panel_rows, nothing) {
    std::fill(thresholds_.begin() + rows, thresholds_.end(), 2.0f);  // padding accepts nothing
  }

  std::int64_t capacity() const { return capacity_; }
  // Candidates that are not in the row's list are not above this similarity.
  float threshold(std::int64_t row) const { return thresholds_[row]; }
  std::span<const float, panel_rows> thresholds(std::int64_t panel) const {
    return std::span<const float, panel_rows>(&thresholds_[panel * panel_rows], panel_rows);
  }
  // Best first; a place that is not taken holds a candidate that does not exist().
  Candidate at(std::int64_t row, std::int64_t place) const {
    return Candidate(keys_[row * capacity_ + place]);
  }
  // Every place takes the median of its own key, the previous place's key and the new key. Without
  // branches, since the place of a new key cannot be predicted.
  void insert(std::int64_t row, Candidate candidate) {
    double* const keys = &keys_[row * capacity_];
    const double key = candidate.key();
    for (std::int64_t i = capacity_ - 1; i > 0; --i)
      keys[i] = std::max(keys[i], std::min(keys[i - 1], key));
    keys[0] = std::max(keys[0], key);
    thresholds_[row] = at(row, capacity_ - 1).similarity();
  }

 private:
  std::int64_t capacity_;
  std::vector<double> keys_;
  std::vector<float> thresholds_;
};

class Search {
 public:
  Search(const Embeddings& queries, const Embeddings& bank, std::int64_t k, int threads)
      : queries_(queries),
        bank_(bank),
        k_(k),
        threads_(threads),
        uses_shortlists_(k <= longest_shortlist),
        shortlists_(uses_shortlists_ ? queries.rows() : 0, k),
        locks_(queries.unit_rows.panels()) {}

  Neighbours run() {
    if (uses_shortlists_) fill_shortlists();
    Neighbours result{.queries = queries_.source_rows, .k = k_};
    result.indices.assign(result.queries * k_, -1);
    result.similarities.assign(result.queries * k_, 0);
    parallel_for(queries_.unit_rows.panels(), threads_, [&](std::int64_t panel) {
      const std::int64_t end = std::min(queries_.rows(), (panel + 1) * panel_rows);
      for (std::int64_t row = panel * panel_rows; row < end; ++row) rank(row, result);
    });
    return result;
  }

 private:
  struct Scored {
    double similarity;
    std::int32_t index;
  };

  bool leaves_one_out() const { return &queries_ == &bank_; }

  // Processes pairs of blocks of panels; two blocks fit into the L2 cache.
  void fill_shortlists() {
    const std::int64_t rows =
        (queries_.unit_rows.panels() + panels_per_block - 1) / panels_per_block;
    const std::int64_t columns =
        (bank_.unit_rows.panels() + panels_per_block - 1) / panels_per_block;
    parallel_for(rows * columns, threads_, [&](std::int64_t task) {
      search_block(task / columns * panels_per_block, task % columns * panels_per_block);
    });
  }

  void search_block(std::int64_t first_row, std::int64_t first_column) {
    const std::int64_t last_row =
        std::min(first_row + panels_per_block, queries_.unit_rows.panels());
    const std::int64_t last_column =
        std::min(first_column + panels_per_block, bank_.unit_rows.panels());
    for (std::int64_t row = first_row; row < last_row; ++row)
      for (std::int64_t column = first_column; column < last_column; ++column)
        if (!leaves_one_out() || row <= column) search_tile(row, column);
  }

  void search_tile(std::int64_t row_panel, std::int64_t column_panel) {
    ProductTile tile =
        panel_products(queries_.unit_rows.panel(row_panel), bank_.unit_rows.panel(column_panel));
    mask_missing(tile, column_panel);
    if (leaves_one_out() && row_panel == column_panel)
      for (int i = 0; i < panel_rows; ++i) tile.values[i][i] = nothing;
    offer_to_rows(tile, row_panel, column_panel);
    if (leaves_one_out() && row_panel != column_panel)
      offer_to_columns(tile, row_panel, column_panel);
  }

  // Masks the padding rows of the last panel.
  void mask_missing(ProductTile& tile, std::int64_t column_panel) const {
    const std::int64_t present = bank_.rows() - column_panel * panel_rows;
    if (present >= panel_rows) return;
    for (auto& row : tile.values) std::fill(row.begin() + present, row.end(), nothing);
  }

  void offer_to_rows(const ProductTile& tile, std::int64_t row_panel, std::int64_t column_panel) {
    const std::lock_guard lock(locks_[row_panel]);
    const TileMask mask = above_row(tile, shortlists_.thresholds(row_panel));
    for (int r = 0; r < panel_rows; ++r)
      for (std::uint32_t bits = mask[r]; bits != 0; bits &= bits - 1)
        offer(row_panel, r, column_panel, std::countr_zero(bits),
              tile.values[r][std::countr_zero(bits)]);
  }

  void offer_to_columns(const ProductTile& tile, std::int64_t row_panel,
                        std::int64_t column_panel) {
    const std::lock_guard lock(locks_[column_panel]);
    const TileMask mask = above_column(tile, shortlists_.thresholds(column_panel));
    for (int r = 0; r < panel_rows; ++r)
      for (std::uint32_t bits = mask[r]; bits != 0; bits &= bits - 1)
        offer(column_panel, std::countr_zero(bits), row_panel, r,
              tile.values[r][std::countr_zero(bits)]);
  }

  // Compares again, since the threshold may have risen after the mask was computed.
  void offer(std::int64_t query_panel, int query, std::int64_t bank_panel, int index,
             float similarity) {
    const std::int64_t row = query_panel * panel_rows + query;
    if (similarity > shortlists_.threshold(row))
      shortlists_.insert(row, {similarity, bank_panel * panel_rows + index});
  }

  // Writes the neighbours of one query in order.
  void rank(std::int64_t row, Neighbours& result) {
    std::vector<Scored> scored = score(row);
    const auto better = [](const Scored& x, const Scored& y) {
      return x.similarity > y.similarity || (x.similarity == y.similarity && x.index < y.index);
    };
    const auto count = std::min<std::int64_t>(k_, static_cast<std::int64_t>(scored.size()));
    std::partial_sort(scored.begin(), scored.begin() + count, scored.end(), better);
    const std::int64_t out = queries_.row_numbers[row] * k_;
    for (std::int64_t i = 0; i < count; ++i) {
      result.indices[out + i] = bank_.row_numbers[scored[i].index];
      result.similarities[out + i] = scored[i].similarity;
    }
  }

  // The float64 similarities of all candidates that could be among the k nearest. A candidate more
  // than twice the error bound below the k-th in float32 has k better ones in float64.
  std::vector<Scored> score(std::int64_t row) const {
    if (!uses_shortlists_) return score_all(row);
    const float cutoff =
        shortlists_.at(row, k_ - 1).similarity() - 2 * panel_product_error(bank_.dims());
    const Candidate last = shortlists_.at(row, shortlists_.capacity() - 1);
    if (last.exists() && last.similarity() >= cutoff) return score_all(row);
    const RowSimilarity similarity(queries_, row);
    std::vector<Scored> scored;
    scored.reserve(shortlists_.capacity());
    for (std::int64_t place = 0; place < shortlists_.capacity(); ++place) {
      const Candidate candidate = shortlists_.at(row, place);
      if (!candidate.exists() || candidate.similarity() < cutoff) break;
      scored.push_back({similarity.with(bank_, candidate.index()), candidate.index()});
    }
    return scored;
  }

  std::vector<Scored> score_all(std::int64_t row) const {
    const RowSimilarity similarity(queries_, row);
    std::vector<Scored> scored;
    for (std::int32_t index = 0; index < bank_.rows(); ++index)
      if (!leaves_one_out() || index != row)
        scored.push_back({similarity.with(bank_, index), index});
    return scored;
  }

  const Embeddings& queries_;
  const Embeddings& bank_;
  std::int64_t k_;
  int threads_;
  bool uses_shortlists_;
  Shortlists shortlists_;
  std::vector<std::mutex> locks_;  // one for each panel of queries
};

std::int64_t checked_k(std::int64_t k, std::int64_t most) {
  if (k < 1) throw Error(fmt::format("[knn] k is {}, expected 1 or more; pass --k", k));
  return std::min(k, most);
}

}  // namespace

Neighbours leave_one_out_neighbours(const TensorView& embeddings, const NeighbourOptions& options) {
  const int threads = thread_count(options.threads);
  const Embeddings rows = prepare_embeddings(embeddings, threads);
  if (rows.source_rows < 2)
    throw Error(
        fmt::format("[knn] leave-one-out needs at least 2 samples, found {}", rows.source_rows));
  const std::int64_t k = checked_k(options.k, rows.source_rows - 1);
  Neighbours result = Search(rows, rows, k, threads).run();
  result.non_finite = rows.non_finite();
  return result;
}

Neighbours bank_neighbours(const TensorView& queries, const TensorView& bank,
                           const NeighbourOptions& options) {
  const int threads = thread_count(options.threads);
  const Embeddings query_rows = prepare_embeddings(queries, threads);
  const Embeddings bank_rows = prepare_embeddings(bank, threads);
  if (bank_rows.source_rows < 1) throw Error("[knn] the bank is empty, expected at least 1 sample");
  if (query_rows.dims() != bank_rows.dims())
    throw Error(
        fmt::format("[knn] queries have {} dims, the bank {}; both must come from one model",
                    query_rows.dims(), bank_rows.dims()));
  const std::int64_t k = checked_k(options.k, bank_rows.source_rows);
  Neighbours result = Search(query_rows, bank_rows, k, threads).run();
  result.non_finite = query_rows.non_finite() + bank_rows.non_finite();
  return result;
}

}  // namespace vernier
