#include "cli/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/quantize.h"
#include "vernier/analysis/record.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

// Options that name what a command writes. A baseline is written only with --update-baseline.
constexpr std::array written_by = {"output", "report", "reports", "save-inputs", "save-ranges"};
// Options that name folders in which a command keeps files of its own.
constexpr std::array kept_by = {"checkpoint", "cache"};

// A file that is written, or that is read, and the option that names it.
struct NamedFile {
  std::string option;  // "-o", "--report", "MODEL"
  fs::path path;
};

std::string shown_name(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  if (!option.get_snames().empty()) return "-" + option.get_snames().front();
  return "--" + option.get_lnames().front();
}

template <typename Names>
bool is_one_of(const CLI::Option& option, const Names& names) {
  return !option.get_lnames().empty() && std::ranges::count(names, option.get_lnames().front()) > 0;
}

bool is_given(const CLI::App& command, const std::string& name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  return option && option->count() > 0;
}

bool is_written(const CLI::App& command, const CLI::Option& option) {
  return is_one_of(option, written_by) ||
         (is_one_of(option, std::array{"baseline"}) && is_given(command, "--update-baseline"));
}

// Whether the command quantizes, and so writes the float model beside -o.
bool writes_float_model(const CLI::App& command) {
  const std::string& name = command.get_name();
  return (name == "quantize" || name == "tune" || name == "convert") &&
         !is_given(command, "--reference") &&
         (name != "convert" || command.get_option("--precision")->results().front() != "fp16");
}

std::vector<NamedFile> written_files(const CLI::App& command) {
  std::vector<NamedFile> files;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || !is_written(command, *option)) continue;
    files.push_back({shown_name(*option), option->results().front()});
    if (is_one_of(*option, std::array{"output"}) && writes_float_model(command))
      files.push_back({"the float model beside -o", float_model_path(option->results().front())});
  }
  return files;
}

// The files that a value may name: the value itself, as in model.onnx, and its parts, as in
// image=FILE, labels.npz:NAME or hf:FOLDER.
std::vector<fs::path> files_in(const std::string& value) {
  std::vector<fs::path> paths = {value};
  for (const char separator : {'=', ':'})
    if (const std::size_t at = value.find(separator); at != value.npos) {
      paths.emplace_back(value.substr(0, at));
      paths.emplace_back(value.substr(at + 1));
    }
  std::error_code error;  // what cannot be looked up is no file
  std::erase_if(paths, [&](const fs::path& path) { return !fs::exists(path, error); });
  return paths;
}

std::vector<NamedFile> read_files(const CLI::App& command) {
  std::vector<NamedFile> files;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || is_written(command, *option) || is_one_of(*option, kept_by))
      continue;
    for (const std::string& value : option->results())
      for (fs::path& path : files_in(value))
        files.push_back({shown_name(*option), std::move(path)});
  }
  return files;
}

bool is_device(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) && fs::is_other(path, error);
}

bool is_same(const fs::path& left, const fs::path& right) {
  std::error_code error;
  if (fs::equivalent(left, right, error)) return true;
  return fs::weakly_canonical(left, error) == fs::weakly_canonical(right, error);
}

// Whether `read` is a folder with a model or data in it that `written` would replace. A result that
// a command wrote there before is none.
bool is_replaced_in(const fs::path& written, const fs::path& read) {
  constexpr std::array of_models = {".onnx", ".npz", ".npy", ".pt", ".pt2", ".data"};
  std::error_code error;
  return fs::is_directory(read, error) && fs::is_regular_file(written, error) &&
         std::ranges::count(of_models, written.extension().string()) > 0 &&
         is_same(fs::absolute(written).parent_path(), read);
}

void require_folder(const NamedFile& file) {
  const fs::path folder = file.path.parent_path();
  if (!folder.empty() && !fs::is_directory(folder))
    throw Error(fmt::format("[output] {}: no folder {}; create it first", file.path.string(),
                            folder.string()));
}

// Whether -o is a folder that the command adds files to, and makes where there is none.
bool adds_to_folder(const CLI::App& command, const NamedFile& file) {
  const bool is_folder = command.get_name() == "sweep" || command.get_name() == "export";
  return file.option == "--reports" || (is_folder && file.option == "-o");
}

bool is_recording(const CLI::App& command, const NamedFile& file) {
  return file.option == "--save-inputs" || (command.get_name() == "record" && file.option == "-o");
}

}  // namespace

void require_separate_files(const CLI::App& command) {
  const std::vector<NamedFile> written = written_files(command), read = read_files(command);
  for (auto file = written.begin(); file != written.end(); ++file) {
    if (file->path.empty())
      throw Error(fmt::format("[output] {} is empty; name a file", file->option));
    if (is_device(file->path)) continue;
    const bool adds = adds_to_folder(command, *file);
    for (const NamedFile& other : adds ? std::vector<NamedFile>() : read)
      if (is_same(file->path, other.path) || is_replaced_in(file->path, other.path))
        throw Error(fmt::format("[output] {}: {} would replace what {} reads; choose another name",
                                file->path.string(), file->option, other.option));
    for (auto other = written.begin(); other != file; ++other)
      if (is_same(file->path, other->path))
        throw Error(fmt::format("[output] {}: {} and {} would both write it; choose another name",
                                file->path.string(), other->option, file->option));
    if (!adds) require_folder(*file);
    if (is_recording(command, *file)) require_recording(file->path);
  }
}

}  // namespace vernier::cli
