#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "cli/options.h"
#include "cli/output.h"
#include "vernier/close_names.h"
#include "vernier/report/terminal.h"

namespace vernier::cli {
namespace {

constexpr int name_column = 27;

// "vernier score knn"
std::string full_name(const CLI::App& command) {
  return command.get_parent() ? full_name(*command.get_parent()) + " " + command.get_name()
                              : command.get_name();
}

// A name on the left and its description to the right, or below it if the name is long.
std::string entry(const std::string& name, const std::string& description, int width) {
  std::string out = "  " + name;
  const std::string margin(name_column, ' ');
  bool first = static_cast<int>(out.size()) < name_column;
  if (first) out.resize(name_column, ' ');
  for (const std::string& line : wrap_text(description, width - name_column)) {
    if (!first) out.append("\n").append(margin);
    out += line;
    first = false;
  }
  return out + "\n";
}

// The value's name. CLI11 appends the names of validators, which are removed: "MODEL:FILE".
std::string placeholder(const CLI::Option& option) {
  std::string name = option.get_type_name();
  if (constexpr std::string_view check = ":FILE"; name.ends_with(check))
    name.resize(name.size() - check.size());
  return name;
}

std::string option_entry(const CLI::Option& option, bool all, int width) {
  std::vector<std::string> names = option_names(option);
  const std::vector<std::string> choices = option_choices(option);
  std::string name = fmt::format("{}", fmt::join(names, ", "));
  if (names.empty()) name = option.get_name(true);
  if (names.size() == 1 && names[0].starts_with("--")) name = "    " + name;
  std::string description = option.get_description();
  if (!choices.empty()) {
    name += " NAME";
    const bool explained = std::ranges::all_of(choices, [&](const std::string& choice) {
      return description.find(choice) != description.npos;
    });
    if (!explained) description += fmt::format(": {}", fmt::join(choices, ", "));
  } else if (!names.empty() && !is_flag(option)) {
    name += " " + placeholder(option);
  }
  if (!option.get_default_str().empty())
    description += fmt::format(" (default: {})", option.get_default_str());
  const auto& long_names = option.get_lnames();
  if (all && long_names.size() > 1)
    description +=
        fmt::format(" (also --{})", fmt::join(long_names.begin() + 1, long_names.end(), ", --"));
  return entry(name, description, width);
}

std::string usage(const CLI::App& app) {
  std::string text = "Usage: " + full_name(app);
  if (!subcommands(app).empty()) return text + " COMMAND [options]\n";
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional())
      text += " " + (option->get_required() ? option->get_name(true)
                                            : "[" + option->get_name(true) + "]");
  for (const CLI::Option* option : app.get_options())
    if (option->get_required() && !option->get_positional())
      text += fmt::format(" {} {}", option_names(*option).front(),
                          option_choices(*option).empty() ? placeholder(*option) : "NAME");
  return text + " [options]\n";
}

std::string command_list(const CLI::App& app, int width) {
  std::string out = "\nCommands:\n";
  for (const CLI::App* command : subcommands(app))
    out += entry(command->get_name(), command->get_description(), width);
  return out;
}

std::vector<std::string> all_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& names) {
  const std::vector<std::string> close = close_names(name, names);
  return close.empty() ? "" : fmt::format("; did you mean {}?", close.front());
}

// The option that CLI11's message is about: the one whose name it begins with.
const CLI::Option* option_of(const CLI::App& command, const std::string& message) {
  for (const CLI::Option* option : command.get_options())
    if (message.starts_with(option->get_name() + ":") ||
        message.starts_with(option->get_name() + " ") ||
        message.starts_with("Could not convert: " + option->get_name() + " "))
      return option;
  return nullptr;
}

// "expected one of text, json; found 'JSON'; did you mean json?"
std::string no_choice(const std::string& found, const std::vector<std::string>& choices) {
  return fmt::format("expected one of {}; found '{}'{}", fmt::join(choices, ", "), found,
                     did_you_mean(found, choices));
}

// CLI11's message about a command line, in the words of this program.
std::string explained(const CLI::App& command, const CLI::ParseError& error) {
  const std::string message = error.what();
  if (message == "A subcommand is required")
    return fmt::format("a command is required, as in '{} {}'", full_name(command),
                       subcommands(command).front()->get_name());
  const CLI::Option* option = option_of(command, message);
  if (!option) return message;
  const std::string name = option->get_name();
  const auto& found = option->results();
  if (message.find("At Most") != message.npos)
    return found.size() == 2 && option->get_items_expected_max() == 1
               ? name + " is given twice"
               : fmt::format("{} is given {} times", name, found.size());
  if (message.ends_with(" missing")) return name + " needs a value";
  const std::vector<std::string> choices = option_choices(*option);
  if (!choices.empty() && message.find(" not in {") != message.npos)
    for (const std::string& value : found)
      if (std::ranges::count(choices, value) == 0)
        return fmt::format("{}: {}", name, no_choice(value, choices));
  if (const auto excluded = message.find(" excludes "); excluded != message.npos)
    return fmt::format("{} does not go with {}; leave one out", name,
                       message.substr(excluded + 10));
  if (message.starts_with("Could not convert"))
    return fmt::format("{}: expected a number, found '{}'", name, fmt::join(found, " "));
  return message;
}

// The message for the first argument that the command does not accept.
std::string unexpected(const CLI::App& command, const std::string& argument) {
  if (argument.starts_with("-")) {
    const std::string name = argument.substr(0, argument.find('='));
    return fmt::format("unknown option {}{}", name,
                       name.starts_with("--") ? did_you_mean(name, all_names(command)) : "");
  }
  std::vector<std::string> names;
  for (const CLI::App* other : subcommands(command)) names.push_back(other->get_name());
  if (names.empty()) return fmt::format("unexpected argument '{}'", argument);
  return fmt::format("unknown command '{}'{}", argument, did_you_mean(argument, names));
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string /*name*/,
                                     CLI::AppFormatMode mode) const {
  const bool all = mode != CLI::AppFormatMode::Normal;
  const int width = std::clamp(terminal_width(STDOUT_FILENO, 90), 60, 100);
  std::string out = fmt::format("{}\n\n{}", app->get_description(), usage(*app));
  if (!subcommands(*app).empty()) out += command_list(*app, width);
  std::vector<std::string> more;
  for (const std::string& group : app->get_groups()) {
    std::string entries;
    for (const CLI::Option* option : app->get_options())
      if (option->get_group() == group && !group.empty())
        entries += option_entry(*option, all, width);
    if (entries.empty()) continue;
    if (all || group == main_group)
      out += fmt::format("\n{}:\n{}", group, entries);
    else
      more.push_back(group);
  }
  if (!more.empty())
    out += fmt::format(
        "\n{}\n",
        fmt::join(wrap_text(fmt::format("More options with --help-all: {}.", fmt::join(more, ", ")),
                            width),
                  "\n"));
  if (!app->get_footer().empty()) out += "\n" + app->get_footer();
  return out;
}

std::vector<CLI::App*> subcommands(CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::App*> subcommands(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> option_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  if (!option.get_lnames().empty()) names.push_back("--" + option.get_lnames().front());
  return names;
}

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

std::vector<std::string> option_choices(const CLI::Option& option) {
  // CLI11 exposes the members of a set only in the type's name: "TEXT:{text,json,md}".
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{'), close = type.rfind('}');
  if (open == type.npos || close == type.npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

std::vector<const CLI::Option*> named_options(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) {
    return option->nonpositional() && !option->get_group().empty();
  });
}

std::string explain_usage_error(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App* command = &program;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const std::vector<std::string> left = program.remaining(true);
  const std::string reason =
      left.empty() ? explained(*command, error) : unexpected(*command, left.front());
  return fmt::format("{}; see '{} --help'", reason, full_name(*command));
}

}  // namespace vernier::cli
