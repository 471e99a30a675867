#include "tests/cli/run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/oracle/numpy.h"
#include "tests/temporary_directory.h"

namespace vernier::testing {
namespace {

[[noreturn]] void exec_child(const std::vector<std::string>& command, const std::string& folder,
                             const std::string& out, const std::string& err) {
  const auto redirect = [](const char* path, int flags, int target) {
    const int file = open(path, flags, 0600);
    if (file < 0 || dup2(file, target) < 0) _exit(127);
  };
  redirect("/dev/null", O_RDONLY, 0);
  redirect(out.c_str(), O_WRONLY | O_CREAT, 1);
  redirect(err.c_str(), O_WRONLY | O_CREAT, 2);
  if (!folder.empty() && chdir(folder.c_str()) != 0) _exit(127);
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

bool can_export() {
  const std::string script =
      "IFS=:; for d in $PATH; do \"$d/python3\" -c 'import importlib.util as u, sys; "
      "sys.exit(u.find_spec(\"torch\") is None)' 2>/dev/null && exit 0; done; exit 1";
  return run_program({"sh", "-c", script}).exit_code == 0;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

CompletedProcess run_program(const std::vector<std::string>& command, const std::string& folder) {
  const TemporaryDirectory streams;
  const std::string out = streams / "out", err = streams / "err";
  const pid_t child = fork();
  if (child == 0) exec_child(command, folder, out, err);
  int status = 0;
  waitpid(child, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, read_text(out), read_text(err)};
}

CompletedProcess run_vernier(const std::vector<std::string>& arguments, const std::string& folder) {
  std::vector<std::string> command = {VERNIER_BINARY};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_program(command, folder);
}

CompletedProcess run_in_terminal(const std::vector<std::string>& arguments, int columns) {
  winsize size{.ws_row = 50, .ws_col = static_cast<unsigned short>(columns)};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    std::vector<char*> command = {const_cast<char*>(VERNIER_BINARY)};
    for (const std::string& argument : arguments)
      command.push_back(const_cast<char*>(argument.c_str()));
    command.push_back(nullptr);
    execv(command[0], command.data());
    _exit(127);
  }
  std::string shown;
  char buffer[4096];
  for (ssize_t count; (count = read(terminal, buffer, sizeof(buffer))) > 0;)
    shown.append(buffer, static_cast<std::size_t>(count));
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), shown, ""};
}

void expect_golden(const std::string& name, const std::string& text) {
  static const std::regex version(
      R"re(("(?:vernier|onnxruntime|onnxruntime_library|libtorch)": )"[^"]*")re");
  const std::string actual = std::regex_replace(text, version, "$1\"VERSION\"");
  const std::string path = std::string(VERNIER_GOLDEN) + "/" + name;
  if (std::getenv("VERNIER_UPDATE_GOLDEN")) std::ofstream(path, std::ios::binary) << actual;
  EXPECT_EQ(actual, read_text(path))
      << "differs from " << path << "; if the change is meant, run with VERNIER_UPDATE_GOLDEN=1";
}

namespace {

void expect_keeps_schema(const std::string& schema, const std::string& text) {
  const auto python = oracle::python_with("jsonschema");
  ASSERT_TRUE(python) << "no Python has jsonschema: run scripts/setup.sh";
  const TemporaryDirectory folder;
  const std::string result = folder / "result.json";
  std::ofstream(result, std::ios::binary) << text;
  const CompletedProcess outcome =
      run_program({*python, VERNIER_ORACLES "/validate_schema.py", schema, result});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

}  // namespace

void expect_valid_json(const std::string& schema, const std::string& text) {
  expect_keeps_schema(VERNIER_SCHEMAS "/" + schema + ".schema.json", text);
}

void expect_valid_sarif(const std::string& text) {
  expect_keeps_schema(VERNIER_ORACLES "/sarif.schema.json", text);
}

void expect_error(const CompletedProcess& outcome, const std::string& part) {
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
}

}  // namespace vernier::testing
