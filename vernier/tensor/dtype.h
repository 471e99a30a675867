#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vernier {

enum class DType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  i4,
  u4,
  boolean,
};

inline constexpr int dtype_count = 19;

// The name shown to users: numpy's if numpy has the type ("float32", "int8", "bool"), else that of
// ml_dtypes ("bfloat16", "float8_e4m3fn", "int4").
std::string_view dtype_name(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

int bits(DType dtype);
bool is_float(DType dtype);
bool is_integer(DType dtype);  // true for i4 and u4, false for bool
bool is_signed(DType dtype);   // true for floats and signed integers

// The bytes of `count` elements; 4-bit types are packed two per byte, low nibble first.
std::int64_t byte_size(DType dtype, std::int64_t count);

}  // namespace vernier
