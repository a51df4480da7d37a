#include "sql_method_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

#include "larder/cache/suggest.h"
#include "larder/cache/units.h"

namespace larder::site {
namespace {

constexpr std::array<std::string_view, 4> kTypes = {"text", "integer", "real", "boolean"};
constexpr std::array<std::string_view, 3> kDirectives = {"param", "rows", "timeout"};
constexpr std::size_t kMostRows = 100'000;
constexpr Millis kLongest = 60'000;

bool isSpace(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
bool isWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && isSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && isSpace(text.back())) text.remove_suffix(1);
  return text;
}

/// The first word; `text` goes on behind it.
std::string_view takeWord(std::string_view& text) {
  text = trimmed(text);
  const auto end =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), isWord) - text.begin());
  const std::string_view word = text.substr(0, end);
  text = trimmed(text.substr(end));
  return word;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return result;
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Parser {
 public:
  Parser(const std::string& name, std::string_view text) : name_(name), text_(text) {}

  Result<SqlText> run() {
    if (auto done = header(); !done) return done.error();
    const std::size_t start = at_;
    if (auto done = statement(); !done) return done.error();
    if (statement_end_ == 0) return fail(start, "no statement");
    for (const SqlParameter& parameter : out_.parameters) {
      if (!used_.contains(parameter.name))
        return Error{name_ + ": the statement does not use parameter '" + parameter.name + "'"};
    }
    out_.statement = trimmed(text_.substr(start, statement_end_ - start));
    return std::move(out_);
  }

 private:
  [[nodiscard]] Error fail(std::size_t at, std::string message) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    return Error{name_ + ":" + std::to_string(line) + ": " + std::move(message)};
  }

  /// Comment lines before the statement.
  Result<> header() {
    for (;;) {
      while (at_ < text_.size() && isSpace(text_[at_])) ++at_;
      if (text_.substr(at_, 2) != "--") return Done{};
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      if (auto done = directive(at_, text_.substr(at_ + 2, end - at_ - 2)); !done) return done;
      at_ = end;
    }
  }

  /// What a comment that looks like "word: ..." says; others are just comments.
  Result<> directive(std::size_t start, std::string_view line) {
    std::string_view rest = line;
    const std::string_view word = takeWord(rest);
    if (word.empty() || !rest.starts_with(":")) return Done{};
    rest = trimmed(rest.substr(1));
    if (word == "param") return parameter(start, rest);
    if (word == "rows") {
      const auto rows = number<std::size_t>(rest);
      if (!rows || *rows == 0 || *rows > kMostRows)
        return fail(start, "rows has to be a number from 1 to " + std::to_string(kMostRows));
      out_.limits.rows = *rows;
      return Done{};
    }
    if (word == "timeout") {
      const Result<Millis> time = parseDuration(rest);
      if (!time) return fail(start, "timeout: " + time.error().message);
      if (*time <= 0 || *time > kLongest)
        return fail(start, "timeout has to be from 1ms to " + formatDuration(kLongest));
      out_.limits.time = *time;
      return Done{};
    }
    if (nearestName(word, kDirectives))
      return fail(start, "unknown '" + std::string(word) + "'" + didYouMean(word, kDirectives));
    return Done{};
  }

  Result<> parameter(std::size_t start, std::string_view rest) {
    SqlParameter result;
    result.name = takeWord(rest);
    if (result.name.empty()) return fail(start, "param: name type [= default]");
    const std::string_view type = takeWord(rest);
    const auto known = std::find(kTypes.begin(), kTypes.end(), type);
    if (known == kTypes.end())
      return fail(start, "parameter '" + result.name + "' of unknown type '" + std::string(type) +
                             "'" + didYouMean(type, kTypes));
    result.type = static_cast<SqlType>(known - kTypes.begin());
    if (!rest.empty()) {
      if (!rest.starts_with("=")) return fail(start, "param: name type [= default]");
      rest = trimmed(rest.substr(1));
      if (rest == "null") {
        result.fallback = Tree();
      } else {
        if (result.type == SqlType::text && rest.size() >= 2 && rest.front() == rest.back() &&
            (rest.front() == '\'' || rest.front() == '"'))
          rest = rest.substr(1, rest.size() - 2);
        result.fallback = convertSqlText(result.type, rest);
        if (!result.fallback)
          return fail(start, "the default of '" + result.name + "' is no " + std::string(type));
      }
    }
    for (const SqlParameter& other : out_.parameters) {
      if (other.name == result.name)
        return fail(start, "parameter '" + result.name + "' is declared twice");
    }
    out_.parameters.push_back(std::move(result));
    return Done{};
  }

  Result<> statement() {
    bool first = true;
    int depth = 0;
    while (at_ < text_.size()) {
      const std::size_t start = at_;
      const char c = text_[at_];
      if (isSpace(c)) {
        ++at_;
        continue;
      }
      if (text_.substr(at_, 2) == "--") {
        at_ = std::min(text_.find('\n', at_), text_.size());
        std::string_view comment = text_.substr(start + 2, at_ - start - 2);
        const std::string_view word = takeWord(comment);
        if (comment.starts_with(":") &&
            std::find(kDirectives.begin(), kDirectives.end(), word) != kDirectives.end())
          return fail(start, "'" + std::string(word) + ":' has to stand before the statement");
        continue;
      }
      if (text_.substr(at_, 2) == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return fail(start, "comment without its */");
        at_ = end + 2;
        continue;
      }
      if (ended_) return fail(start, "more than one statement");
      if (c == ';') {
        ended_ = true;
        ++at_;
        continue;
      }
      if (first && !isWord(c)) return fail(start, "a statement begins with SELECT, WITH or VALUES");
      if (auto done = token(c, depth, first); !done) return done;
      first = false;
      statement_end_ = at_;
    }
    return Done{};
  }

  Result<> token(char c, int& depth, bool first) {
    const std::size_t start = at_;
    if (c == '\'' || c == '"' || c == '`' || c == '[') {
      const char closing = c == '[' ? ']' : c;
      const std::size_t end = text_.find(closing, at_ + 1);  // a doubled quote begins the next one
      if (end == std::string_view::npos)
        return fail(start, std::string("text without its ") + closing);
      at_ = end + 1;
      return Done{};
    }
    if (c == '?' || c == '@' || c == '$') return fail(start, "parameters are written as :name");
    if (c == ':') {
      ++at_;
      while (at_ < text_.size() && isWord(text_[at_])) ++at_;
      const std::string parameter(text_.substr(start + 1, at_ - start - 1));
      const bool declared = std::any_of(out_.parameters.begin(), out_.parameters.end(),
                                        [&](const SqlParameter& p) { return p.name == parameter; });
      if (!declared)
        return fail(start, "parameter ':" + parameter + "' is not declared; write '-- param: " +
                               parameter + " text' above the statement");
      used_.insert(parameter);
      return Done{};
    }
    if (!isWord(c)) {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      ++at_;
      return Done{};
    }
    while (at_ < text_.size() && isWord(text_[at_])) ++at_;
    const std::string word = upper(text_.substr(start, at_ - start));
    if (first && word != "SELECT" && word != "WITH" && word != "VALUES")
      return fail(start,
                  "a SQL method only reads: it begins with SELECT, WITH or VALUES, not " + word);
    if (depth == 0 && (word == "INSERT" || word == "UPDATE" || word == "DELETE"))
      return fail(start, "a SQL method only reads; " + word + " belongs into an action");
    return Done{};
  }

  const std::string& name_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t statement_end_ = 0;
  bool ended_ = false;
  std::set<std::string, std::less<>> used_;
  SqlText out_;
};

}  // namespace

std::string_view sqlTypeName(SqlType type) {
  return kTypes[static_cast<std::size_t>(type)];
}

std::optional<Tree> convertSqlText(SqlType type, std::string_view text) {
  switch (type) {
    case SqlType::text:
      return Tree(text);
    case SqlType::integer:
      if (const auto value = number<std::int64_t>(text)) return Tree(*value);
      return std::nullopt;
    case SqlType::real:
      if (const auto value = number<double>(text); value && std::isfinite(*value))
        return Tree(*value);
      return std::nullopt;
    case SqlType::boolean:
      if (text == "true" || text == "1") return Tree(true);
      if (text == "false" || text == "0") return Tree(false);
      return std::nullopt;
  }
  return std::nullopt;
}

Result<SqlText> parseSqlText(const std::string& name, std::string_view text) {
  return Parser(name, text).run();
}

}  // namespace larder::site
