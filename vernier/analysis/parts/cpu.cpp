#include "vernier/analysis/parts/cpu.h"

#include <fstream>
#include <set>
#include <sstream>

namespace vernier {

// By Linux's names of features, which exist for every architecture.
std::string cpu_kind() {
  static const std::set<std::string> telling = {
      "avx",         "avx2",     "fma",      "f16c",     "avx512f",     "avx512bw",    "avx512vl",
      "avx512_vnni", "avx_vnni", "amx_int8", "amx_bf16", "avx512_bf16", "avx512_fp16", "asimd",
      "asimddp",     "asimdhp",  "i8mm",     "bf16",     "sve",         "sve2",        "sme"};
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> found;
  for (std::string line; found.empty() && std::getline(file, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;)
      if (telling.contains(word)) found.insert(word);
  }
#if defined(__x86_64__)
  std::string kind = "x86-64";
#elif defined(__aarch64__)
  std::string kind = "arm64";
#else
  std::string kind = "other";
#endif
  for (const std::string& word : found) kind += " " + word;
  return kind;
}

}  // namespace vernier
