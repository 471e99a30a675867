#include "vernier/model/skeleton.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "vernier/error.h"
#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

using Bytes = std::span<const std::byte>;

// Protobuf's wire format: a message is a sequence of fields, each a tag (number << 3 | type) and a
// value. Only values of type 2 carry a length and can be large or contain messages. ONNX has no
// groups (fields between a start and an end tag), but unknown fields may contain them.
enum WireType { varint = 0, fixed64 = 1, delimited = 2, group = 3, end_of_group = 4, fixed32 = 5 };

constexpr int deepest_group = 100;  // protobuf's own limit

struct Field {
  std::uint64_t number = 0;
  int type = 0;
  Bytes whole;  // tag and value
  Bytes value;  // of a delimited field
};

struct Malformed {};

// Reads the fields of a message in order. Throws Malformed.
class FieldReader {
 public:
  explicit FieldReader(Bytes message) : rest_(message) {}

  bool done() const { return rest_.empty(); }

  Field next() { return next(0); }

 private:
  Field next(int depth) {
    const Bytes start = rest_;
    const std::uint64_t tag = read_varint();
    Field field{tag >> 3, static_cast<int>(tag & 7), {}, {}};
    switch (field.type) {
      case varint: read_varint(); break;
      case fixed64: take(8); break;
      case fixed32: take(4); break;
      case delimited: field.value = take(read_varint()); break;
      case group: skip_group(field.number, depth + 1); break;
      case end_of_group:
        if (depth > 0) break;
        throw Malformed();
      default: throw Malformed();
    }
    field.whole = start.first(start.size() - rest_.size());
    return field;
  }

  void skip_group(std::uint64_t number, int depth) {
    if (depth > deepest_group) throw Malformed();
    Field field = next(depth);
    while (field.type != end_of_group) field = next(depth);
    if (field.number != number) throw Malformed();
  }

  std::uint64_t read_varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::byte byte = take(1)[0];
      value |= (std::to_integer<std::uint64_t>(byte) & 0x7f) << shift;
      if ((byte & std::byte{0x80}) == std::byte{0}) return value;
    }
    throw Malformed();
  }

  Bytes take(std::uint64_t count) {
    if (count > rest_.size()) throw Malformed();
    const Bytes taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  Bytes rest_;
};

std::string varint_bytes(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}

std::string delimited_head(std::uint64_t number, std::uint64_t length) {
  return varint_bytes(number << 3 | delimited) + varint_bytes(length);
}

// Copies a message; `rewrite` gives the new value of each delimited field of that number.
template <typename Rewrite>
Rope rewrite_fields(Bytes message, int number, const Rewrite& rewrite) {
  Rope out;
  FieldReader reader(message);
  while (!reader.done()) {
    const Field field = reader.next();
    if (field.type == delimited && field.number == static_cast<std::uint64_t>(number)) {
      Rope value = rewrite(field.value);
      out.append(delimited_head(field.number, value.size()));
      out.append(std::move(value));
    } else {
      out.append(field.whole);
    }
  }
  return out;
}

// Copies a serialized model; `rewrite` gives the new value of each weight of the main graph.
template <typename Rewrite>
Rope rewrite_weights(Bytes model, const Rewrite& rewrite) {
  return rewrite_fields(model, ModelProto::kGraphFieldNumber, [&](Bytes graph) {
    return rewrite_fields(graph, GraphProto::kInitializerFieldNumber, rewrite);
  });
}

// The weight's raw_data if it has at least `threshold` bytes, else empty.
Bytes inline_elements(Bytes weight, std::size_t threshold) {
  Bytes elements;
  for (FieldReader reader(weight); !reader.done();) {
    const Field field = reader.next();
    if (field.number == TensorProto::kRawDataFieldNumber) elements = field.value;
  }
  return elements.size() >= threshold ? elements : Bytes();
}

// The weight with its raw_data replaced by a reference into the file. Existing location fields are
// dropped: many tools write the default location, and of repeated fields the last counts.
Rope shorten(Bytes weight, Bytes file, const std::string& location, std::size_t threshold) {
  Rope out;
  const Bytes elements = inline_elements(weight, threshold);
  for (FieldReader reader(weight); !reader.done();) {
    const Field field = reader.next();
    const bool replaced = field.number == TensorProto::kRawDataFieldNumber ||
                          field.number == TensorProto::kDataLocationFieldNumber ||
                          field.number == TensorProto::kExternalDataFieldNumber;
    if (elements.empty() || !replaced) out.append(field.whole);
  }
  if (elements.empty()) return out;
  TensorProto reference;
  set_external_data(reference, {location, elements.data() - file.data(), std::ssize(elements)});
  out.append(reference.SerializeAsString());
  return out;
}

Rope restore(Bytes weight, const std::string& location, Bytes file) {
  Rope out;
  TensorProto proto;
  if (!proto.ParseFromArray(weight.data(), static_cast<int>(weight.size()))) throw Malformed();
  if (!has_external_data(proto) || external_data(proto).location != location) {
    out.append(weight);
    return out;
  }
  const Bytes data = external_bytes(proto, file);
  proto.clear_external_data();
  proto.clear_data_location();
  out.append(proto.SerializeAsString());
  out.append(delimited_head(TensorProto::kRawDataFieldNumber, data.size()));
  out.append(data, true);
  return out;
}

}  // namespace

std::uint64_t Rope::size() const {
  std::uint64_t total = 0;
  for (const Piece& piece : pieces) total += piece.bytes.size();
  return total;
}

void Rope::append(Bytes bytes, bool mapped) { pieces.push_back({bytes, mapped}); }

void Rope::append(std::string bytes) {
  owned.push_back(std::make_unique<const std::string>(std::move(bytes)));
  append(std::as_bytes(std::span(*owned.back())));
}

void Rope::append(Rope rope) {
  pieces.insert(pieces.end(), rope.pieces.begin(), rope.pieces.end());
  std::ranges::move(rope.owned, std::back_inserter(owned));
}

std::string flatten(const Rope& rope) {
  std::string out;
  out.reserve(rope.size());
  for (const auto& [bytes, mapped] : rope.pieces)
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return out;
}

std::optional<std::string> skeleton(Bytes file, const std::string& location,
                                    std::size_t threshold) {
  try {
    return flatten(rewrite_weights(
        file, [&](Bytes weight) { return shorten(weight, file, location, threshold); }));
  } catch (const Malformed&) {
    return std::nullopt;
  }
}

Rope with_weights(Bytes skeleton, const std::string& location, Bytes file) {
  try {
    return rewrite_weights(skeleton, [&](Bytes weight) { return restore(weight, location, file); });
  } catch (const Malformed&) {
    throw Error(fmt::format("[model] {}: the graph is no ONNX model", location));
  }
}

}  // namespace vernier
