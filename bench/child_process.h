#pragma once

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace vernier {

// What a job costs in a process of its own: peak memory is that of a process.
struct Cost {
  double wall_seconds = 0;
  double cpu_seconds = 0;
  double peak_mb = 0;
};

// The best of several processes.
inline Cost best(const Cost& a, const Cost& b) {
  return {std::min(a.wall_seconds, b.wall_seconds), std::min(a.cpu_seconds, b.cpu_seconds),
          std::min(a.peak_mb, b.peak_mb)};
}

// Runs this program again with `arguments`, which must make it call report_cost().
inline Cost in_a_process(const std::string& arguments) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  FILE* pipe = popen(fmt::format("'{}' {}", self, arguments).c_str(), "r");
  Cost cost;
  const int read =
      pipe ? std::fscanf(pipe, "%lf %lf %lf", &cost.wall_seconds, &cost.cpu_seconds, &cost.peak_mb)
           : 0;
  if (!pipe || pclose(pipe) != 0 || read != 3) {
    fmt::print(stderr, "failed: {} {}\n", self, arguments);
    std::exit(2);
  }
  return cost;
}

// In the child: does the work and prints what it cost.
template <typename Work>
void report_cost(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  double cpu = 0, peak = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {  // a host is a child
    rusage usage{};
    getrusage(who, &usage);
    const auto seconds = [](const timeval& time) { return time.tv_sec + time.tv_usec * 1e-6; };
    cpu += seconds(usage.ru_utime) + seconds(usage.ru_stime);
    peak += static_cast<double>(usage.ru_maxrss) / 1024;
  }
  fmt::print("{} {} {}\n", wall, cpu, peak);
}

}  // namespace vernier
