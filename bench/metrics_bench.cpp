// How fast a pair is measured, as ratios to what the core can read and to what numpy takes.
//   metrics_bench            float32 pairs of 10^4, 10^6 and 2*10^7 elements
//   metrics_bench ELEMENTS   one pair of so many
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <random>

#include "tests/oracle/numpy.h"
#include "tests/temporary_directory.h"
#include "vernier/metrics/similarity.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/metrics_bench.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vernier::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Reads every byte of whole vectors once and does next to nothing with it.
std::uint64_t read_all(const std::uint64_t* from, std::size_t count) {
  const hn::ScalableTag<std::uint64_t> d;
  const std::size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d), b = a, e = a, f = a;
  for (std::size_t i = 0; i + 4 * lanes <= count; i += 4 * lanes) {
    a = hn::Xor(a, hn::LoadU(d, from + i));
    b = hn::Xor(b, hn::LoadU(d, from + i + lanes));
    e = hn::Xor(e, hn::LoadU(d, from + i + 2 * lanes));
    f = hn::Xor(f, hn::LoadU(d, from + i + 3 * lanes));
  }
  return hn::GetLane(hn::Xor(hn::Xor(a, b), hn::Xor(e, f)));
}

}  // namespace
}  // namespace vernier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier {
HWY_EXPORT(read_all);

namespace {

// Time this thread had the CPU: a shared machine disturbs that less than the clock on the wall.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_of(const std::function<void()>& work, int repeats) {
  const double start = cpu_seconds();
  for (int i = 0; i < repeats; ++i) work();
  return (cpu_seconds() - start) / repeats;
}

Tensor random_tensor(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> values;
  Tensor tensor = make_tensor("x", DType::f32, {count});
  std::ranges::generate(elements<float>(tensor), [&] { return values(engine); });
  return tensor;
}

void write_raw(const std::filesystem::path& path, const Tensor& tensor) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(tensor.bytes.data()),
             static_cast<std::streamsize>(tensor.bytes.size()));
}

std::uint64_t read_bytes(const Tensor& tensor) {
  return HWY_DYNAMIC_DISPATCH(read_all)(elements<std::uint64_t>(tensor.view()).data(),
                                        tensor.bytes.size() / sizeof(std::uint64_t));
}

struct Seconds {
  double read = std::numeric_limits<double>::infinity();
  double measured = std::numeric_limits<double>::infinity();
  std::optional<double> numpy;
};

// Runs alternate, and the best of each counts.
Seconds best_of(const Tensor& reference, const Tensor& candidate, int rounds, int repeats) {
  Seconds best;
  std::uint64_t sink = 0;
  double metric = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto read = [&] { sink ^= read_bytes(reference) ^ read_bytes(candidate); };
    const auto measured = [&] { metric += similarity(reference, candidate).sqnr_db; };
    best.read = std::min(best.read, seconds_of(read, repeats));
    best.measured = std::min(best.measured, seconds_of(measured, repeats));
  }
  if (sink == 1 && metric == 1) fmt::print("\n");  // the work must not be optimised away
  return best;
}

std::optional<double> numpy_seconds(const Tensor& reference, const Tensor& candidate, int rounds) {
  const auto python = oracle::python_with("numpy");
  if (!python) return std::nullopt;
  const TemporaryDirectory folder;
  write_raw(folder / "reference", reference);
  write_raw(folder / "candidate", candidate);
  return std::stod(oracle::output_of(
      fmt::format("{} {} {} {} {}", *python, VERNIER_BENCH "/metrics_numpy.py",
                  (folder / "reference").string(), (folder / "candidate").string(), rounds)));
}

void bench(std::int64_t count, int rounds, int repeats) {
  const Tensor reference = random_tensor(count, 1), candidate = random_tensor(count, 2);
  Seconds best = best_of(reference, candidate, rounds, repeats);
  best.numpy = numpy_seconds(reference, candidate, rounds);
  const double gigabytes = 8e-9 * static_cast<double>(count);
  fmt::print("{:>9} {:>10.1f} {:>10.1f} {:>10} {:>9.2f} {:>9} {:>10}\n", count,
             gigabytes / best.read, gigabytes / best.measured,
             best.numpy ? fmt::format("{:.2f}", gigabytes / *best.numpy) : "-",
             best.read / best.measured,
             best.numpy ? fmt::format("{:.1f}", *best.numpy / best.measured) : "-",
             best.numpy ? fmt::format("{:.3f}", best.read / *best.numpy) : "-");
}

}  // namespace
}  // namespace vernier

int main(int argc, char** argv) {
  fmt::print("float32 pairs, GB/s of both tensors, best of several runs on {}\n",
             hwy::TargetName(hwy::SupportedTargets() & -hwy::SupportedTargets()));
  fmt::print("{:>9} {:>10} {:>10} {:>10} {:>9} {:>9} {:>10}\n", "elements", "plain read",
             "similarity", "numpy", "of read", "x numpy", "numpy/read");
  if (argc > 1) return vernier::bench(std::stoll(argv[1]), 15, 1), 0;
  vernier::bench(10'000, 200, 100);
  vernier::bench(1'000'000, 200, 1);
  vernier::bench(20'000'000, 15, 1);
}
#endif
