#include "larder/server/command_line.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "larder/cache/suggest.h"

namespace larder::server {
namespace {

struct OptionSpec {
  const char* name;
  const char* value;  ///< what its value is, or null for a flag
  const char* help;
  bool repeatable = false;
  bool hidden = false;
};

struct CommandSpec {
  const char* name;
  std::size_t least;  ///< arguments
  std::size_t most;
  const char* arguments;
  const char* help;
  std::span<const OptionSpec> options;
};

constexpr OptionSpec kOverride = {"-D", "KEY=VALUE", "Sets what the file says otherwise.", true};
constexpr OptionSpec kConfig = {"-c", "CONF", "The configuration; default: conf/larder.toml."};

constexpr OptionSpec kServe[] = {
    kOverride,
    {"--processes", "N", "So many processes behind one port; default: 1."},
    {"--worker", "N", "", false, true},
    {"--control", "FD", "", false, true},
};
constexpr OptionSpec kCheck[] = {kOverride};
constexpr OptionSpec kImport[] = {
    kConfig, kOverride, {"--to", "/PATH", "Where in the site; made if it is missing."}};
constexpr OptionSpec kPassword = {"--password-stdin", nullptr,
                                  "The password is the first line of standard input."};
constexpr OptionSpec kUserAdd[] = {kConfig,
                                   kOverride,
                                   {"--name", "NAME", "As pages show it; default: the login."},
                                   {"--role", "ROLE", "A role; may be given several times.", true},
                                   kPassword};
constexpr OptionSpec kUserPassword[] = {kConfig, kOverride, kPassword};
constexpr OptionSpec kUserRole[] = {
    kConfig,
    kOverride,
    {"--add", "ROLE", "Gives it; may be given several times.", true},
    {"--remove", "ROLE", "Takes it away; may be given several times.", true}};
constexpr OptionSpec kUser[] = {kConfig, kOverride};
constexpr OptionSpec kConfigChange[] = {kConfig, kOverride};
constexpr OptionSpec kStats[] = {
    kConfig,
    kOverride,
    {"--json", nullptr, "What the server answered, as it stands."},
    {"--entries", "N", "Objects listed; default: 10."},
    {"--sort", "COLUMN",
     "What is listed first: lookups (default), hits, recent_hits (of the last minutes), stale, "
     "misses, renders, saved_us, entries, bytes, cost_us, age_ms, path."}};
constexpr OptionSpec kExplain[] = {
    kConfig, kOverride, {"--json", nullptr, "What the server answered, as it stands."}};
constexpr OptionSpec kInvalidate[] = {
    kConfig, kOverride, {"--soft", nullptr, "May be served once more while it is rendered anew."}};

constexpr CommandSpec kCommands[] = {
    {"serve", 1, 1, "CONF",
     "Serves the site. SIGTERM: finishes what runs, ends. SIGHUP: reads CONF again.", kServe},
    {"check", 1, 1, "CONF", "Prints what CONF comes to, and where each setting is from.", kCheck},
    {"config diff", 0, 0, "", "Lists what was changed while running, beside what CONF says.",
     kConfigChange},
    {"config set", 2, 2, "KEY VALUE",
     "Changes a setting while the server runs; KEY as after -D.\n"
     "It is kept in the data folder and stays over restarts, until it is reverted.",
     kConfigChange},
    {"config revert", 1, 1, "KEY", "Takes a change back: what CONF says holds again.",
     kConfigChange},
    {"nginx-conf", 0, 1, "[CONF]",
     "Prints what the nginx in front of the site is configured with; default: conf/larder.toml.",
     kCheck},
    {"import", 1, 1, "DIR",
     "Imports a folder of Markdown files; run again, it imports what has changed.", kImport},
    {"user add", 1, 1, "LOGIN", "Adds a user.", kUserAdd},
    {"user list", 0, 0, "", "Lists the users.", kUser},
    {"user password", 1, 1, "LOGIN", "Sets a user's password and ends the user's sessions.",
     kUserPassword},
    {"user role", 1, 1, "LOGIN", "Gives a user roles or takes them away.", kUserRole},
    {"user remove", 1, 1, "LOGIN", "Removes a user and ends the user's sessions.", kUser},
    {"stats", 0, 0, "", "Prints what the running server's caches hold and how they do.", kStats},
    {"explain", 1, 1, "URL",
     "Prints how the running server caches the page at URL.\n"
     "Also what it holds of it, and why the last request that was no hit was none.",
     kExplain},
    {"invalidate", 1, 1, "TARGET",
     "Invalidates in the running server what TARGET names.\n"
     "/path (all its views), /path/@@view, /path/** (with all below), tag:NAME, table:NAME,\n"
     "manager:ID or site.",
     kInvalidate},
    {"version", 0, 0, "", "Prints the version.", {}},
    {"help", 0, 2, "[COMMAND]", "Prints this, or more about a command.", {}},
};

bool isHelp(std::string_view word) {
  return word == "--help" || word == "-h";
}

const CommandSpec* findCommand(std::string_view name) {
  const auto* found = std::ranges::find_if(
      kCommands, [&](const CommandSpec& command) { return name == command.name; });
  return found == std::end(kCommands) ? nullptr : found;
}

/// "user add" to "user".
bool belongsTo(const CommandSpec& command, std::string_view group) {
  return std::string_view(command.name).starts_with(std::string(group) + ' ');
}

CommandLine helpAbout(std::string_view name) {
  CommandLine help;
  help.command = "help";
  help.arguments = {std::string(name)};
  return help;
}

std::string usage(const CommandSpec& command) {
  std::string text = "larder " + std::string(command.name);
  if (*command.arguments) text += ' ' + std::string(command.arguments);
  for (const OptionSpec& option : command.options) {
    if (option.hidden) continue;
    text += " [" + std::string(option.name) +
            (option.value ? ' ' + std::string(option.value) : "") + ']' +
            (option.repeatable ? "..." : "");
  }
  return text;
}

Error misuse(const CommandSpec& command, const std::string& what) {
  return {"larder " + std::string(command.name) + ": " + what + "; usage: " + usage(command)};
}

class Parser {
 public:
  Parser(const CommandSpec& command, std::span<const std::string> rest)
      : command_(command), rest_(rest) {
    line_.command = command.name;
  }

  Result<CommandLine> parse() {
    while (!rest_.empty()) {
      const std::string word = take();
      if (word == "--") {
        line_.arguments.insert(line_.arguments.end(), rest_.begin(), rest_.end());
        break;
      }
      if (word.size() < 2 || word[0] != '-') {
        line_.arguments.push_back(word);
      } else if (const auto added = option(word); !added) {
        return added.error();
      }
    }
    if (line_.arguments.size() < command_.least)
      return misuse(command_, std::string(command_.arguments) + " is missing");
    if (line_.arguments.size() > command_.most)
      return misuse(command_, "'" + line_.arguments[command_.most] + "' is too much");
    return std::move(line_);
  }

 private:
  std::string take() {
    std::string word = rest_.front();
    rest_ = rest_.subspan(1);
    return word;
  }

  Result<> option(const std::string& word) {
    // -Dkey=value, --to=/path
    std::string name = word;
    std::optional<std::string> value;
    const auto equals = word.find('=');
    if (word.starts_with("-D") && word.size() > 2) {
      name = "-D";
      value = word.substr(2);
    } else if (word.starts_with("--") && equals != std::string::npos) {
      name = word.substr(0, equals);
      value = word.substr(equals + 1);
    }
    const auto spec = std::ranges::find_if(
        command_.options, [&](const OptionSpec& option) { return name == option.name; });
    if (spec == command_.options.end()) {
      std::vector<std::string_view> names;
      for (const OptionSpec& option : command_.options)
        if (!option.hidden) names.emplace_back(option.name);
      return misuse(command_, "unknown option '" + name + "'" + didYouMean(name, names));
    }
    if (!spec->value && value) return misuse(command_, name + " takes no value");
    if (spec->value && !value) {
      if (rest_.empty()) return misuse(command_, name + " needs a value, " + spec->value);
      value = take();
    }
    if (!spec->repeatable && line_.has(name)) return misuse(command_, name + " is given twice");
    if (name == "-D") {
      auto parsed = parseOverride(*value);
      if (!parsed) return parsed.error();
      line_.overrides.push_back(std::move(*parsed));
      return Done{};
    }
    line_.options.emplace(name, value.value_or(""));
    return Done{};
  }

  const CommandSpec& command_;
  std::span<const std::string> rest_;
  CommandLine line_;
};

}  // namespace

std::optional<std::string> CommandLine::value(std::string_view option) const {
  const auto it = options.find(option);
  return it == options.end() ? std::nullopt : std::optional(it->second);
}

std::vector<std::string> CommandLine::values(std::string_view option) const {
  std::vector<std::string> all;
  const auto [first, last] = options.equal_range(option);
  for (auto it = first; it != last; ++it) all.push_back(it->second);
  return all;
}

Result<CommandLine> parseCommandLine(std::span<const std::string> arguments) {
  if (arguments.empty()) return Error{"larder: say what to do; 'larder help' lists the commands"};
  std::string name = arguments[0];
  if (isHelp(name)) name = "help";
  if (name == "--version") name = "version";
  std::size_t words = 1;
  if ((name == "user" || name == "config") && arguments.size() > 1) {
    if (isHelp(arguments[1])) return helpAbout(name);
    name += ' ' + arguments[1];
    words = 2;
  }
  const CommandSpec* command = findCommand(name);
  if (!command) {
    std::vector<std::string_view> names;
    for (const CommandSpec& known : kCommands) names.emplace_back(known.name);
    return Error{"larder: unknown command '" + name + "'" + didYouMean(name, names)};
  }
  const auto rest = arguments.subspan(words);
  const auto end = std::ranges::find(rest, "--");
  if (std::find_if(rest.begin(), end, isHelp) != end) return helpAbout(command->name);
  return Parser(*command, rest).parse();
}

std::string helpText(std::string_view name) {
  std::string text;
  if (const CommandSpec* command = findCommand(name)) {
    text = usage(*command) + "\n\n" + command->help + "\n";
    for (const OptionSpec& option : command->options) {
      if (option.hidden) continue;
      std::string left =
          "  " + std::string(option.name) + (option.value ? ' ' + std::string(option.value) : "");
      left.resize(std::max<std::size_t>(left.size() + 2, 22), ' ');
      text += '\n' + left + option.help;
    }
    return text + (command->options.empty() ? "" : "\n");
  }
  const bool group = std::ranges::any_of(
      kCommands, [&](const CommandSpec& command) { return belongsTo(command, name); });
  if (!group) text = "Larder serves sites whose views are cached by pluggable cache managers.\n\n";
  for (const CommandSpec& command : kCommands) {
    if (group && !belongsTo(command, name)) continue;
    const std::string_view help = command.help;
    std::string left = "  " + std::string(command.name) +
                       (*command.arguments ? ' ' + std::string(command.arguments) : "");
    left.resize(std::max<std::size_t>(left.size() + 2, 24), ' ');
    text += left + std::string(help.substr(0, help.find('\n'))) + '\n';
  }
  return text + "\nlarder help COMMAND says more.\n";
}

}  // namespace larder::server
