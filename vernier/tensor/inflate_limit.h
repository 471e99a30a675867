#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace vernier {

// Compressed data may expand to about a thousand times its size. Data that would take more than
// this limit, and more than 100 times its compressed size, is refused before it is inflated.
inline constexpr std::int64_t default_inflate_limit = std::int64_t{1} << 30;

// Sets the limit, in bytes, for all threads.
void set_inflate_limit(std::int64_t bytes);

// Throws Error, starting with `subject`, for data that exceeds the limit.
void require_inflatable(const std::string& subject, std::uint64_t compressed, std::uint64_t size);

// Throws Error if the path exists and is no regular file: opening a pipe would wait for a writer.
void require_file(const std::string& operation, const std::filesystem::path& path);

}  // namespace vernier
