#include "vernier/tensor/dtype.h"

#include <array>

namespace vernier {
namespace {

enum class Kind : std::uint8_t { floating, signed_integer, unsigned_integer, boolean };

struct Traits {
  std::string_view name;
  int bits;
  Kind kind;
};

// In the order of the enum.
constexpr std::array<Traits, dtype_count> traits = {{
    {"float64", 64, Kind::floating},
    {"float32", 32, Kind::floating},
    {"float16", 16, Kind::floating},
    {"bfloat16", 16, Kind::floating},
    {"float8_e4m3fn", 8, Kind::floating},
    {"float8_e4m3fnuz", 8, Kind::floating},
    {"float8_e5m2", 8, Kind::floating},
    {"float8_e5m2fnuz", 8, Kind::floating},
    {"int64", 64, Kind::signed_integer},
    {"int32", 32, Kind::signed_integer},
    {"int16", 16, Kind::signed_integer},
    {"int8", 8, Kind::signed_integer},
    {"uint64", 64, Kind::unsigned_integer},
    {"uint32", 32, Kind::unsigned_integer},
    {"uint16", 16, Kind::unsigned_integer},
    {"uint8", 8, Kind::unsigned_integer},
    {"int4", 4, Kind::signed_integer},
    {"uint4", 4, Kind::unsigned_integer},
    {"bool", 8, Kind::boolean},
}};

const Traits& of(DType dtype) { return traits[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view dtype_name(DType dtype) { return of(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (int i = 0; i < dtype_count; ++i)
    if (traits[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

int bits(DType dtype) { return of(dtype).bits; }
bool is_float(DType dtype) { return of(dtype).kind == Kind::floating; }
bool is_integer(DType dtype) {
  return of(dtype).kind == Kind::signed_integer || of(dtype).kind == Kind::unsigned_integer;
}
bool is_signed(DType dtype) {
  return of(dtype).kind == Kind::floating || of(dtype).kind == Kind::signed_integer;
}

std::int64_t byte_size(DType dtype, std::int64_t count) {
  return bits(dtype) == 4 ? (count + 1) / 2 : count * (bits(dtype) / 8);
}

}  // namespace vernier
