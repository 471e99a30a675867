// The door for libFuzzer: VERNIER_FUZZ_TARGET names the target, and its seeds are written into the
// folder that is the last argument.
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "tests/fuzz/targets.h"
#include "tests/temporary_directory.h"

namespace {

const vernier::fuzz::Target* target = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const char* name = std::getenv("VERNIER_FUZZ_TARGET");
  for (const vernier::fuzz::Target& candidate : vernier::fuzz::targets())
    if (name && candidate.name == name) target = &candidate;
  if (!target) {
    std::cerr << "VERNIER_FUZZ_TARGET must be one of:";
    for (const vernier::fuzz::Target& candidate : vernier::fuzz::targets())
      std::cerr << ' ' << candidate.name;
    std::cerr << '\n';
    std::exit(2);
  }
  const std::filesystem::path corpus = (*arguments)[*count - 1];
  int written = 0;
  if (std::filesystem::is_directory(corpus))
    for (const std::string& seed : vernier::fuzz::seeds(*target))
      std::ofstream(corpus / ("seed_" + std::to_string(written++)), std::ios::binary) << seed;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const vernier::TemporaryDirectory folder;
  vernier::fuzz::feed(*target, std::as_bytes(std::span(data, size)), folder.path());
  return 0;
}
