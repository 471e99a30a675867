#include "vernier/tensor/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>

#include "vernier/error.h"

namespace vernier {
namespace {

template <typename Format>
constexpr std::array<float, 256> make_float8_table() {
  std::array<float, 256> table{};
  for (int bits = 0; bits < 256; ++bits)
    table[bits] = Format::to_f32(static_cast<std::uint8_t>(bits));
  return table;
}

template <typename Format>
constexpr std::array<float, 256> float8_table = make_float8_table<Format>();

template <typename Format>
float decode_float8(std::uint8_t bits) {
  return float8_table<Format>[bits];
}

// Tensors inside a file or a protobuf may be unaligned, so elements are copied.
template <typename T>
T load(const std::byte* data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void store(std::byte* data, std::int64_t index, T value) {
  std::memcpy(data + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

template <typename T, typename Out, typename Decode>
void decode_each(const std::byte* data, std::int64_t begin, std::span<Out> out, Decode decode) {
  const auto count = static_cast<std::int64_t>(out.size());
  const std::byte* first = data + begin * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<Out>(decode(load<T>(first, i)));
}

template <typename T, typename Out>
void cast_each(const std::byte* data, std::int64_t begin, std::span<Out> out) {
  decode_each<T>(data, begin, out, [](T value) { return value; });
}

// Element 2k is the low nibble of byte k.
template <typename Out, typename Decode>
void decode_nibbles(const std::byte* data, std::int64_t begin, std::span<Out> out, Decode decode) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t index = begin + static_cast<std::int64_t>(i);
    const int nibble = std::to_integer<int>(data[index / 2] >> (index % 2 * 4)) & 0xf;
    out[i] = static_cast<Out>(decode(nibble));
  }
}

template <typename Out>
void decode(const TensorView& tensor, std::int64_t begin, std::span<Out> out) {
  const std::byte* data = tensor.bytes.data();
  switch (tensor.dtype) {
    case DType::f64: return cast_each<double>(data, begin, out);
    case DType::f32: return cast_each<float>(data, begin, out);
    case DType::f16:
      return decode_each<std::uint16_t>(data, begin, out,
                                        [](std::uint16_t bits) { return f16_to_f32(bits); });
    case DType::bf16:
      return decode_each<std::uint16_t>(data, begin, out,
                                        [](std::uint16_t bits) { return bf16_to_f32(bits); });
    case DType::f8e4m3fn:
      return decode_each<std::uint8_t>(data, begin, out, decode_float8<Float8E4M3FN>);
    case DType::f8e4m3fnuz:
      return decode_each<std::uint8_t>(data, begin, out, decode_float8<Float8E4M3FNUZ>);
    case DType::f8e5m2:
      return decode_each<std::uint8_t>(data, begin, out, decode_float8<Float8E5M2>);
    case DType::f8e5m2fnuz:
      return decode_each<std::uint8_t>(data, begin, out, decode_float8<Float8E5M2FNUZ>);
    case DType::i64: return cast_each<std::int64_t>(data, begin, out);
    case DType::i32: return cast_each<std::int32_t>(data, begin, out);
    case DType::i16: return cast_each<std::int16_t>(data, begin, out);
    case DType::i8:
      return decode_each<std::int8_t>(data, begin, out,
                                      [](std::int8_t value) { return int{value}; });
    case DType::u64: return cast_each<std::uint64_t>(data, begin, out);
    case DType::u32: return cast_each<std::uint32_t>(data, begin, out);
    case DType::u16: return cast_each<std::uint16_t>(data, begin, out);
    case DType::u8: return cast_each<std::uint8_t>(data, begin, out);
    case DType::i4:
      return decode_nibbles(data, begin, out, [](int nibble) { return (nibble ^ 8) - 8; });
    case DType::u4: return decode_nibbles(data, begin, out, [](int nibble) { return nibble; });
    case DType::boolean:
      return decode_each<std::uint8_t>(data, begin, out,
                                       [](std::uint8_t value) { return value != 0; });
  }
}

// A float32 that rounds to any narrower format exactly as the value itself would: inexact results
// are rounded to odd, so that a second rounding cannot mistake them for a tie.
float to_odd_f32(float value) { return value; }

float to_odd_f32(double value) {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const double back = nearest;
  if (back == value || value != value || bits % 2 == 1) return nearest;
  return std::bit_cast<float>(std::abs(back) > std::abs(value) ? bits - 1 : bits + 1);
}

float to_odd_f32(std::uint64_t value) {
  const bool exceeds_f64 = value >> 53 != 0;
  const std::uint64_t sticky = (value & 0x7ff) != 0 ? 0x800 : 0;
  return to_odd_f32(
      static_cast<double>(exceeds_f64 ? (value & ~std::uint64_t{0x7ff}) | sticky : value));
}

float to_odd_f32(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? -to_odd_f32(0 - bits) : to_odd_f32(bits);
}

template <std::integral Integer, typename Wide>
Integer to_integer(Wide value, Integer lowest = std::numeric_limits<Integer>::min(),
                   Integer highest = std::numeric_limits<Integer>::max()) {
  if constexpr (std::integral<Wide>) {
    return static_cast<Integer>(value);
  } else {
    if (value != value) return 0;
    if (value <= static_cast<Wide>(lowest)) return lowest;
    if (value >= static_cast<Wide>(highest)) return highest;
    return static_cast<Integer>(value);
  }
}

template <typename T, typename Wide, typename Encode>
void encode_each(std::span<const Wide> in, std::int64_t begin, std::byte* data, Encode encode) {
  const auto count = static_cast<std::int64_t>(in.size());
  std::byte* first = data + begin * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < count; ++i) store<T>(first, i, encode(in[i]));
}

template <typename T, typename Wide>
void encode_integers(std::span<const Wide> in, std::int64_t begin, std::byte* data) {
  encode_each<T>(in, begin, data, [](Wide value) { return to_integer<T>(value); });
}

template <typename Format, typename Wide>
void encode_float8(std::span<const Wide> in, std::int64_t begin, std::byte* data) {
  encode_each<std::uint8_t>(in, begin, data,
                            [](Wide value) { return Format::from_f32(to_odd_f32(value)); });
}

// `begin` must be even and the bytes must be zero.
template <typename Wide>
void encode_nibbles(std::span<const Wide> in, std::int64_t begin, std::byte* data, int lowest,
                    int highest) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int64_t index = begin + static_cast<std::int64_t>(i);
    const int nibble = to_integer<int>(in[i], lowest, highest) & 0xf;
    data[index / 2] |= static_cast<std::byte>(nibble << (index % 2 * 4));
  }
}

template <typename Wide>
void encode(std::span<const Wide> in, std::int64_t begin, Tensor& tensor) {
  std::byte* data = tensor.bytes.data();
  switch (tensor.dtype) {
    case DType::f64:
      return encode_each<double>(in, begin, data,
                                 [](Wide value) { return static_cast<double>(value); });
    case DType::f32:
      return encode_each<float>(in, begin, data,
                                [](Wide value) { return static_cast<float>(value); });
    case DType::f16:
      return encode_each<std::uint16_t>(in, begin, data,
                                        [](Wide value) { return f32_to_f16(to_odd_f32(value)); });
    case DType::bf16:
      return encode_each<std::uint16_t>(in, begin, data,
                                        [](Wide value) { return f32_to_bf16(to_odd_f32(value)); });
    case DType::f8e4m3fn: return encode_float8<Float8E4M3FN>(in, begin, data);
    case DType::f8e4m3fnuz: return encode_float8<Float8E4M3FNUZ>(in, begin, data);
    case DType::f8e5m2: return encode_float8<Float8E5M2>(in, begin, data);
    case DType::f8e5m2fnuz: return encode_float8<Float8E5M2FNUZ>(in, begin, data);
    case DType::i64: return encode_integers<std::int64_t>(in, begin, data);
    case DType::i32: return encode_integers<std::int32_t>(in, begin, data);
    case DType::i16: return encode_integers<std::int16_t>(in, begin, data);
    case DType::i8: return encode_integers<std::int8_t>(in, begin, data);
    case DType::u64: return encode_integers<std::uint64_t>(in, begin, data);
    case DType::u32: return encode_integers<std::uint32_t>(in, begin, data);
    case DType::u16: return encode_integers<std::uint16_t>(in, begin, data);
    case DType::u8: return encode_integers<std::uint8_t>(in, begin, data);
    case DType::i4: return encode_nibbles(in, begin, data, -8, 7);
    case DType::u4: return encode_nibbles(in, begin, data, 0, 15);
    case DType::boolean:
      return encode_each<std::uint8_t>(in, begin, data,
                                       [](Wide value) { return std::uint8_t{value != 0}; });
  }
}

template <typename Out>
void widen_checked(const TensorView& tensor, std::int64_t begin, std::span<Out> out) {
  check_byte_count(tensor);
  const auto count = static_cast<std::int64_t>(out.size());
  if (begin < 0 || begin > tensor.size() - count)
    throw Error(fmt::format("[tensor] '{}': elements {} to {} asked for, found {}", tensor.name,
                            begin, begin + count, tensor.size()));
  decode(tensor, begin, out);
}

template <typename Out>
std::vector<Out> widen_all(const TensorView& tensor) {
  check_byte_count(tensor);
  std::vector<Out> out(tensor.size());
  decode<Out>(tensor, 0, out);
  return out;
}

// Converts through a buffer that stays in cache; Wide represents every value of the source exactly.
template <typename Wide>
void convert_through(const TensorView& from, Tensor& to) {
  std::array<Wide, 2048> buffer;
  const std::int64_t size = from.size();
  for (std::int64_t begin = 0; begin < size; begin += buffer.size()) {
    const std::span chunk(buffer.data(), std::min<std::int64_t>(buffer.size(), size - begin));
    decode<Wide>(from, begin, chunk);
    encode<Wide>(chunk, begin, to);
  }
}

}  // namespace

void widen(const TensorView& tensor, std::int64_t begin, std::span<double> out) {
  widen_checked(tensor, begin, out);
}

void widen(const TensorView& tensor, std::int64_t begin, std::span<float> out) {
  widen_checked(tensor, begin, out);
}

std::vector<double> to_f64(const TensorView& tensor) { return widen_all<double>(tensor); }
std::vector<float> to_f32(const TensorView& tensor) { return widen_all<float>(tensor); }

Tensor convert(const TensorView& tensor, DType dtype) {
  check_byte_count(tensor);
  if (tensor.dtype == dtype) return copy(tensor);
  Tensor result =
      make_tensor(std::string(tensor.name), dtype, {tensor.shape.begin(), tensor.shape.end()});
  if (tensor.dtype == DType::f64)
    convert_through<double>(tensor, result);
  else if (is_float(tensor.dtype))
    convert_through<float>(tensor, result);
  else if (tensor.dtype == DType::u64)
    convert_through<std::uint64_t>(tensor, result);
  else
    convert_through<std::int64_t>(tensor, result);
  return result;
}

}  // namespace vernier
