#include "vernier/analysis/zoo/zoo.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "vernier/analysis/parts/records.h"
#include "vernier/analysis/zoo/zoo_cache.h"
#include "vernier/close_names.h"
#include "vernier/data/read_file.h"
#include "vernier/error.h"
#include "vernier/exporting/process.h"
#include "vernier/metrics/parallel.h"
#include "vernier/report/html.h"
#include "vernier/report/zoo.h"
#include "vernier/tensor/atomic_file.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

struct ZooCommand {
  fs::path file, cache, reports;
  std::string shard;
  int jobs = 0;
  bool collect = false, again = false;
  OutputOptions output;
  const CLI::App* program = nullptr;
};

// Throws Error for options that the commands do not have, before hours of work.
void require_options(const CLI::App& program, const ZooEntry& entry, const std::string& command,
                     const NamedOptions& options) {
  const CLI::App* app = program.get_subcommand(command);
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options())
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  for (const auto& [name, values] : options)
    if (std::ranges::find(names, name) == names.end())
      throw Error(fmt::format("[zoo] {}: {}", row_name(entry),
                              unknown_name(command, "option", name, names).what()));
}

// Gives each job one thread: many jobs run at once, and results must not depend on their number.
void add_threads(const CLI::App& program, ZooEntry& entry) {
  const auto add = [&](const std::string& command, NamedOptions& options) {
    if (program.get_subcommand(command)->get_option_no_throw("--threads"))
      options.try_emplace("threads", std::vector<std::string>{"1"});
  };
  add(entry.command, entry.options);
  if (entry.candidate.empty()) add("convert", entry.convert);
}

// A row that is being measured, by one process after the other.
struct Job {
  std::size_t row = 0;
  std::deque<std::vector<std::string>> lines;  // command lines that remain
  bool makes_model = false;                    // whether the running process converts a model
  pid_t process = -1;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> errors{nullptr, std::fclose};
};

// The path of this program, which stays valid if the working folder changes.
std::string own_program() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? "vernier" : program.string();
}

void start(Job& job, const std::string& program) {
  std::vector<std::string> line = std::move(job.lines.front());
  job.lines.pop_front();
  job.makes_model = line.front() == "convert";
  line.insert(line.begin(), program);
  const std::vector<char*> arguments = exec_arguments(line);
  job.errors.reset(std::tmpfile());
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  const int errors = job.errors ? fileno(job.errors.get()) : nothing;
  const pid_t parent = getpid();
  job.process = fork();
  if (job.process < 0) throw Error("[zoo] no process can be started; use fewer --jobs");
  if (job.process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(exit_error);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    execv(program.c_str(), arguments.data());
    _exit(exit_error);
  }
  close(nothing);
}

// Why a process failed: the last line that it wrote to stderr, without the program's name.
std::string reason_in(std::FILE* errors) {
  if (!errors || std::fseek(errors, 0, SEEK_SET) != 0) return "";
  std::string text;
  for (int character; (character = std::fgetc(errors)) != EOF;)
    text += static_cast<char>(character);
  text = last_line(std::move(text));
  constexpr std::string_view name = "vernier: ";
  return text.starts_with(name) ? text.substr(name.size()) : text;
}

class ZooRun {
 public:
  ZooRun(const ZooCommand& options, const Zoo& zoo)
      : options_(options), cache_(options.cache), planner_(options.cache), program_(own_program()) {
    for (const ZooEntry& entry : zoo.entries) {
      rows_.push_back({.entry = entry});
      add_threads(*options.program, rows_.back().entry);
    }
    plans_.resize(rows_.size());
  }

  ZooResult run() {
    ProgressBar bar("measuring");
    std::vector<std::size_t> own = own_rows();
    for (std::size_t i = 0; i < own.size() && !interrupted_; ++i) {
      interrupted_ = !bar(static_cast<std::int64_t>(i), std::ssize(own));
      look_up(own[i]);
    }
    const std::int64_t total = std::ssize(waiting_);
    while (!interrupted_ && !(waiting_.empty() && running_.empty())) {
      while (!waiting_.empty() && std::ssize(running_) < thread_count(options_.jobs)) begin_next();
      interrupted_ |= !bar(total - std::ssize(waiting_) - std::ssize(running_), total);
      if (!collect_ended()) std::this_thread::sleep_for(20ms);
    }
    stop_running();
    return judge_rows(std::move(rows_), interrupted_);
  }

  // Stores the results of a complete run, which the next run is compared with.
  void write_last(const ZooResult& result) const { cache_.write_last(result.rows, plans_); }

  // The row's JSON result; empty if there is none.
  std::string result_of(std::size_t row) const {
    const auto stored = cache_.find(plans_[row].key);
    return stored ? stored->result : "";
  }

 private:
  std::vector<std::size_t> own_rows() const {
    const Shard shard = options_.shard.empty() ? Shard() : parse_shard(options_.shard);
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < rows_.size(); ++i)  // a model's precisions go to different shards
      if (static_cast<std::int64_t>(i) % shard.count == shard.number - 1) own.push_back(i);
    return own;
  }

  // Takes a row from the cache, or queues it.
  void look_up(std::size_t index) {
    ZooRow& row = rows_[index];
    try {
      plans_[index] = planner_.plan(row.entry);
    } catch (const Error& error) {
      return fail(index, error.what());
    }
    cache_.compare_with_last(plans_[index].facts, row);
    const auto stored = cache_.find(plans_[index].key);
    const bool is_asked_again = options_.again || !plans_[index].known;
    if (stored && !stored->error.empty() && options_.collect) return fail(index, stored->error);
    if (stored && stored->error.empty() && (options_.collect || !is_asked_again)) {
      set_result(row, stored->result);
      row.state = ZooState::cached;
    } else if (!options_.collect) {
      waiting_.push_back(index);
    }
  }

  void begin_next() {
    const std::size_t index = waiting_.front();
    waiting_.pop_front();
    const ZooPlan& plan = plans_[index];
    auto lines = command_lines(rows_[index].entry, plan, cache_.work_file(plan.key));
    if (lines.size() > 1) cache_.begin_model(plan);
    Job job{.row = index, .lines = {lines.begin(), lines.end()}};
    start(job, program_);
    running_.push_back(std::move(job));
  }

  // Handles the first process that has ended; returns whether a row is done.
  bool collect_ended() {
    for (Job& job : running_) {
      int status = 0;
      if (waitpid(job.process, &status, WNOHANG) != job.process) continue;
      job.process = -1;
      if (ended(job, WIFEXITED(status) ? WEXITSTATUS(status) : exit_error)) {
        std::erase_if(running_, [](const Job& each) { return each.process < 0; });
        return true;
      }
    }
    return false;
  }

  // Handles the end of a process; returns whether its row is done.
  bool ended(Job& job, int code) {
    if (code > 128) return interrupted_ = true;  // the next run measures this row
    if (!is_exit_code(code)) {
      const std::string error = reason_in(job.errors.get());
      fail(job.row, error.empty() ? fmt::format("ended with exit code {}", code) : error);
      return true;
    }
    try {
      if (job.makes_model) cache_.adopt_model(rows_[job.row].entry, plans_[job.row]);
      if (!job.lines.empty()) return start(job, program_), false;
      finish(job.row);
    } catch (const std::exception& error) {
      fail(job.row, error.what());
    }
    return true;
  }

  void finish(std::size_t index) {
    const std::string& key = plans_[index].key;
    const fs::path file = cache_.work_file(key);
    const std::string result(as_text(read_file(file, "zoo")));
    fs::remove(file);
    set_result(rows_[index], result);
    rows_[index].state = ZooState::measured;
    cache_.keep(key, {.result = result, .error = ""});
    tell(rows_[index]);
  }

  void fail(std::size_t index, const std::string& error) {
    rows_[index].state = ZooState::failed;
    rows_[index].error = error;
    if (!plans_[index].key.empty() && !options_.collect)
      cache_.keep(plans_[index].key, {.result = "", .error = error});
    tell(rows_[index]);
  }

  void tell(const ZooRow& row) const {
    print_message(fmt::format("[zoo] {}: {}{}", row_name(row.entry), verdict_word(row),
                              row.error.empty() ? "" : " " + row.error));
  }

  // Ends the running jobs; their rows are measured by the next run.
  void stop_running() {
    for (const Job& job : running_) kill(job.process, SIGTERM);
    for (const Job& job : running_) {
      int status = 0;
      const auto end = std::chrono::steady_clock::now() + 500ms;
      while (waitpid(job.process, &status, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > end) kill(job.process, SIGKILL);
        std::this_thread::sleep_for(10ms);
      }
      std::error_code ignored;
      fs::remove(cache_.work_file(plans_[job.row].key), ignored);
    }
  }

  const ZooCommand& options_;
  ZooCache cache_;
  ZooPlanner planner_;
  std::string program_;
  std::vector<ZooRow> rows_;
  std::vector<ZooPlan> plans_;
  std::deque<std::size_t> waiting_;
  std::vector<Job> running_;
  bool interrupted_ = false;
};

// The HTML page: the table, and the results of rows that do not pass.
std::string page_of(const Document& document, const std::string& json, const ZooResult& result,
                    const ZooRun& running) {
  constexpr std::size_t most_results = 40;
  std::vector<HtmlResult> results = {{.json = json, .document = &document}};
  for (std::size_t i = 0; i < result.rows.size() && results.size() <= most_results; ++i)
    if (result.rows[i].outcome && result.rows[i].outcome != Outcome::pass)
      results.push_back({.json = running.result_of(i)});
  return render_html(results);
}

void write_reports(const fs::path& folder, const ZooResult& result, const ZooRun& running) {
  fs::create_directories(folder);
  for (std::size_t i = 0; i < result.rows.size(); ++i)
    if (!result.rows[i].verdict.empty())
      write_file_atomically(folder / (row_file_name(result.rows[i].entry) + ".json"),
                            running.result_of(i));
}

void write(const ZooCommand& options, const RunDescription& run, const ZooResult& result,
           const ZooRun& running) {
  if (!options.reports.empty()) write_reports(options.reports, result, running);
  const Document document = describe_zoo(run, result);
  if (output_format(options.output) == "html")
    write_text(options.output, page_of(document, zoo_json(run, result), result, running));
  else
    write_result(options.output, document, [&] { return zoo_json(run, result); });
}

RunDescription describe(const ZooCommand& options, const ZooResult& result) {
  const auto count = [&](ZooState state) {
    return std::ranges::count_if(result.rows,
                                 [&](const ZooRow& row) { return row.state == state; });
  };
  RunDescription run{.command = "zoo", .runtimes = {.onnxruntime = true}};
  run.settings = {{"zoo", options.file.filename().string()},
                  {"rows", std::ssize(result.rows)},
                  {"measured", count(ZooState::measured)},
                  {"cached", count(ZooState::cached)}};
  return run;
}

int run_zoo(ZooCommand& options) {
  if (options.collect && (options.again || !options.shard.empty()))
    throw Error("[zoo] --collect measures nothing; leave out --again and --shard");
  if (!options.shard.empty()) parse_shard(options.shard);
  require_writable(options.output);
  const Zoo zoo = read_zoo(options.file);
  for (const ZooEntry& entry : zoo.entries) {
    require_options(*options.program, entry, entry.command, entry.options);
    require_options(*options.program, entry, "convert", entry.convert);
  }
  if (options.cache.empty()) options.cache = fs::path(options.file).replace_extension(".cache");
  options.cache = fs::absolute(options.cache);
  if (!options.reports.empty()) options.reports = fs::absolute(options.reports);
  if (!options.output.file.empty()) options.output.file = fs::absolute(options.output.file);
  fs::current_path(zoo.folder);
  ZooRun running(options, zoo);
  const ZooResult result = running.run();
  // A shard judges nothing; the --collect run does.
  if (!options.shard.empty()) return result.interrupted ? exit_interrupted : exit_pass;
  const bool complete = std::ranges::none_of(
      result.rows, [](const ZooRow& row) { return row.state == ZooState::missing; });
  if (complete) running.write_last(result);
  write(options, describe(options, result), result, running);
  return result.interrupted ? exit_interrupted : vernier::exit_code(result);
}

}  // namespace

void add_zoo(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<ZooCommand>();
  options->program = &program;
  auto* command = program.add_subcommand("zoo", "Measure many models, and show what changed");
  OptionGroup main(*command, main_group);
  main.add("ZOO", options->file, "The models and what is asked of them: docs/scale.md", "ZOO.json")
      ->required();
  main.add(
      "--cache", options->cache,
      "Where results are kept by content: what has not changed is not measured again (default: "
      "ZOO.cache beside the file)",
      "FOLDER");
  main.add("--jobs", options->jobs, "Rows that are measured at once; 0: as many as cores", "N")
      ->check(at_least(0));
  main.flag("--again", options->again, "Measure every row, whatever is kept");
  main.add("--shard", options->shard,
           "Measure this part of the rows alone, as 3/16, for --collect with the same cache",
           "N/COUNT");
  main.flag("--collect", options->collect,
            "Measure nothing: make the table of what --shard runs have measured");
  main.add("--reports", options->reports, "Write each row's own result here as JSON", "FOLDER");
  add_output_options(*command, options->output);
  command->footer("Example:\n  vernier zoo zoo.json -o zoo.html\n");
  command->callback([options, &exit_code] { exit_code = run_zoo(*options); });
}

}  // namespace vernier::cli
