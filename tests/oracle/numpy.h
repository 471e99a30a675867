#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

// What numpy itself says: tests evaluate Python expressions and compare bytes.
namespace vernier::oracle {

using Bytes = std::vector<std::byte>;

// The first Python interpreter that can import the modules: the one that the set-up makes, then
// those of the machine. numpy has to be 2.4 or later: earlier ones add up in another order.
inline std::optional<std::string> python_with(const std::string& modules) {
  std::string script = "import " + modules;
  if (modules.starts_with("numpy"))
    script += "\nassert numpy.lib.NumpyVersion(numpy.__version__) >= \"2.4.0\"";
  for (const char* python : {VERNIER_PYTHON, "python3", "/usr/bin/python3"})
    if (std::system((std::string(python) + " -c '" + script + "' 2>/dev/null").c_str()) == 0)
      return python;
  return std::nullopt;
}

inline std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

inline std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) throw std::runtime_error("cannot start " + command);
  std::string output;
  char buffer[65536];
  while (const std::size_t count = fread(buffer, 1, sizeof(buffer), pipe.get()))
    output.append(buffer, count);
  return output;
}

// Output made of blobs, each behind its length in 8 bytes.
inline std::vector<Bytes> blobs_of(const std::string& output) {
  std::vector<Bytes> blobs;
  for (std::size_t at = 0; at + 8 <= output.size();) {
    std::uint64_t size = 0;
    std::memcpy(&size, output.data() + at, 8);
    const auto* begin = reinterpret_cast<const std::byte*>(output.data()) + at + 8;
    blobs.emplace_back(begin, begin + size);
    at += 8 + size;
  }
  return blobs;
}

// The bytes of each array that an expression gives; `np` is numpy, `rng(...)` its default_rng over
// the list of its arguments. One process evaluates them all.
inline std::vector<Bytes> numpy_bytes(const std::string& python,
                                      const std::vector<std::string>& expressions) {
  std::string command = python + " -c " + shell_quoted(R"(
import sys, numpy as np
np.seterr(all='ignore')
rng = lambda *entropy: np.random.default_rng(list(entropy))
for expression in sys.argv[1:]:
    data = np.ascontiguousarray(eval(expression)).tobytes()
    sys.stdout.buffer.write(len(data).to_bytes(8, 'little') + data)
)");
  for (const std::string& expression : expressions) command += " " + shell_quoted(expression);
  const std::vector<Bytes> arrays = blobs_of(output_of(command));
  if (arrays.size() != expressions.size()) throw std::runtime_error("numpy failed: " + command);
  return arrays;
}

template <typename T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

}  // namespace vernier::oracle
