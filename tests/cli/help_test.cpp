#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/cli/run.h"
#include "tests/data/small_images.h"
#include "tests/fixture.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_program;
using testing::run_vernier;

const std::vector<std::vector<std::string>> commands = {
    {"diagnose"},     {"eval"},           {"debug"},         {"layers"},        {"check"},
    {"diff"},         {"inspect"},        {"record"},        {"report"},        {"merge"},
    {"quantize"},     {"tune"},           {"repair"},        {"sweep"},         {"zoo"},
    {"convert"},      {"export"},         {"providers"},     {"completion"},    {"score"},
    {"score", "knn"}, {"score", "top-k"}, {"score", "miou"}, {"score", "bleu"}, {}};

std::string help(std::vector<std::string> command, const std::string& flag = "--help") {
  command.push_back(flag);
  const CompletedProcess outcome = run_vernier(command);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return outcome.out;
}

TEST(Help, of_every_command_fits_a_screen) {
  for (const auto& command : commands) {
    const std::string text = help(command);
    EXPECT_LE(std::ranges::count(text, '\n'), 40) << text;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100) << line;
  }
}

TEST(Help, of_every_command_fits_a_terminal_of_80_columns) {
  for (const auto& command : commands) {
    std::vector<std::string> line = {"env", "COLUMNS=80", VERNIER_BINARY};
    line.insert(line.end(), command.begin(), command.end());
    line.emplace_back("--help");
    const std::string text = run_program(line).out;
    EXPECT_LE(std::ranges::count(text, '\n'), 40) << text;
  }
}

TEST(Help, of_every_command_ends_with_an_example) {
  for (const auto& command : commands)
    if (command != std::vector<std::string>{"score"}) {
      EXPECT_THAT(help(command), HasSubstr("\nExample:\n  ")) << help(command);
    }
}

TEST(Help, all_of_it_shows_what_the_short_one_leaves_out) {
  EXPECT_THAT(help({"eval"}), Not(HasSubstr("--ep-option")));
  EXPECT_THAT(help({"eval"}), HasSubstr("More options with --help-all: "));
  const std::string all = help({"eval"}, "--help-all");
  for (const char* option : {"--ep-option", "--seed", "--mean", "--bank-split", "--reference "})
    EXPECT_THAT(all, HasSubstr(option));
  EXPECT_THAT(all, HasSubstr("also --candidate"));
}

TEST(Help, a_mistyped_name_gets_the_nearest) {
  expect_error(run_vernier({"layer"}), "unknown command 'layer'; did you mean layers?");
  expect_error(run_vernier({"eval", "m.onnx", "--refrence", "r.onnx"}),
               "unknown option --refrence; did you mean --reference?");
  expect_error(run_vernier({"eval", "m.onnx", "--refrence=r.onnx"}),
               "unknown option --refrence; did you mean --reference?; see 'vernier eval --help'");
  expect_error(run_vernier({"score", "kn"}), "unknown command 'kn'; did you mean knn?");
  expect_error(run_vernier({"inspect", "m.onnx", "more"}), "unexpected argument 'more'");
  expect_error(run_vernier({"transmogrify"}), "unknown command 'transmogrify'; see");
}

TEST(Terminal, no_line_of_a_report_is_wider_than_the_terminal) {
  const std::vector<std::vector<std::string>> reports = {
      {"debug", mnist + "mnist_vit.int8.onnx", "--reference", mnist + "mnist_vit.float.onnx",
       "--samples", "1"},
      {"eval", mnist + "mnist_vit.int8.onnx", "--reference", mnist + "mnist_vit.float.onnx",
       "--input-data", mnist + "mnist_inputs.npz", "--samples", "2", "--stages"},
      {"diff", mnist + "mnist_inputs.npz", mnist + "mnist_labelled.npz"},
      {"inspect", mnist + "mnist_vit.int8.onnx", "--tensors"},
      {"check", mnist + "mnist_vit.onnx"}};
  for (const auto& report : reports) {
    std::vector<std::string> command = {"env", "COLUMNS=72", VERNIER_BINARY};
    command.insert(command.end(), report.begin(), report.end());
    const CompletedProcess outcome = run_program(command);
    EXPECT_LT(outcome.exit_code, 2) << outcome.err;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      const bool is_code = line.starts_with("  vernier ") || line.starts_with("  --keep");
      const auto columns = std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; });
      if (!is_code) {
        EXPECT_LE(columns, 72) << line;
      }
    }
  }
}

// What bash offers after the words, the last of which is being typed.
std::string bash_completions(const std::vector<std::string>& words) {
  std::string script =
      "eval \"$(\"$0\" completion bash)\"; COMP_WORDS=(vernier \"$@\"); "
      "COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )); _vernier; echo \"${COMPREPLY[*]}\"";
  std::vector<std::string> command = {"bash", "-c", script, VERNIER_BINARY};
  command.insert(command.end(), words.begin(), words.end());
  const CompletedProcess outcome = run_program(command);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

TEST(Completion, bash_completes_commands_options_and_values) {
  EXPECT_EQ(bash_completions({"ev"}), "eval\n");
  EXPECT_THAT(bash_completions({""}), HasSubstr("debug"));
  EXPECT_EQ(bash_completions({"score", "k"}), "knn\n");
  EXPECT_EQ(bash_completions({"eval", "--refe"}),
            "--reference --reference-ep --reference-optimize --reference-model\n");
  EXPECT_EQ(bash_completions({"eval", "m.onnx", "--mode", "t"}), "task\n");
  EXPECT_EQ(bash_completions({"score", "bleu", "--smooth", "fl"}), "floor\n");
  EXPECT_EQ(bash_completions({"completion", "z"}), "zsh\n");
  EXPECT_EQ(bash_completions({"eval", "m"}), "\n");  // bash goes on with files
}

// Whether the shell, where there is one, accepts the script.
void expect_accepted(const std::string& shell) {
  const CompletedProcess script = run_vernier({"completion", shell});
  ASSERT_EQ(script.exit_code, 0) << script.err;
  EXPECT_THAT(script.out, HasSubstr("reference"));
  if (run_program({"which", shell}).exit_code != 0) GTEST_SKIP() << "there is no " << shell;
  const TemporaryDirectory folder;
  write_text(folder / "script", script.out);
  const CompletedProcess outcome = run_program({shell, "-n", folder / "script"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST(Completion, zsh_accepts_its_script) { expect_accepted("zsh"); }
TEST(Completion, fish_accepts_its_script) { expect_accepted("fish"); }

TEST(Completion, fish_completes_commands_options_and_values) {
  if (run_program({"which", "fish"}).exit_code != 0) GTEST_SKIP() << "there is no fish";
  const auto offered = [](const std::string& line) {
    return run_program({"fish", "--no-config", "-c",
                        "$argv[1] completion fish | source; complete -C $argv[2]", VERNIER_BINARY,
                        line})
        .out;
  };
  EXPECT_THAT(offered("vernier ev"), HasSubstr("eval\t"));
  EXPECT_THAT(offered("vernier eval --refe"), HasSubstr("--reference\t"));
  EXPECT_THAT(offered("vernier eval --mode t"), HasSubstr("task"));
  // A flag takes no value: what follows is another argument.
  EXPECT_THAT(offered("vernier eval --exact --refe"), HasSubstr("--reference\t"));
}

TEST(Completion, flags_take_no_value) {
  const std::string zsh = run_vernier({"completion", "zsh"}).out;
  const std::size_t flag = zsh.find("'*--exact'");
  ASSERT_NE(flag, std::string::npos);
  EXPECT_THAT(zsh.substr(flag, zsh.find('\n', flag) - flag), Not(HasSubstr(":value:")));
}

TEST(Completion, another_shell_is_an_error) {
  expect_error(run_vernier({"completion", "csh"}), "expected one of bash, zsh, fish; found 'csh'");
}

}  // namespace
}  // namespace vernier
