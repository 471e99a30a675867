#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/output.h"

namespace vernier::cli {
namespace {

// A command and the words that select it: "score knn".
struct Command {
  std::string words;
  const CLI::App* app;
};

std::vector<Command> commands_of(const CLI::App& app, const std::string& words = "") {
  std::vector<Command> commands;
  for (const CLI::App* sub : subcommands(app)) {
    const std::string name = words.empty() ? sub->get_name() : words + " " + sub->get_name();
    commands.push_back({name, sub});
    for (Command& inner : commands_of(*sub, name)) commands.push_back(std::move(inner));
  }
  return commands;
}

// The words that may follow: the names of direct subcommands.
std::vector<std::string> next_words(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* sub : subcommands(app)) words.push_back(sub->get_name());
  return words;
}

std::string all_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : named_options(app))
    for (const std::string& name : option_names(*option)) names.push_back(name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string bash_script(const CLI::App& program) {
  std::string values, words, options;
  const auto add = [&](const std::string& name, const CLI::App& app) {
    for (const CLI::Option* option : named_options(app))
      if (const auto choices = option_choices(*option); !choices.empty())
        for (const std::string& option_name : option_names(*option))
          values += fmt::format("    '{} {}') choices='{}' ;;\n", name, option_name,
                                fmt::join(choices, " "));
    std::vector<std::string> next = next_words(app);
    for (const CLI::Option* option : app.get_options())
      if (option->get_positional())
        for (const std::string& choice : option_choices(*option)) next.push_back(choice);
    if (!next.empty())
      words += fmt::format("    '{}') choices='{}' ;;\n", name, fmt::join(next, " "));
    options += fmt::format("    '{}') choices='{}' ;;\n", name, all_options(app));
  };
  add("", program);
  std::vector<std::string> names;
  for (const auto& [name, app] : commands_of(program)) {
    add(name, *app);
    names.push_back(fmt::format("'{}'", name));
  }
  return fmt::format(R"SH(# bash completion for vernier: eval "$(vernier completion bash)"
_vernier() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local command='' longer='' choices='' word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    longer="${{command:+$command }}$word"
    case "$longer" in {}) command=$longer ;; esac
  done
  COMPREPLY=()
  case "$command $previous" in
{}  esac
  if [[ -z $choices && $current != -* ]]; then
    case "$command" in
{}    esac
  elif [[ -z $choices ]]; then
    case "$command" in
{}    esac
  fi
  [[ -z $choices ]] || COMPREPLY=($(compgen -W "$choices" -- "$current"))
}}
complete -o default -F _vernier vernier
)SH",
                     fmt::join(names, "|"), values, words, options);
}

// The text in single quotes, with a backslash before the `special` characters of the shell's
// completion.
std::string quoted(const std::string& text, std::string_view special) {
  std::string out = "'";
  for (const char c : text) {
    if (special.find(c) != special.npos) out += '\\';
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out + "'";
}

// The specification of an option for _arguments: '*'{-m,--model}'[help]:value:_files'.
std::string zsh_spec(const CLI::Option& option) {
  const std::vector<std::string> names = option_names(option);
  std::string text = names.size() == 1 ? fmt::format("'*{}'", names[0])
                                       : fmt::format("'*'{{{}}}", fmt::join(names, ","));
  text += "'['" + quoted(option.get_description(), ":[]") + "']'";
  if (is_flag(option)) return text;
  const auto choices = option_choices(option);
  return text + (choices.empty() ? "':value:_files'"
                                 : fmt::format("':value:({})'", fmt::join(choices, " ")));
}

std::string zsh_arguments(const CLI::App& app) {
  std::string text = "      _arguments";
  for (const CLI::Option* option : named_options(app)) text += " \\\n        " + zsh_spec(*option);
  return text + " \\\n        '*:file:_files'";
}

std::string zsh_level(const CLI::App& app, const std::string& function) {
  std::string commands, cases, inner;
  for (const CLI::App* sub : subcommands(app)) {
    commands += fmt::format("    {}\n", quoted(sub->get_name() + ":" + sub->get_description(), ""));
    const std::string name = function + "_" + sub->get_name();
    if (next_words(*sub).empty()) {
      cases += fmt::format("    {})\n{} ;;\n", sub->get_name(), zsh_arguments(*sub));
    } else {
      inner += zsh_level(*sub, name);
      cases += fmt::format("    {}) {} ;;\n", sub->get_name(), name);
    }
  }
  return fmt::format(R"({}{}() {{
  local state line
  local -a commands=(
{}  )
  _arguments -C '1: :->command' '*:: :->rest'
  case $state in
  command) _describe command commands ;;
  rest) case $line[1] in
{}    esac ;;
  esac
}}
)",
                     inner, function, commands, cases);
}

std::string zsh_script(const CLI::App& program) {
  return "#compdef vernier\n" + zsh_level(program, "_vernier") +
         "if [[ $funcstack[1] == _vernier ]]; then _vernier \"$@\"; else compdef _vernier vernier; "
         "fi\n";
}

std::string fish_script(const CLI::App& program) {
  std::string text = "complete -c vernier -f -n __fish_use_subcommand\n";
  for (const auto& [words, app] : commands_of(program)) {
    const std::size_t space = words.rfind(' ');
    const std::string condition = space == words.npos
                                      ? "__fish_use_subcommand"
                                      : "__fish_seen_subcommand_from " + words.substr(0, space);
    text += fmt::format("complete -c vernier -f -n '{}' -a {} -d {}\n", condition, app->get_name(),
                        quoted(app->get_description(), "\\"));
    for (const CLI::Option* option : named_options(*app)) {
      text +=
          fmt::format("complete -c vernier -n '__fish_seen_subcommand_from {}'", app->get_name());
      for (const std::string& name : option_names(*option))
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (const auto choices = option_choices(*option); !choices.empty())
        text += fmt::format(" -x -a '{}'", fmt::join(choices, " "));
      else if (!is_flag(*option))
        text += " -r";
      text += fmt::format(" -d {}\n", quoted(option->get_description(), "\\"));
    }
  }
  return text;
}

}  // namespace

void add_completion(CLI::App& program, int& exit_code) {
  const auto shell = std::make_shared<std::string>();
  auto* command = program.add_subcommand("completion", "Print completions for a shell");
  command->add_option("SHELL", *shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer("Example:\n  eval \"$(vernier completion bash)\"\n");
  command->callback([shell, &program, &exit_code] {
    const auto script = *shell == "bash" ? bash_script : *shell == "zsh" ? zsh_script : fish_script;
    write_text({}, script(program));
    exit_code = exit_pass;
  });
}

}  // namespace vernier::cli
