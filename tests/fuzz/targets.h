#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace vernier::fuzz {

using Bytes = std::span<const std::byte>;

// What reads a stranger's bytes. `run` returns or throws Error; anything else is a fault.
struct Target {
  std::string name;
  void (*run)(Bytes input,
              const std::filesystem::path& folder);  // the folder is its own, to write in
  std::vector<std::string> extensions;               // of the fixtures it begins with
  std::vector<std::string> texts = {};               // that it begins with
};

const std::vector<Target>& targets();

// Calls the target. An Error is an answer; its message must be whole and Vernier's own.
void feed(const Target& target, Bytes input, const std::filesystem::path& folder);

// Small fixtures of the target's kinds, its texts, and what was found before (tests/fuzz/found).
std::vector<std::string> seeds(const Target& target);

}  // namespace vernier::fuzz
