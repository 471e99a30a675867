#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "vernier/error.h"
#include "vernier/tensor/npy.h"
#include "vernier/tensor/python_literal.h"

namespace vernier {
namespace {

// An .npy file consists of the magic, two bytes of version, the length of the header (two bytes in
// version 1, four since version 2), the header (a Python dictionary padded with spaces and ended by
// a newline), and the elements.
constexpr std::string_view magic = "\x93NUMPY";
constexpr std::int64_t max_header_bytes = 1 << 20;

struct Code {
  std::string_view code;
  DType dtype;
};
constexpr std::array<Code, 12> codes = {{{"f8", DType::f64},
                                         {"f4", DType::f32},
                                         {"f2", DType::f16},
                                         {"i8", DType::i64},
                                         {"i4", DType::i32},
                                         {"i2", DType::i16},
                                         {"i1", DType::i8},
                                         {"u8", DType::u64},
                                         {"u4", DType::u32},
                                         {"u2", DType::u16},
                                         {"u1", DType::u8},
                                         {"b1", DType::boolean}}};

// The reason why a descr that is not in `codes` is refused.
std::string_view refusal(std::string_view code) {
  switch (code.empty() ? '\0' : code.front()) {
    case 'O': return "objects, which would need pickle";
    case 'S':
    case 'a': return "byte strings";
    case 'U': return "strings";
    case 'V': return "raw or structured data";
    case 'c': return "complex numbers";
    case 'M': return "dates";
    case 'm': return "time differences";
    default: return "an unknown type";
  }
}

class HeaderReader {
 public:
  HeaderReader(const ByteReader& read, std::int64_t total_bytes, const std::string& subject)
      : read_(read), left_(total_bytes), subject_(subject) {}

  NpyHeader parse() {
    text_ = read_text();
    const PythonLiteral literal = parse_dictionary();
    const auto* dict = literal.as<PythonLiteral::Dict>();
    if (!dict || dict->entries.size() != 3)
      fail("header", "a dictionary of descr, fortran_order and shape", quoted(text_));
    const auto [dtype, order] = read_descr(field(*dict, "descr"));
    const bool* fortran_order = field(*dict, "fortran_order").as<bool>();
    if (!fortran_order) fail("fortran_order", "True or False", quoted(text_));
    NpyHeader header = {.dtype = dtype,
                        .shape = read_shape(field(*dict, "shape")),
                        .fortran_order = *fortran_order,
                        .big_endian = order == '>' && bits(dtype) > 8};
    header.data_bytes = claimed_bytes(header);
    return header;
  }

 private:
  [[noreturn]] void fail(std::string_view field, std::string_view expected,
                         std::string_view found) const {
    throw Error(
        fmt::format("[npy] {}: {}: expected {}, found {}", subject_, field, expected, found));
  }

  static std::string quoted(std::string_view text) {
    return fmt::format("{:?}", text.substr(0, 100));
  }

  std::string take(std::int64_t count, std::string_view field) {
    if (count > left_)
      fail(field, fmt::format("{} bytes", count),
           fmt::format("{} to the end; the file was cut off: save it again", left_));
    std::string bytes(static_cast<std::size_t>(count), '\0');
    read_(std::as_writable_bytes(std::span(bytes)));
    left_ -= count;
    return bytes;
  }

  std::string read_text() {
    const std::string start = take(8, "magic");
    if (!start.starts_with(magic)) fail("magic", quoted(magic), quoted(start.substr(0, 6)));
    const int major = static_cast<unsigned char>(start[6]);
    const int minor = static_cast<unsigned char>(start[7]);
    if (major < 1 || major > 3 || minor != 0)
      fail("version", "1.0, 2.0 or 3.0", fmt::format("{}.{}", major, minor));
    const std::string field = take(major == 1 ? 2 : 4, "header length");
    std::int64_t length = 0;
    for (std::size_t i = 0; i < field.size(); ++i)
      length |= std::int64_t{static_cast<unsigned char>(field[i])} << (8 * i);
    if (length > max_header_bytes)
      fail("header length", fmt::format("at most {} bytes", max_header_bytes),
           fmt::format("{}", length));
    return take(length, "header");
  }

  PythonLiteral parse_dictionary() const {
    try {
      return parse_python_literal(text_);
    } catch (const Error& error) {
      throw Error(fmt::format("[npy] {}: header: {}", subject_, error.what()));
    }
  }

  const PythonLiteral& field(const PythonLiteral::Dict& dict, std::string_view wanted) const {
    for (const auto& [key, value] : dict.entries)
      if (const auto* name = key.as<std::string>(); name && *name == wanted) return value;
    fail("header", fmt::format("the key '{}'", wanted), quoted(text_));
  }

  // Type and byte order ('<', '>', '=', '|'), as in "<f4"; without an order, '=' (native).
  std::pair<DType, char> read_descr(const PythonLiteral& value) const {
    const auto* descr = value.as<std::string>();
    if (!descr) fail("descr", "the name of a number type", quoted(text_));
    const bool has_order = descr->find_first_of("<>=|") == 0;
    const std::string_view code = std::string_view(*descr).substr(has_order ? 1 : 0);
    const auto* known = std::ranges::find(codes, code, &Code::code);
    if (known == codes.end())
      fail("descr", "a float, integer or bool type",
           fmt::format("{} ({}); save the array in another dtype", quoted(*descr), refusal(code)));
    return {known->dtype, has_order ? descr->front() : '='};
  }

  Shape read_shape(const PythonLiteral& value) const {
    const auto* tuple = value.as<PythonLiteral::Tuple>();
    if (!tuple) fail("shape", "a tuple", quoted(text_));
    Shape shape;
    for (const PythonLiteral& item : tuple->items) {
      const auto* size = item.as<std::int64_t>();
      if (!size || *size < 0) fail("shape", "sizes of at least 0", quoted(text_));
      shape.push_back(*size);
    }
    return shape;
  }

  std::int64_t claimed_bytes(const NpyHeader& header) const {
    const std::optional<std::int64_t> count = checked_element_count(header.shape);
    if (!count) fail("shape", "a size that fits the file", format_shape(header.shape));
    const std::int64_t claimed = byte_size(header.dtype, *count);
    if (claimed != left_)
      fail("data",
           fmt::format("{} bytes for {} {}", claimed, dtype_name(header.dtype),
                       format_shape(header.shape)),
           fmt::format("{}", left_));
    return claimed;
  }

  const ByteReader& read_;
  std::int64_t left_;
  const std::string& subject_;
  std::string text_;  // the header
};

std::string dictionary(DType dtype, std::span<const std::int64_t> shape) {
  const std::string_view code = std::ranges::find(codes, dtype, &Code::dtype)->code;
  return fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
                     bits(dtype) == 8 ? '|' : '<', code, fmt::join(shape, ", "),
                     shape.size() == 1 ? "," : "");
}

}  // namespace

NpyHeader read_npy_header(const ByteReader& read, std::int64_t total_bytes,
                          const std::string& subject) {
  return HeaderReader(read, total_bytes, subject).parse();
}

DType npy_dtype(DType dtype) {
  switch (dtype) {
    case DType::bf16: return DType::f32;
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz: return DType::f16;
    case DType::i4: return DType::i8;
    case DType::u4: return DType::u8;
    default: return dtype;
  }
}

std::string npy_header(DType dtype, std::span<const std::int64_t> shape, std::size_t min_size) {
  const std::string text = dictionary(npy_dtype(dtype), shape);
  const bool is_long = std::max(text.size() + 64, min_size) > 0xffff;
  const std::size_t prefix = is_long ? 12 : 10;
  const std::size_t size = std::max((prefix + text.size() + 1 + 63) / 64 * 64, min_size);
  std::string header(magic);
  header += is_long ? '\2' : '\1';
  header += '\0';
  for (std::size_t i = 8; i < prefix; ++i)
    header += static_cast<char>((size - prefix) >> (8 * (i - 8)));
  header += text;
  header.resize(size - 1, ' ');
  header += '\n';
  return header;
}

}  // namespace vernier
