#include "cli/parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "cli/help.h"
#include "cli/options.h"
#include "cli/program.h"
#include "vernier/analysis/parts/content_hash.h"
#include "vernier/analysis/parts/cpu.h"
#include "vernier/error.h"
#include "vernier/version.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

// Options that change no number of a result, and options about parts.
constexpr std::array irrelevant = {
    "--shard",        "--checkpoint",  "--from-part",    "--output",
    "--format",       "--no-color",    "--detail",       "--timings",
    "--verbose",      "--timeout",     "--memory-limit", "--inflate-limit",
    "--host-timeout", "--save-inputs", "--report",       "--save-ranges"};

std::string name_of(const CLI::Option& option) {
  const std::vector<std::string> names = option_names(option);
  return names.empty() ? "" : names.back();
}

bool is_relevant(const CLI::Option& option) {
  const std::string name = name_of(option);
  return option.count() > 0 && !name.empty() && std::ranges::count(irrelevant, name) == 0;
}

// The given options that affect results, as arguments.
std::vector<std::string> arguments_of(const CLI::App& command) {
  std::vector<std::string> arguments;
  for (const CLI::Option* option : command.get_options()) {
    if (!is_relevant(*option)) continue;
    for (const std::string& value : option->results())
      arguments.push_back(fmt::format("{}={}", name_of(*option), value));
  }
  return arguments;
}

// Hashes of the contents of files that options name.
std::vector<std::pair<std::string, std::string>> file_facts(const CLI::App& command,
                                                            const Measured& measured) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const CLI::Option* option : command.get_options()) {
    if (!is_relevant(*option)) continue;
    std::string hashes;
    std::error_code error;
    for (const std::string& value : option->results())
      if (value != measured.candidate && value != measured.reference && fs::exists(value, error))
        hashes += data_hash(value);
    if (!hashes.empty()) facts.emplace_back("content of " + name_of(*option), hashes);
  }
  return facts;
}

std::string hash_of(const std::vector<Tensor>& sample) {
  std::string parts;
  for (const Tensor& input : sample)
    parts += fmt::format("{} {} {}\n", input.name, format_shape(input.shape),
                         content_hash(input.bytes).text());
  return content_hash(parts).text();
}

PartHeader header_of(const CLI::App& command, const Measured& measured) {
  PartHeader header{.command = command.get_name(),
                    .arguments = arguments_of(command),
                    .folder = fs::current_path().string(),
                    .facts = {},
                    .samples = measured.sections,
                    .shard = {}};
  const auto add = [&](const char* name, std::string value) {
    if (!value.empty()) header.facts.emplace_back(name, std::move(value));
  };
  if (!measured.candidate.empty())
    add("candidate", model_hash(measured.candidate, measured.candidate_model));
  if (!measured.reference.empty())
    add("reference", model_hash(measured.reference, measured.reference_model));
  add("inputs", measured.inputs);
  if (measured.samples && measured.samples->size() > 0)
    add("first sample", hash_of(measured.samples->sample(0)));
  add("options", fmt::format("{}", fmt::join(header.arguments, "\n")));
  std::ranges::move(file_facts(command, measured), std::back_inserter(header.facts));
  add("version of vernier", version());
  add("version of ONNX Runtime", std::string(onnxruntime_version()));
  add("kind of CPU", cpu_kind());
  return header;
}

void require_part_file(const std::string& file) {
  if (!file.ends_with(part_ending))
    throw Error(
        fmt::format("[shard] -o {}: a part is not a result; write it to a file that ends in "
                    "{} and combine parts with vernier merge",
                    file.empty() ? "is missing" : file, part_ending));
}

}  // namespace

void add_part_options(CLI::App& command, PartOptions& options) {
  OptionGroup(command, "Parts")
      .add("--shard", options.shard,
           "Measure this part of the samples alone, as 3/16, and write it to -o PART.vpart, for "
           "vernier merge",
           "N/COUNT");
  add_checkpoint_option(command, options);
  command.add_option("--from-part", options.parts)->allow_extra_args(false)->group("");
}

void add_checkpoint_option(CLI::App& command, PartOptions& options) {
  options.command = &command;
  OptionGroup(command, "Parts")
      .add("--checkpoint", options.checkpoint,
           "Keep what is measured of each sample here: the same command resumes from it", "FOLDER");
}

bool is_part_argument(const std::string& argument) {
  return argument.starts_with("--") &&
         std::ranges::count(irrelevant, argument.substr(0, argument.find('='))) == 0;
}

void refuse_parts(const PartOptions& options) {
  if (options.shard.empty() && options.checkpoint.empty()) return;
  throw Error(fmt::format("[{}] --shard and --checkpoint are not supported here; leave them out",
                          options.command->get_name()));
}

MeasuredParts::MeasuredParts(const PartOptions& options, const OutputOptions& output,
                             const Measured& measured)
    : output_(output) {
  if (options.shard.empty() && options.checkpoint.empty() && options.parts.empty()) return;
  const bool is_part = !options.shard.empty();
  if (is_part) require_part_file(output.file);
  header_ = header_of(*options.command, measured);
  if (!options.parts.empty()) {
    records_.emplace(SampleRecords::Runs::nothing);
    read_parts(options.parts);
    return;
  }
  if (is_part) header_.shard = parse_shard(options.shard);
  records_.emplace(is_part ? SampleRecords::Runs::shard : SampleRecords::Runs::all, header_.shard);
  if (!options.checkpoint.empty()) {
    journal_.emplace(options.checkpoint, header_, *records_);
    if (journal_->found() > 0)
      print_message(fmt::format("[checkpoint] goes on from {}, which has {} records",
                                journal_->path().string(), journal_->found()));
  }
}

void MeasuredParts::read_parts(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const Part part = read_part(file);
    if (const std::string other = difference(header_, part.header); !other.empty())
      throw Error(fmt::format(
          "[merge] {}: was measured on something else than is here now: {}; measure it again", file,
          other));
    for (const auto& [key, record] : part.records) records_->add(key, record, part.file);
  }
}

int MeasuredParts::write() const {
  for (const auto& [section, samples] : header_.samples)
    if (!records_->has_own(section, samples)) {
      print_message(fmt::format("[shard] {}/{}: interrupted, nothing was written",
                                header_.shard.number, header_.shard.count));
      return exit_interrupted;
    }
  write_part(output_.file, header_, *records_);
  return exit_pass;
}

}  // namespace vernier::cli
