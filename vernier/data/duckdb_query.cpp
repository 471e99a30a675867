#include "vernier/data/duckdb_query.h"

#include <dlfcn.h>
#include <duckdb.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "vernier/error.h"
#include "vernier/installation.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

// The extension module of Python's package `duckdb` also exports DuckDB's C interface.
std::vector<fs::path> modules_of_python() {
  std::vector<fs::path> found;
  for (const fs::path& packages : python_environment().folders)
    for (const fs::path& folder : {packages, packages / "duckdb"}) {
      std::error_code ignored;
      for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        const std::string name = entry.path().filename();
        if (name.starts_with("_duckdb.") || name.starts_with("duckdb.cpython"))
          found.push_back(entry.path());
      }
    }
  return found;
}

std::vector<fs::path> libraries() {
  if (const char* chosen = std::getenv("VERNIER_DUCKDB")) return {chosen};
  std::vector<fs::path> found = modules_of_python();
  if (fs::path ours = installed_file("libduckdb.so"); !ours.empty()) found.push_back(ours);
  found.push_back("libduckdb.so");
  return found;
}

// Loads libpython for PREFIX/lib/python3.11/site-packages/MODULE, which needs its symbols to load.
// None of them is called. The pyvenv.cfg of a virtual environment names the base installation.
void load_libpython(fs::path module) {
  while (module.has_relative_path() && !module.filename().string().starts_with("python3"))
    module = module.parent_path();
  if (!module.has_relative_path()) return;
  const fs::path prefix = module.parent_path().parent_path();
  const std::string name = fmt::format("lib{}.so.1.0", module.filename().string());
  std::vector<fs::path> candidates = {prefix / "lib" / name, name};
  std::ifstream settings(prefix / "pyvenv.cfg");
  for (std::string line; std::getline(settings, line);)
    if (line.starts_with("home = "))
      candidates.push_back(fs::path(line.substr(7)).parent_path() / "lib" / name);
  for (const fs::path& candidate : candidates)
    if (dlopen(candidate.c_str(), RTLD_LAZY | RTLD_GLOBAL)) return;
}

void* open_library() {
  std::string reason;
  for (const fs::path& library : libraries()) {
    for (const bool again : {false, true}) {
      if (again) load_libpython(library);
      if (void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL)) return handle;
    }
    if (reason.empty()) reason = dlerror();
  }
  throw Error(fmt::format(
      "[parquet] DuckDB cannot be loaded ({}); pip install duckdb, run scripts/setup.sh, or set "
      "VERNIER_DUCKDB to libduckdb.so",
      reason));
}

// A function of the library, with its type from duckdb.h.
template <typename Function>
Function* find(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr)
    throw Error(fmt::format("[parquet] this DuckDB has no {}; use version 1.4", name));
  return reinterpret_cast<Function*>(symbol);
}

// The functions used from DuckDB's C interface.
struct Api {
  void* library = open_library();
#define VERNIER_DUCKDB_FUNCTION(name) \
  decltype(duckdb_##name)* name = find<decltype(duckdb_##name)>(library, "duckdb_" #name)
  VERNIER_DUCKDB_FUNCTION(create_config);
  VERNIER_DUCKDB_FUNCTION(set_config);
  VERNIER_DUCKDB_FUNCTION(destroy_config);
  VERNIER_DUCKDB_FUNCTION(open_ext);
  VERNIER_DUCKDB_FUNCTION(close);
  VERNIER_DUCKDB_FUNCTION(connect);
  VERNIER_DUCKDB_FUNCTION(disconnect);
  VERNIER_DUCKDB_FUNCTION(prepare);
  VERNIER_DUCKDB_FUNCTION(prepare_error);
  VERNIER_DUCKDB_FUNCTION(destroy_prepare);
  VERNIER_DUCKDB_FUNCTION(bind_varchar_length);
  VERNIER_DUCKDB_FUNCTION(execute_prepared);
  VERNIER_DUCKDB_FUNCTION(result_error);
  VERNIER_DUCKDB_FUNCTION(destroy_result);
  VERNIER_DUCKDB_FUNCTION(fetch_chunk);
  VERNIER_DUCKDB_FUNCTION(destroy_data_chunk);
  VERNIER_DUCKDB_FUNCTION(data_chunk_get_size);
  VERNIER_DUCKDB_FUNCTION(data_chunk_get_vector);
  VERNIER_DUCKDB_FUNCTION(vector_get_data);
  VERNIER_DUCKDB_FUNCTION(vector_get_validity);
  VERNIER_DUCKDB_FUNCTION(free);
#undef VERNIER_DUCKDB_FUNCTION
};

// Loaded once and never unloaded: DuckDB's threads would crash.
const Api& api() {
  static const Api loaded;
  return loaded;
}

// DuckDB's messages have several lines; Vernier's have one.
std::string first_line(const char* message) {
  const std::string_view text = message ? message : "unknown reason";
  return std::string(text.substr(0, text.find('\n')));
}

// DuckDB interprets a path as a glob pattern: brackets escape special characters. The path is made
// absolute so that it cannot be mistaken for a URL.
std::string literal_path(const fs::path& path) {
  std::string literal;
  for (const char c : fs::absolute(path).string())
    literal += c == '*' || c == '?' || c == '[' ? std::string{'[', c, ']'} : std::string(1, c);
  return literal;
}

class ChunkRow : public DuckDbRow {
 public:
  ChunkRow(duckdb_data_chunk chunk, idx_t row) : chunk_(chunk), row_(row) {}

  std::optional<std::int64_t> integer(std::size_t column) const override {
    const auto* data = static_cast<const std::int64_t*>(valid_data(column));
    if (data == nullptr) return std::nullopt;
    return data[row_];
  }
  std::optional<std::string_view> bytes(std::size_t column) const override {
    const auto* data = static_cast<const duckdb_string_t*>(valid_data(column));
    if (data == nullptr) return std::nullopt;
    const auto& value = data[row_].value;
    const std::uint32_t size = value.inlined.length;
    return std::string_view(
        size <= sizeof value.inlined.inlined ? value.inlined.inlined : value.pointer.ptr, size);
  }

 private:
  const void* valid_data(std::size_t column) const {
    duckdb_vector vector = api().data_chunk_get_vector(chunk_, column);
    const std::uint64_t* validity = api().vector_get_validity(vector);
    const bool valid = validity == nullptr || (validity[row_ / 64] >> (row_ % 64)) & 1;
    return valid ? api().vector_get_data(vector) : nullptr;
  }

  duckdb_data_chunk chunk_;
  idx_t row_;
};

class Statement {
 public:
  Statement(duckdb_connection connection, const std::string& sql, const std::string& subject)
      : subject_(subject) {
    if (api().prepare(connection, sql.c_str(), &statement_) == DuckDBError) {
      const std::string reason = first_line(api().prepare_error(statement_));
      api().destroy_prepare(&statement_);
      throw Error(fmt::format("[parquet] {}: {}", subject_, reason));
    }
  }
  ~Statement() {
    api().destroy_result(&result_);
    api().destroy_prepare(&statement_);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void run(const fs::path& file, const std::function<void(const DuckDbRow&)>& visit) {
    const std::string path = file.empty() ? "" : literal_path(file);
    if (!file.empty()) api().bind_varchar_length(statement_, 1, path.data(), path.size());
    if (api().execute_prepared(statement_, &result_) == DuckDBError)
      throw Error(
          fmt::format("[parquet] {}: {}", subject_, first_line(api().result_error(&result_))));
    while (const Chunk chunk{api().fetch_chunk(result_)})
      for (idx_t row = 0; row < api().data_chunk_get_size(chunk.get()); ++row)
        visit(ChunkRow(chunk.get(), row));
  }

 private:
  struct DestroyChunk {
    void operator()(duckdb_data_chunk chunk) const { api().destroy_data_chunk(&chunk); }
  };
  using Chunk = std::unique_ptr<std::remove_pointer_t<duckdb_data_chunk>, DestroyChunk>;

  std::string subject_;
  duckdb_prepared_statement statement_ = nullptr;
  duckdb_result result_{};
};

// No downloads, no spilling to disk.
constexpr std::pair<const char*, const char*> settings[] = {
    {"autoinstall_known_extensions", "false"},
    {"autoload_known_extensions", "false"},
    {"temp_directory", ""},
};

}  // namespace

struct DuckDb::State {
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;

  State() {
    duckdb_config config = nullptr;
    api().create_config(&config);
    for (const auto& [name, value] : settings) api().set_config(config, name, value);
    char* reason = nullptr;
    const bool failed = api().open_ext(nullptr, &database, config, &reason) == DuckDBError ||
                        api().connect(database, &connection) == DuckDBError;
    api().destroy_config(&config);
    if (!failed) return;
    const std::string message = first_line(reason);
    api().free(reason);
    api().close(&database);
    throw Error(fmt::format("[parquet] DuckDB cannot start: {}", message));
  }
  ~State() {
    api().disconnect(&connection);
    api().close(&database);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

DuckDb::DuckDb() : state_(std::make_unique<State>()) {}
DuckDb::~DuckDb() = default;
DuckDb::DuckDb(DuckDb&&) noexcept = default;

void DuckDb::query(const std::string& sql, const fs::path& file, const std::string& subject,
                   const std::function<void(const DuckDbRow&)>& visit) const {
  Statement(state_->connection, sql, subject).run(file, visit);
}

std::string quoted_identifier(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace vernier
