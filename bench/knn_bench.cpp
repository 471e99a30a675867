// Leave-one-out nearest neighbours beside FAISS's knn_inner_product and numpy, k = 10, in one run:
//   knn_bench [THREADS [ROWS…]]   768 dims; one thread for each core, 1,000 and 10,000 rows
// Vernier and numpy start from raw embeddings; FAISS is given unit vectors, and not timed for that.
// CPU seconds count all threads, and suffer less than the clock on the wall from a busy machine.
#include <faiss/utils/Heap.h>
#include <faiss/utils/distances.h>
#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/oracle/numpy.h"
#include "tests/temporary_directory.h"
#include "vernier/metrics/neighbours.h"
#include "vernier/metrics/parallel.h"
#include "vernier/tensor/npy.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

constexpr std::int64_t dims = 768, k = 10;
using Indices = std::vector<std::int32_t>;

struct Run {
  std::string name;
  double wall = std::numeric_limits<double>::infinity();
  double cpu = std::numeric_limits<double>::infinity();
  Indices neighbours;
};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void run_once(Run& best, const std::function<Indices()>& search) {
  const auto wall = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  best.neighbours = search();
  best.cpu = std::min(best.cpu, cpu_seconds() - cpu);
  best.wall = std::min(
      best.wall, std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count());
}

Tensor random_embeddings(std::int64_t rows) {
  std::mt19937 engine(1);
  std::normal_distribution<float> values;
  Tensor tensor = make_tensor("x", DType::f32, {rows, dims});
  std::ranges::generate(elements<float>(tensor), [&] { return values(engine); });
  return tensor;
}

std::vector<float> unit_rows(const Tensor& embeddings) {
  const auto values = elements<float>(embeddings.view());
  std::vector<float> rows(values.begin(), values.end());
  faiss::fvec_renorm_L2(dims, embeddings.shape[0], rows.data());
  return rows;
}

// One more than k, as each row finds itself first.
Indices faiss_neighbours(const std::vector<float>& rows) {
  const std::size_t count = rows.size() / dims;
  std::vector<float> similarities(count * (k + 1));
  std::vector<std::int64_t> indices(count * (k + 1));
  faiss::float_minheap_array_t heaps{count, k + 1, indices.data(), similarities.data()};
  faiss::knn_inner_product(rows.data(), rows.data(), dims, count, count, &heaps);
  Indices neighbours;
  for (std::size_t row = 0; row < count; ++row)
    for (std::size_t i = 0, taken = 0; i <= k && taken < k; ++i)
      if (const auto index = indices[row * (k + 1) + i]; index != static_cast<std::int64_t>(row)) {
        neighbours.push_back(static_cast<std::int32_t>(index));
        ++taken;
      }
  return neighbours;
}

struct NumpyRuns {
  Run full{.name = "numpy, argsort"}, partial{.name = "numpy, argpartition"};
  Indices truth;
};

NumpyRuns run_numpy(const Tensor& embeddings, int runs) {
  const auto python = oracle::python_with("numpy");
  if (!python) throw std::runtime_error("no Python with numpy");
  const TemporaryDirectory folder;
  write_npy(folder / "embeddings.npy", embeddings);
  std::istringstream seconds(oracle::output_of(
      fmt::format("{} {}/knn_numpy.py {} {} {} {}", *python, VERNIER_BENCH,
                  (folder / "embeddings.npy").string(), k, runs, (folder / "out.npz").string())));
  NumpyRuns result;
  seconds >> result.full.wall >> result.full.cpu >> result.partial.wall >> result.partial.cpu;
  const NpzReader archive(folder / "out.npz");
  const auto indices = [&](const std::string& name) {
    const Tensor tensor = archive.read(name);
    const auto values = elements<std::int32_t>(tensor.view());
    return Indices(values.begin(), values.end());
  };
  result.full.neighbours = indices("full");
  result.partial.neighbours = indices("partial");
  result.truth = indices("truth");
  return result;
}

std::int64_t different_rows(const Indices& found, const Indices& truth) {
  std::int64_t different = 0;
  for (std::size_t row = 0; row < truth.size(); row += k)
    different += !std::equal(&truth[row], &truth[row] + k, &found[row]);
  return different;
}

void print(const Run& run, const Run& vernier, const Indices& truth) {
  fmt::print("  {:<20} {:>9.2f} ms {:>9.2f} ms {:>8.2f} {:>8.2f} {:>10}\n", run.name,
             1e3 * run.wall, 1e3 * run.cpu, run.wall / vernier.wall, run.cpu / vernier.cpu,
             different_rows(run.neighbours, truth));
}

void bench(std::int64_t rows, int runs, int threads) {
  const Tensor embeddings = random_embeddings(rows);
  const std::vector<float> unit = unit_rows(embeddings);
  Run vernier{.name = "vernier"}, faiss{.name = "faiss"};
  for (int i = 0; i < runs; ++i) {  // in turn, so that a busy moment hits both
    run_once(vernier, [&] {
      return leave_one_out_neighbours(embeddings, {.k = k, .threads = threads}).indices;
    });
    run_once(faiss, [&] { return faiss_neighbours(unit); });
  }
  const NumpyRuns numpy = run_numpy(embeddings, runs);
  fmt::print("{} x {}: best of {} runs\n", rows, dims, runs);
  fmt::print("  {:<20} {:>12} {:>12} {:>8} {:>8} {:>10}\n", "", "wall", "cpu", "x wall", "x cpu",
             "rows wrong");
  const Run* const all[] = {&vernier, &faiss, &numpy.full, &numpy.partial};
  for (const Run* run : all) print(*run, vernier, numpy.truth);
}

}  // namespace
}  // namespace vernier

// The libraries under FAISS and numpy are told by the environment, before they are loaded, how many
// threads to use, and to let them sleep while they wait: spinning, they would take the cores from
// each other and from whatever is timed next.
int main(int argc, char** argv) {
  const int threads = vernier::thread_count(argc > 1 ? std::stoi(argv[1]) : 0);
  if (!std::getenv("KNN_BENCH_READY")) {
    setenv("KNN_BENCH_READY", "1", 1);
    setenv("OPENBLAS_NUM_THREADS", std::to_string(threads).c_str(), 1);
    setenv("OPENBLAS_THREAD_TIMEOUT", "4", 1);
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execv("/proc/self/exe", argv);
  }
  omp_set_num_threads(threads);
  fmt::print("{} threads; x: times vernier's; wrong: other than float64 neighbours\n", threads);
  std::vector<std::int64_t> sizes{1'000, 10'000};
  if (argc > 2) sizes.clear();
  for (int i = 2; i < argc; ++i) sizes.push_back(std::stoi(argv[i]));
  for (const std::int64_t rows : sizes) vernier::bench(rows, rows > 5'000 ? 3 : 20, threads);
}
