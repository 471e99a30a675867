#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

namespace vernier {

// The unsigned integer at `offset`, which the caller has checked against the bounds.
template <typename T>
T load_big_endian(std::span<const std::byte> bytes, std::size_t offset) {
  static_assert(std::is_unsigned_v<T>);
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>((value << 8) | std::to_integer<T>(bytes[offset + i]));
  return value;
}

template <typename T>
T load_little_endian(std::span<const std::byte> bytes, std::size_t offset) {
  static_assert(std::is_unsigned_v<T>);
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;)
    value = static_cast<T>((value << 8) | std::to_integer<T>(bytes[offset + i]));
  return value;
}

}  // namespace vernier
