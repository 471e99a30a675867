#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace vernier::cli {

// Writes --help (the options a newcomer needs, in a screen) and --help-all (every option).
class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

// The commands one level below, in the order in which they were added.
std::vector<CLI::App*> subcommands(CLI::App& command);
std::vector<const CLI::App*> subcommands(const CLI::App& command);

// What an option is called: short names, then the first long one; its other names are aliases.
std::vector<std::string> option_names(const CLI::Option& option);

// The values of an option that takes only some; else empty.
std::vector<std::string> option_choices(const CLI::Option& option);

// Whether the option takes no value.
bool is_flag(const CLI::Option& option);

// The options that are given by name, without those that are hidden.
std::vector<const CLI::Option*> named_options(const CLI::App& command);

// One line for a command line that could not be parsed: what is wrong, the nearest name if one was
// mistyped, and where help is.
std::string explain_usage_error(const CLI::App& program, const CLI::ParseError& error);

}  // namespace vernier::cli
