#include "vernier/data/arrow_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "vernier/data/read_file.h"
#include "vernier/error.h"
#include "vernier/tensor/convert.h"

// A stream is a sequence of messages: 0xFFFFFFFF, the size of the metadata (0 ends the stream), the
// metadata as a flatbuffer, and a body of buffers that start at multiples of 8. The first message
// is the schema, the others are record batches. A file has "ARROW1" and two padding bytes before
// the stream, and a footer after it, which is not needed.
namespace vernier {
namespace {

using Bytes = std::span<const std::byte>;
using Kind = ArrowField::Kind;
constexpr int deepest = 16;  // nesting of fields
constexpr int most_fields = 100'000;
constexpr std::int64_t most_rows = std::int64_t{1} << 40;

Error damaged() { return Error("damaged, or no Arrow file"); }

template <typename T>
T read_at(Bytes bytes, std::size_t position) {
  if (position > bytes.size() || bytes.size() - position < sizeof(T)) throw damaged();
  T value;
  std::memcpy(&value, bytes.data() + position, sizeof value);
  return value;
}

Bytes part_of(Bytes bytes, std::int64_t offset, std::int64_t size) {
  const auto all = static_cast<std::int64_t>(bytes.size());
  if (offset < 0 || size < 0 || offset > all || size > all - offset) throw damaged();
  return bytes.subspan(offset, size);
}

// A flatbuffer table. Fields are looked up by number and may be absent.
class Table {
 public:
  Table(Bytes all, std::size_t position) : all_(all), position_(position) {}
  static Table root(Bytes all) { return {all, read_at<std::uint32_t>(all, 0)}; }

  template <typename T>
  T scalar(int field, T otherwise) const {
    const std::size_t place = find(field);
    return place == 0 ? otherwise : read_at<T>(all_, place);
  }
  std::optional<Table> table(int field) const {
    const std::size_t place = find(field);
    if (place == 0) return std::nullopt;
    return Table(all_, follow(place));
  }
  std::string text(int field) const {
    const auto [begin, count] = vector(field);
    return std::string(as_text(part_of(all_, static_cast<std::int64_t>(begin), count)));
  }
  std::vector<Table> tables(int field) const {
    const auto [begin, count] = vector(field);
    part_of(all_, static_cast<std::int64_t>(begin), std::int64_t{count} * 4);
    std::vector<Table> found;
    for (std::uint32_t i = 0; i < count; ++i) found.emplace_back(all_, follow(begin + 4UL * i));
    return found;
  }
  // A vector of FieldNode or Buffer structs: pairs of 64-bit integers.
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs(int field) const {
    const auto [begin, count] = vector(field);
    part_of(all_, static_cast<std::int64_t>(begin), std::int64_t{count} * 16);
    std::vector<std::pair<std::int64_t, std::int64_t>> found;
    for (std::uint32_t i = 0; i < count; ++i)
      found.emplace_back(read_at<std::int64_t>(all_, begin + 16UL * i),
                         read_at<std::int64_t>(all_, begin + 16UL * i + 8));
    return found;
  }

 private:
  std::size_t follow(std::size_t place) const {
    return place + read_at<std::uint32_t>(all_, place);
  }
  std::pair<std::size_t, std::uint32_t> vector(int field) const {
    const std::size_t place = find(field);
    if (place == 0) return {0, 0};
    const std::size_t begin = follow(place);
    return {begin + 4, read_at<std::uint32_t>(all_, begin)};
  }
  // The position of a field; 0 if it is absent.
  std::size_t find(int field) const {
    const auto back = read_at<std::int32_t>(all_, position_);
    const std::size_t fields = position_ - static_cast<std::size_t>(std::int64_t{back});
    const std::size_t entry = 4 + 2 * static_cast<std::size_t>(field);
    if (entry + 2 > read_at<std::uint16_t>(all_, fields)) return 0;
    const auto offset = read_at<std::uint16_t>(all_, fields + entry);
    return offset == 0 ? 0 : position_ + offset;
  }

  Bytes all_;
  std::size_t position_;
};

DType integer_type(const Table& type) {
  const bool is_signed = type.scalar<std::uint8_t>(1, 0) != 0;
  switch (type.scalar<std::int32_t>(0, 0)) {
    case 8: return is_signed ? DType::i8 : DType::u8;
    case 16: return is_signed ? DType::i16 : DType::u16;
    case 32: return is_signed ? DType::i32 : DType::u32;
    case 64: return is_signed ? DType::i64 : DType::u64;
    default: throw damaged();
  }
}

DType float_type(const Table& type) {
  constexpr DType types[] = {DType::f16, DType::f32, DType::f64};
  const auto precision = type.scalar<std::int16_t>(0, 0);
  if (precision < 0 || precision > 2) throw damaged();
  return types[precision];
}

// Arrow's type numbers (the union Type in Schema.fbs).
enum Type : std::uint8_t {
  null = 1,
  integer = 2,
  floating = 3,
  binary = 4,
  utf8 = 5,
  list = 12,
  structure = 13,
  union_of = 14,
  fixed_list = 16,
  map = 17,
  large_binary = 19,
  large_utf8 = 20,
  large_list = 21,
};

void set_type(ArrowField& field, std::uint8_t type, const Table& details) {
  const auto set = [&](Kind kind, int buffers, bool wide = false) {
    field.kind = kind;
    field.buffers = buffers;
    field.wide = wide;
  };
  switch (type) {
    case null: return set(Kind::other, 0);
    case integer: field.dtype = integer_type(details); return set(Kind::number, 2);
    case floating: field.dtype = float_type(details); return set(Kind::number, 2);
    case binary: return set(Kind::bytes, 3);
    case large_binary: return set(Kind::bytes, 3, true);
    case utf8: return set(Kind::text, 3);
    case large_utf8: return set(Kind::text, 3, true);
    case list: return set(Kind::list, 2);
    case large_list: return set(Kind::list, 2, true);
    case map: return set(Kind::other, 2);
    case structure: return set(Kind::structure, 1);
    case fixed_list:
      field.list_size = details.scalar<std::int32_t>(0, 0);
      if (field.list_size < 1) throw damaged();
      return set(Kind::list, 1);
    default:
      if (type == union_of || type > large_list)
        throw Error(fmt::format("column '{}' is of a type that is not read (Arrow's {})",
                                field.name, type));
      return set(Kind::other, 2);  // booleans, times and decimals: values of fixed size
  }
}

// `left` limits the number of fields: a damaged schema may contain itself.
ArrowField read_field(const Table& table, int depth, int& left) {
  if (depth > deepest || --left < 0) throw damaged();
  ArrowField field{.name = table.text(0)};
  const auto details = table.table(3);
  if (!details) throw damaged();
  set_type(field, table.scalar<std::uint8_t>(2, 0), *details);
  for (const Table& child : table.tables(5))
    field.children.push_back(read_field(child, depth + 1, left));
  if (table.table(4)) {  // dictionary-encoded: the values are indices
    field.kind = Kind::other;
    field.buffers = 2;
    field.children.clear();
  }
  if (field.kind == Kind::list && field.children.size() != 1) throw damaged();
  return field;
}

bool has_offsets(const ArrowField& field) {
  const bool is_list = field.kind == Kind::list && field.list_size == 0;
  return is_list || field.kind == Kind::bytes || field.kind == Kind::text;
}

// Reads the arrays of a batch, whose nodes and buffers are listed parents first.
class BatchReader {
 public:
  BatchReader(const Table& batch, Bytes body)
      : nodes_(batch.pairs(1)), buffers_(batch.pairs(2)), body_(body) {
    if (batch.table(3)) throw Error("its batches are compressed; save it without compression");
  }

  ArrowArray read(const ArrowField& field) {
    if (node_ >= nodes_.size()) throw damaged();
    ArrowArray array{.field = &field, .length = nodes_[node_++].first};
    if (array.length < 0 || array.length > most_rows) throw damaged();
    if (field.buffers > 0) array.validity = buffer();
    if (has_offsets(field)) array.offsets = buffer();
    if (field.buffers == (has_offsets(field) ? 3 : 2)) array.data = buffer();
    for (const ArrowField& child : field.children) array.children.push_back(read(child));
    require_room(array);
    return array;
  }

 private:
  Bytes buffer() {
    if (buffer_ >= buffers_.size()) throw damaged();
    const auto [offset, size] = buffers_[buffer_++];
    return part_of(body_, offset, size);
  }
  static void require_room(const ArrowArray& array) {
    const ArrowField& field = *array.field;
    const auto need = [&](Bytes buffer, std::int64_t count, std::int64_t size) {
      if (count > static_cast<std::int64_t>(buffer.size()) / size) throw damaged();
    };
    if (has_offsets(field) && array.length > 0)
      need(array.offsets, array.length + 1, field.wide ? 8 : 4);
    if (!array.validity.empty()) need(array.validity, (array.length + 7) / 8, 1);
    if (field.kind == Kind::number) need(array.data, array.length, byte_size(field.dtype, 1));
    if (field.kind == Kind::structure)
      for (const ArrowArray& child : array.children)
        if (child.length < array.length) throw damaged();
    if (field.kind == Kind::list && field.list_size > 0 &&
        array.length > array.children[0].length / field.list_size)
      throw damaged();
  }

  std::vector<std::pair<std::int64_t, std::int64_t>> nodes_, buffers_;
  Bytes body_;
  std::size_t node_ = 0, buffer_ = 0;
};

// Iterates over the messages of a stream.
class Messages {
 public:
  struct Message {
    Table table;
    Bytes body;
  };
  explicit Messages(Bytes file) : file_(file) {
    constexpr std::string_view magic = "ARROW1";
    if (file.size() >= 8 && std::memcmp(file.data(), magic.data(), magic.size()) == 0)
      position_ = 8;
  }

  std::optional<Message> next() {
    if (position_ == static_cast<std::int64_t>(file_.size())) return std::nullopt;
    auto size = take<std::int32_t>();
    if (size == -1) size = take<std::int32_t>();  // old writers omit the 0xFFFFFFFF marker
    if (size == 0) return std::nullopt;
    const Bytes metadata = part_of(file_, position_, size);
    position_ += size;
    const Table table = Table::root(metadata);
    const Bytes body = part_of(file_, position_, table.scalar<std::int64_t>(3, 0));
    position_ += static_cast<std::int64_t>(body.size());
    return Message{table, body};
  }

 private:
  template <typename T>
  T take() {
    const T value = read_at<T>(file_, position_);
    position_ += sizeof(T);
    return value;
  }

  Bytes file_;
  std::int64_t position_ = 0;
};

std::int64_t offset_at(const ArrowArray& array, std::int64_t index) {
  return array.field->wide ? read_at<std::int64_t>(array.offsets, 8 * index)
                           : read_at<std::int32_t>(array.offsets, 4 * index);
}

// The begin and end offsets of a bytes, text or list value.
std::pair<std::int64_t, std::int64_t> ends_of(const ArrowArray& array, std::int64_t row) {
  const std::int64_t begin = offset_at(array, row), end = offset_at(array, row + 1);
  if (begin < 0 || end < begin) throw damaged();
  return {begin, end};
}

}  // namespace

bool ArrowArray::has(std::int64_t row) const {
  if (row < 0 || row >= length) throw damaged();
  return validity.empty() || (std::to_integer<int>(validity[row / 8]) >> (row % 8)) & 1;
}

std::optional<std::span<const std::byte>> ArrowArray::bytes(std::int64_t row) const {
  if (!has(row)) return std::nullopt;
  if (field->kind == Kind::number) {
    const std::int64_t size = byte_size(field->dtype, 1);
    return part_of(data, row * size, size);
  }
  const auto [begin, end] = ends_of(*this, row);
  return part_of(data, begin, end - begin);
}

std::optional<std::int64_t> ArrowArray::integer(std::int64_t row) const {
  const auto value = bytes(row);
  if (!value) return std::nullopt;
  const Tensor wide = convert(TensorView{"", field->dtype, {}, *value}, DType::i64);
  return elements<std::int64_t>(wide.view())[0];
}

std::pair<std::int64_t, std::int64_t> ArrowArray::range(std::int64_t row) const {
  if (row < 0 || row >= length) throw damaged();
  if (const std::int64_t size = field->list_size; size > 0) return {row * size, (row + 1) * size};
  const auto ends = ends_of(*this, row);
  if (ends.second > children[0].length) throw damaged();
  return ends;
}

const ArrowArray* ArrowArray::child(std::string_view name) const {
  for (const ArrowArray& part : children)
    if (part.field->name == name) return &part;
  return nullptr;
}

ArrowFile::ArrowFile(const std::filesystem::path& path) : file_(path, "arrow") {
  enum : std::uint8_t { schema = 1, dictionary = 2, batch = 3 };
  try {
    bool has_schema = false;
    Messages messages(file_.bytes());
    while (const auto message = messages.next()) {
      const auto kind = message->table.scalar<std::uint8_t>(1, 0);
      const auto header = message->table.table(2);
      if (!header || (kind == batch) != has_schema) {
        if (kind == dictionary) continue;
        throw damaged();
      }
      if (kind == schema) {
        has_schema = true;
        int left = most_fields;
        for (const Table& field : header->tables(1)) fields_.push_back(read_field(field, 0, left));
        for (const Table& entry : header->tables(2)) metadata_[entry.text(0)] = entry.text(1);
      } else {
        BatchReader reader(*header, message->body);
        Batch& read = batches_.emplace_back(Batch{.first = rows_, .columns = {}});
        for (const ArrowField& field : fields_) read.columns.push_back(reader.read(field));
        const auto length = header->scalar<std::int64_t>(0, 0);
        for (const ArrowArray& column : read.columns)
          if (column.length != length) throw damaged();
        rows_ += length;
        if (length < 0 || rows_ > most_rows) throw damaged();
      }
    }
    if (!has_schema) throw damaged();
  } catch (const Error& error) {
    throw Error(fmt::format("[arrow] {}: {}", path.string(), error.what()));
  }
}

ArrowFile::Place ArrowFile::find(std::int64_t row) const {
  const auto after = std::ranges::upper_bound(batches_, row, {}, &Batch::first);
  if (row < 0 || row >= rows_) throw damaged();
  const Batch& batch = *std::prev(after);
  return {batch.columns, row - batch.first};
}

}  // namespace vernier
