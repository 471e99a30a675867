#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/parts.h"
#include "vernier/analysis/parts/part_file.h"
#include "vernier/error.h"
#include "vernier/runtime/host_runner.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

struct MergeCommand {
  std::vector<std::string> parts;
  bool allow_missing = false, allow_code = false;
  OutputOptions output;
};

// The common header of the parts, and which part holds which sample.
struct Found {
  PartHeader header;
  std::map<SampleRecords::Key, std::string> owners;  // the file that holds a sample
  std::set<std::pair<std::int64_t, std::int64_t>> shards;
};

void require_complete(const std::string& file, const Part& part) {
  if (part.complete) return;
  throw Error(
      fmt::format("[merge] {}: is cut off after {} records; measure it again with --shard "
                  "{}/{}",
                  file, part.records.size(), part.header.shard.number, part.header.shard.count));
}

void add_part(const std::string& file, const Part& part, Found& found) {
  require_complete(file, part);
  if (found.owners.empty() && found.shards.empty()) found.header = part.header;
  if (const std::string other = difference(found.header, part.header); !other.empty())
    throw Error(
        fmt::format("[merge] {}: does not belong to the others: {}; leave it out", file, other));
  for (const auto& [key, record] : part.records)
    if (const auto [owner, is_new] = found.owners.emplace(key, file); !is_new)
      throw Error(
          fmt::format("[merge] {} and {} hold the same samples, {} is the first; leave one "
                      "of them out",
                      owner->second, file, key.second));
  found.shards.emplace(part.header.shard.count, part.header.shard.number);
}

// A part names the command to run, so it is checked: it must be a measuring command, may write only
// the result, and may load code only with --allow-code.
void require_harmless(const PartHeader& header, const MergeCommand& options) {
  constexpr std::array commands = {"eval", "debug", "layers"};
  const auto refuse = [&](const std::string& what) {
    throw Error(fmt::format("[merge] {}: its command {}", options.parts.front(), what));
  };
  if (std::ranges::count(commands, header.command) == 0)
    refuse(fmt::format("'{}' is none that measures parts", header.command));
  for (const std::string& argument : header.arguments) {
    if (!is_part_argument(argument)) refuse(fmt::format("has '{}', as no part does", argument));
    const std::string name = argument.substr(0, argument.find('='));
    const bool loads_code =
        name == "--onnxruntime" || name == "--python" ||
        is_host_source(argument.substr(std::min(name.size() + 1, argument.size())));
    if (loads_code && !options.allow_code)
      refuse(fmt::format("loads code, {}; pass --allow-code if the parts are yours", argument));
  }
}

// "3/16"; if the parts have different counts, "samples 10 to 19".
std::vector<std::string> missing_parts(const Found& found) {
  std::vector<std::string> missing;
  const std::int64_t count = found.shards.begin()->first;
  if (found.shards.rbegin()->first == count) {
    for (std::int64_t number = 1; number <= count; ++number)
      if (!found.shards.contains({count, number}))
        missing.push_back(fmt::format("{}/{}", number, count));
    return missing;
  }
  for (const auto& [section, samples] : found.header.samples)
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      if (found.owners.contains({section, sample})) continue;
      std::int64_t end = sample;
      while (end < samples && !found.owners.contains({section, end})) ++end;
      missing.push_back(fmt::format("samples {} to {}", sample, end - 1));
      sample = end;
    }
  return missing;
}

bool is_complete(const Found& found) {
  std::int64_t samples = 0;
  for (const auto& [section, count] : found.header.samples) samples += count;
  return std::ssize(found.owners) == samples;
}

std::string missing_text(const Found& found) {
  constexpr std::size_t shown = 10;
  std::vector<std::string> missing = missing_parts(found);
  const std::size_t all = missing.size();
  if (all > shown) missing.resize(shown);
  return fmt::format("{}{}", fmt::join(missing, ", "),
                     all > shown ? fmt::format(" and {} more", all - shown) : "");
}

// The command that measured the parts, with the parts as its records instead of runs.
std::vector<std::string> arguments_of(const PartHeader& header, const MergeCommand& options) {
  std::vector<std::string> line = {header.command};
  line.insert(line.end(), header.arguments.begin(), header.arguments.end());
  for (const std::string& part : options.parts)
    line.push_back("--from-part=" + fs::absolute(part).string());
  if (!options.output.file.empty())
    line.push_back("--output=" + fs::absolute(options.output.file).string());
  if (!options.output.format.empty()) line.push_back("--format=" + options.output.format);
  if (options.output.no_color) line.emplace_back("--no-color");
  return line;
}

// Changes to the folder in which the parts were measured: paths in the command are relative to it.
class WorkingFolder {
 public:
  explicit WorkingFolder(const fs::path& folder) : before_(fs::current_path()) {
    std::error_code error;
    fs::current_path(folder, error);  // if it does not exist, the files may be in this one
  }
  ~WorkingFolder() {
    std::error_code error;
    fs::current_path(before_, error);
  }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  fs::path before_;
};

int run_merge(const MergeCommand& options) {
  require_writable(options.output);
  Found found;
  for (const std::string& file : options.parts) add_part(file, read_part(file), found);
  require_harmless(found.header, options);
  const bool complete = is_complete(found);
  if (!complete && !options.allow_missing)
    throw Error(fmt::format(
        "[merge] missing: {}; measure what is missing with --shard, or pass --allow-missing for a "
        "result that is INCONCLUSIVE",
        missing_text(found)));
  if (!complete) print_message(fmt::format("warning: [merge] missing: {}", missing_text(found)));
  const std::vector<std::string> arguments = arguments_of(found.header, options);
  const WorkingFolder folder(found.header.folder);
  const int code = run_program(arguments);
  // With missing parts the command ends as if interrupted; the result is INCONCLUSIVE instead.
  return code == exit_interrupted && !complete ? exit_code(Verdict()) : code;
}

}  // namespace

void add_merge(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<MergeCommand>();
  auto* command = program.add_subcommand("merge", "Combine parts that were measured with --shard");
  command->add_option("PART", options->parts, "The parts, in any order")
      ->required()
      ->type_name("PART.vpart")
      ->group(main_group);
  OptionGroup(*command, main_group)
      .flag("--allow-missing", options->allow_missing,
            "Show what the parts that are there say, as INCONCLUSIVE, where others are missing");
  OptionGroup(*command, main_group)
      .flag("--allow-code", options->allow_code,
            "Load the code that the parts' command names: a Python model, or an ONNX Runtime");
  add_output_options(*command, options->output);
  command->footer("Example:\n  vernier merge part*.vpart -o result.json\n");
  command->callback([options, &exit_code] { exit_code = run_merge(*options); });
}

}  // namespace vernier::cli
