#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "vernier/error.h"

namespace vernier {

// For a record with invalid contents: anybody can write one with a valid checksum.
inline Error damaged_record() {
  return Error("[part] a record is damaged; measure that part again");
}

// Plain structs as bytes, exactly: numbers are stored as their bits, little endian. A struct lists
// its members once, for reading and writing, in a function found by its argument:
//   template <typename Archive>
//   void fields(Archive& archive, Sums& sums) { archive(sums.count, sums.squares); }
// An enumeration that is checked when it is read declares its last value in the same way:
//   constexpr Kind last_value(Kind) { return Kind::other; }
class RecordWriter {
 public:
  template <typename... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <typename T>
  void put(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    else
      fields(*this, const_cast<T&>(value));  // fields() only reads it
  }
  void put(const std::string& text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes_ += text;
  }
  template <typename T>
  void put(const std::vector<T>& values) {
    put(static_cast<std::uint64_t>(values.size()));
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    else
      for (const T& value : values) put(value);
  }
  template <typename T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <typename First, typename Second>
  void put(const std::pair<First, Second>& pair) {
    put(pair.first);
    put(pair.second);
  }

  std::string bytes_;
};

// Throws Error if the bytes end too early or hold an invalid value.
class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes) : bytes_(bytes) {}
  template <typename... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) throw damaged_record();
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  template <typename T>
  void get(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      std::memcpy(&value, take(sizeof value).data(), sizeof value);
    else
      fields(*this, value);
    if constexpr (requires { last_value(value); })
      if (value < T{} || value > last_value(value)) throw damaged_record();
  }
  void get(bool& value) {
    const char byte = take(1)[0];
    if (byte != 0 && byte != 1) throw damaged_record();
    value = byte == 1;
  }
  void get(std::string& text) { text = take(size()); }
  template <typename T>
  void get(std::vector<T>& values) {
    const std::uint64_t count = size();
    values.clear();
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      values.resize(count);
      if (count > 0) std::memcpy(values.data(), take(count * sizeof(T)).data(), count * sizeof(T));
    } else {
      for (std::uint64_t i = 0; i < count; ++i) get(values.emplace_back());
    }
  }
  template <typename T>
  void get(std::optional<T>& value) {
    bool has = false;
    get(has);
    value.reset();
    if (has) get(value.emplace());
  }
  template <typename First, typename Second>
  void get(std::pair<First, Second>& pair) {
    get(pair.first);
    get(pair.second);
  }
  // The number of elements that follow, each of which takes at least one byte.
  std::uint64_t size() {
    std::uint64_t count = 0;
    get(count);
    if (count > bytes_.size()) throw damaged_record();
    return count;
  }

  std::string_view bytes_;
};

template <typename T>
std::string to_record(const T& value) {
  RecordWriter writer;
  writer(value);
  return writer.take();
}

template <typename T>
T from_record(std::string_view bytes) {
  RecordReader reader(bytes);
  T value;
  reader(value);
  if (!reader.at_end()) throw damaged_record();
  return value;
}

}  // namespace vernier
