#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace vernier {

// Compressed data may claim to be thousands of times larger than it is in its file. What would take
// more than the limit, and far more than the file does, is refused before it is inflated.
inline constexpr std::int64_t default_inflate_limit = std::int64_t{1} << 30;

// Also for other threads; in bytes.
void set_inflate_limit(std::int64_t bytes);

// Throws Error, whose message begins with `subject`, for data that the limit refuses.
void require_inflatable(const std::string& subject, std::uint64_t compressed, std::uint64_t size);

// Throws Error unless the path is that of a file: opening a pipe would wait for its writer.
void require_file(const std::string& operation, const std::filesystem::path& path);

}  // namespace vernier
