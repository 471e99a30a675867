// What merging costs: `merge_bench [PARTS [TENSORS]]` writes a part for each of 1,000 workers, with
// one sample each of a debug of 2,000 tensors, and reads, checks and pools them as `vernier merge`
// does.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "vernier/analysis/debug/observe.h"
#include "vernier/analysis/parts/part_file.h"
#include "vernier/analysis/parts/record.h"

namespace {

using namespace vernier;
using Clock = std::chrono::steady_clock;

// What a quantizer of 100,000 values leaves of a sample.
SampleSums make_sample(std::int64_t number, std::int64_t tensors) {
  std::mt19937 random(static_cast<std::uint32_t>(number));
  std::normal_distribution<float> normal;
  std::vector<float> values(100'000);
  for (float& value : values) value = normal(random);
  SampleSums sums;
  for (std::int64_t i = 0; i < tensors; ++i) {
    const NoiseSums noise{std::ssize(values), std::abs(normal(random)), std::abs(normal(random))};
    TensorSums& tensor = sums.tensors.emplace_back();
    tensor.local = tensor.cumulative = noise;
    tensor.observed = {.count = std::ssize(values), .low = -4, .high = 4};
    sums.order.push_back(static_cast<std::size_t>(i));
    sums.histograms.emplace_back().add(values, number, 4, {});
  }
  return sums;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double peak_megabytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

std::filesystem::path part_of(const std::filesystem::path& folder, std::int64_t number) {
  return folder / fmt::format("{}{}", number, part_ending);
}

void write_parts(const std::filesystem::path& folder, std::int64_t parts, std::int64_t tensors) {
  for (std::int64_t number = 0; number < parts; ++number) {
    const PartHeader header{.command = "debug",
                            .arguments = {},
                            .folder = "",
                            .facts = {{"candidate", "0"}},
                            .samples = {{"tensors", parts}},
                            .shard = {number + 1, parts}};
    SampleRecords records(SampleRecords::Runs::shard, header.shard);
    records.keep("tensors", number, to_record(make_sample(number, tensors)));
    write_part(part_of(folder, number), header, records);
  }
}

// Once to check them, as merge does, and once for the command that it runs.
SampleRecords& read_parts(const std::filesystem::path& folder, std::int64_t parts,
                          SampleRecords& records) {
  for (std::int64_t number = 0; number < parts; ++number) {
    if (!read_part(part_of(folder, number)).complete) std::abort();
    const Part part = read_part(part_of(folder, number));
    for (const auto& [key, record] : part.records) records.add(key, record, part.file);
  }
  return records;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t parts = argc > 1 ? std::atoll(argv[1]) : 1000;
  const std::int64_t tensors = argc > 2 ? std::atoll(argv[2]) : 2000;
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("merge-{}", getpid());
  std::filesystem::create_directory(folder);
  write_parts(folder, parts, tensors);
  const auto size = std::filesystem::file_size(part_of(folder, parts - 1));
  const double before = peak_megabytes();
  const Clock::time_point begin = Clock::now();
  SampleRecords records(SampleRecords::Runs::nothing);
  read_parts(folder, parts, records);
  const double read = seconds_since(begin);
  SampleSums total;
  for (std::int64_t number = 0; number < parts; ++number)
    pool_into(total, from_record<SampleSums>(*records.find("tensors", number)));
  fmt::print(
      "{} parts of {} tensors, {:.2f} MB each: read and checked in {:.1f} s, pooled in {:.1f} s, "
      "peak {:.0f} MB ({:.0f} MB before)\n",
      parts, tensors, static_cast<double>(size) / 1e6, read, seconds_since(begin) - read,
      peak_megabytes(), before);
  std::filesystem::remove_all(folder);
}
