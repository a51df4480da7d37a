#include "markdown.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

namespace larder::server {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool isPunctuation(char c) {
  constexpr std::string_view kAscii = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  return kAscii.find(c) != std::string_view::npos;
}

/// Takes one line, its end included, off the text.
std::string_view takeLine(std::string_view& text) {
  const auto end = text.find('\n');
  const std::string_view line =
      text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
  text.remove_prefix(line.size());
  return line;
}

/// Follows fences of code from line to line.
class Fence {
 public:
  /// Whether the line is code or a fence.
  bool covers(std::string_view line) {
    const std::string_view text = trim(line.substr(0, line.find('\n')));
    const char mark = text.empty() ? '\0' : text[0];
    std::size_t run = 0;
    if (mark == '`' || mark == '~') run = std::min(text.find_first_not_of(mark), text.size());
    if (length_ == 0) {
      const bool opens = run >= 3 && (mark == '~' || text.find('`', run) == std::string_view::npos);
      if (opens) {
        mark_ = mark;
        length_ = run;
      }
      return opens;
    }
    if (mark == mark_ && run >= length_ && trim(text.substr(run)).empty()) length_ = 0;
    return true;
  }

 private:
  char mark_ = '\0';
  std::size_t length_ = 0;
};

std::string plainText(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') continue;
    if (text[i] == '\\' && i + 1 < text.size() && isPunctuation(text[i + 1])) ++i;
    plain += text[i];
  }
  return std::string(trim(plain));
}

/// The text of "## Title ##"; nothing for another line.
std::optional<std::string_view> headingText(std::string_view line) {
  const auto level = std::min(line.find_first_not_of('#'), line.size());
  if (level == 0 || level > 6) return std::nullopt;
  std::string_view text = line.substr(level);
  if (!text.empty() && kBlank.find(text[0]) == std::string_view::npos) return std::nullopt;
  text = trim(text);
  const auto last = text.find_last_not_of('#');
  if (last == std::string_view::npos) return std::string_view();
  if (last + 1 < text.size() && kBlank.find(text[last]) != std::string_view::npos)
    text = trim(text.substr(0, last));
  return text;
}

bool isUnderline(std::string_view line) {
  return !line.empty() && (line.find_first_not_of('=') == std::string_view::npos ||
                           line.find_first_not_of('-') == std::string_view::npos);
}

class Rewriter {
 public:
  Rewriter(std::string_view text, const LinkTarget& target) : text_(text), target_(target) {
    result_.reserve(text.size());
  }

  std::string run() {
    Fence fence;
    while (!text_.empty()) {
      const std::string_view line = takeLine(text_);
      if (fence.covers(line))
        result_ += line;
      else if (!definition(line))
        inlines(line);
    }
    return std::move(result_);
  }

 private:
  /// "[name]: target"
  bool definition(std::string_view line) {
    const auto start = std::min(line.find_first_not_of(' '), line.size());
    const auto close = line.find("]:");
    if (start > 3 || close == std::string_view::npos || !line.substr(start).starts_with('['))
      return false;
    const auto from = line.find_first_not_of(kBlank, close + 2);
    if (from == std::string_view::npos) return false;
    result_ += line.substr(0, from);
    result_ += replaced(line, from);
    return true;
  }

  /// One pass, whatever the line holds: a line may be as long as a file.
  void inlines(std::string_view line) {
    std::size_t done = 0;
    std::vector<bool> images;  // whether the brackets that are open are those of images
    std::optional<BacktickRuns> runs;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\\') {
        ++i;
      } else if (line[i] == '`') {
        if (!runs) runs = lastRuns(line);
        i = skipCode(line, i, *runs);
      } else if (line.substr(i).starts_with("![")) {
        images.push_back(true);
        ++i;
      } else if (line[i] == '[') {
        images.push_back(false);
      } else if (line[i] == ']') {
        const bool is_image = !images.empty() && images.back();
        if (!images.empty()) images.pop_back();
        if (is_image || !line.substr(i + 1).starts_with('(')) continue;
        const auto from = std::min(line.find_first_not_of(kBlank, i + 2), line.size());
        result_ += line.substr(done, from - done);
        const std::size_t end = targetEnd(line, from);
        result_ += replaced(line.substr(0, end), from);
        done = end;
        i = std::max(i, end - 1);
      }
    }
    result_ += line.substr(done);
  }

  /// Where the last run of so many backticks begins.
  using BacktickRuns = std::map<std::size_t, std::size_t>;
  static BacktickRuns lastRuns(std::string_view line) {
    BacktickRuns runs;
    for (auto at = line.find('`'); at != std::string_view::npos;) {
      const auto end = std::min(line.find_first_not_of('`', at), line.size());
      runs[end - at] = at;
      at = line.find('`', end);
    }
    return runs;
  }

  /// The last character of the code span that begins at `at`, or of its run of backticks when
  /// nothing closes it on this line.
  static std::size_t skipCode(std::string_view line, std::size_t at, const BacktickRuns& runs) {
    const auto run = std::min(line.find_first_not_of('`', at), line.size()) - at;
    const auto last = runs.find(run);
    if (last == runs.end() || last->second <= at) return at + run - 1;
    for (auto next = line.find('`', at + run);;) {
      const auto end = std::min(line.find_first_not_of('`', next), line.size());
      if (end - next == run) return end - 1;
      next = line.find('`', end);
    }
  }

  /// Behind the target that begins at `from`; `from` if its angle brackets are not closed.
  static std::size_t targetEnd(std::string_view line, std::size_t from) {
    if (line.substr(from).starts_with('<')) {
      for (std::size_t i = from + 1; i < line.size() && line[i] != '<'; ++i) {
        if (line[i] == '>') return i + 1;
        if (line[i] == '\\') ++i;
      }
      return from;
    }
    int depth = 0;
    std::size_t i = from;
    for (; i < line.size(); ++i) {
      const char c = line[i];
      if (c == '\\' && i + 1 < line.size()) {
        ++i;
        continue;
      }
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || (c == ')' && depth == 0)) break;
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    }
    return i;
  }

  /// The rest of `line` from the target at `from` on, with the target replaced.
  std::string replaced(std::string_view line, std::size_t from) {
    const std::size_t end = targetEnd(line, from);
    std::string_view target = line.substr(from, end - from);
    if (target.size() >= 2 && target.front() == '<') target = target.substr(1, target.size() - 2);
    const auto fresh = target.empty() ? std::nullopt : target_(target);
    return (fresh ? *fresh : std::string(line.substr(from, end - from))) +
           std::string(line.substr(end));
  }

  std::string_view text_;
  const LinkTarget& target_;
  std::string result_;
};

}  // namespace

std::optional<std::string> firstHeading(std::string_view markdown) {
  Fence fence;
  std::string_view before;
  while (!markdown.empty()) {
    const std::string_view line = takeLine(markdown);
    const std::string_view text = trim(line.substr(0, line.find('\n')));
    if (fence.covers(line)) {
      before = {};
      continue;
    }
    if (const auto heading = headingText(text)) return plainText(*heading);
    if (!before.empty() && isUnderline(text)) return plainText(before);
    before = text;
  }
  return std::nullopt;
}

std::string rewriteLinks(std::string_view markdown, const LinkTarget& target) {
  return Rewriter(markdown, target).run();
}

}  // namespace larder::server
