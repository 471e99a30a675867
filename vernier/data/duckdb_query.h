#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace vernier {

// One row of a result, valid only during the call of `visit`. nullopt for NULL.
class DuckDbRow {
 public:
  virtual ~DuckDbRow() = default;
  virtual std::optional<std::int64_t> integer(std::size_t column) const = 0;    // BIGINT
  virtual std::optional<std::string_view> bytes(std::size_t column) const = 0;  // VARCHAR or BLOB
};

// An in-memory DuckDB. The library is loaded when the first one is made, and never downloads or
// writes anything. Not thread-safe.
class DuckDb {
 public:
  DuckDb();
  ~DuckDb();
  DuckDb(DuckDb&&) noexcept;

  // Runs one statement and calls visit(row) for each row of the result. Its only ?, if any, is
  // bound to the path of `file`, taken literally. Throws Error with `subject` and DuckDB's reason.
  void query(const std::string& sql, const std::filesystem::path& file, const std::string& subject,
             const std::function<void(const DuckDbRow&)>& visit) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A name as a quoted SQL identifier, with its own quotes doubled.
std::string quoted_identifier(std::string_view name);

}  // namespace vernier
