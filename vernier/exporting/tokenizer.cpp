#include "vernier/exporting/tokenizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "vernier/error.h"
#include "vernier/exporting/process.h"
#include "vernier/exporting/python.h"
#include "vernier/json.h"
#include "vernier/tensor/temporary_folder.h"

namespace vernier {

namespace fs = std::filesystem;

Tokenizer::Tokenizer(const fs::path& path, const std::string& python)
    : path_(fs::is_directory(path) ? path / "tokenizer.json" : path) {
  if (!fs::is_regular_file(path_))
    throw Error(fmt::format("[text] --tokenizer {}: no such file or folder; give a tokenizer.json",
                            path_.string()));
  python_ = find_python_with("tokenizers", "[text]", python);
}

std::string Tokenizer::run(std::vector<std::string> arguments, const std::string& subject) const {
  const fs::path script = python_packages("[text]") / "vernier_host" / "text.py";
  std::vector<std::string> command = {python_, "-B", script.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ProcessResult result = run_process(command);
  if (result.exit_code != 0)
    throw Error(fmt::format("[text] {}: {} could not be tokenised by {} (its message is above)",
                            path_.string(), subject, python_));
  return std::move(result.out);
}

std::vector<std::int64_t> Tokenizer::encode(const fs::path& text) const {
  if (!fs::is_regular_file(text))
    throw Error(fmt::format("[text] --text {}: no such file or folder", text.string()));
  std::istringstream numbers(run({"encode", path_.string(), text.string()}, text.string()));
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 0; numbers >> id;) ids.push_back(id);
  return ids;
}

EncodedTexts Tokenizer::encode(std::span<const TextToEncode> texts, std::int64_t most) const {
  nlohmann::json request = {{"most", most}, {"texts", nlohmann::json::array()}};
  for (const TextToEncode& each : texts)
    request["texts"].push_back({{"text", each.text}, {"pair", each.pair}, {"words", each.words}});
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "texts.json";
  std::ofstream(file) << json_line(request);
  const auto answer =
      parse_json<nlohmann::json>(run({"texts", path_.string(), file.string()}, "a table of texts"));
  EncodedTexts encoded;
  if (!answer["mask"].is_null()) encoded.mask = answer["mask"].get<std::int64_t>();
  for (const auto& each : answer["texts"])
    encoded.texts.push_back({.ids = each["ids"],
                             .kinds = each["kinds"],
                             .added = each["added"],
                             .text = each["text"],
                             .word = each["word"],
                             .begin = each["begin"],
                             .end = each["end"]});
  return encoded;
}

std::vector<std::string> Tokenizer::decode(std::span<const std::vector<std::int64_t>> lists) const {
  if (lists.empty()) return {};
  std::vector<std::string> arguments = {"decode", path_.string()};
  for (const auto& ids : lists) arguments.push_back(fmt::format("{}", fmt::join(ids, ",")));
  return parse_json<nlohmann::json>(run(std::move(arguments), "a list of ids"))
      .get<std::vector<std::string>>();
}

}  // namespace vernier
