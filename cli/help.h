#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace vernier::cli {

// Writes --help (the main options, on one screen) and --help-all (every option).
class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

// The direct subcommands, in the order in which they were added.
std::vector<CLI::App*> subcommands(CLI::App& command);
std::vector<const CLI::App*> subcommands(const CLI::App& command);

// The names of an option: its short names, then its first long name. Other long names are aliases.
std::vector<std::string> option_names(const CLI::Option& option);

// The allowed values of an option; empty if it takes any value.
std::vector<std::string> option_choices(const CLI::Option& option);

// Whether the option takes no value.
bool is_flag(const CLI::Option& option);

// The options that are given by name, except hidden ones.
std::vector<const CLI::Option*> named_options(const CLI::App& command);

// One line for a command line that cannot be parsed: what is wrong, the closest name if one was
// mistyped, and where to find help.
std::string explain_usage_error(const CLI::App& program, const CLI::ParseError& error);

}  // namespace vernier::cli
