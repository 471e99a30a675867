#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vernier {

// One row of a result; the views are valid only during the call that is given the row.
class DuckDbRow {
 public:
  virtual ~DuckDbRow() = default;
  virtual std::optional<std::int64_t> integer(std::size_t column) const = 0;    // of a BIGINT
  virtual std::optional<std::string_view> bytes(std::size_t column) const = 0;  // VARCHAR or BLOB
};

// A DuckDB without a database file. The library is loaded when the first one is made, and never
// downloads or writes anything. One thread at a time.
class DuckDb {
 public:
  DuckDb();
  ~DuckDb();
  DuckDb(DuckDb&&) noexcept;

  // Runs one statement; ? in it stands for the parameters, which can say nothing but themselves.
  // Throws Error with DuckDB's reason, led by `subject`.
  void query(const std::string& sql, std::span<const std::string> parameters,
             const std::string& subject, const std::function<void(const DuckDbRow&)>& visit) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A name as an SQL identifier: "x", with its own quotes doubled.
std::string quoted_identifier(std::string_view name);

}  // namespace vernier
