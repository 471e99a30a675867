#include "vernier/tensor/inflate_limit.h"

#include <fmt/format.h>

#include <atomic>

#include "vernier/error.h"

namespace vernier {
namespace {

std::atomic<std::int64_t> limit = default_inflate_limit;

// Weights and activations expand to less than twice their compressed size, masks and labels to less
// than fifty times.
constexpr std::uint64_t ordinary_ratio = 100;

}  // namespace

void set_inflate_limit(std::int64_t bytes) { limit = bytes; }

void require_inflatable(const std::string& subject, std::uint64_t compressed, std::uint64_t size) {
  const auto most = static_cast<std::uint64_t>(limit.load());
  if (size <= most || size / ordinary_ratio <= compressed) return;
  throw Error(fmt::format(
      "{}: {} compressed bytes would become {:.1f} GB; if that is right, raise the limit of {:.1f} "
      "GB with --inflate-limit",
      subject, compressed, static_cast<double>(size) / 1e9, static_cast<double>(most) / 1e9));
}

void require_file(const std::string& operation, const std::filesystem::path& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) return;
  throw Error(fmt::format("{} {}: is a {}, not a file; copy what it holds into one", operation,
                          path.string(),
                          std::filesystem::is_directory(status) ? "folder"
                          : std::filesystem::is_fifo(status)    ? "pipe"
                          : std::filesystem::is_socket(status)  ? "socket"
                                                                : "device"));
}

}  // namespace vernier
