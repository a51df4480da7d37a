#include "template_source.h"

#include <algorithm>
#include <filesystem>

namespace larder::site {
namespace {

constexpr int kDeepest = 16;

std::size_t linesIn(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// The next {{>file}} from `at` on, comments left out; npos if there is none.
std::size_t findInclude(std::string_view text, std::size_t at) {
  while ((at = text.find("{{", at)) != std::string_view::npos) {
    if (text.substr(at + 2, 1) == ">") return at;
    if (text.substr(at + 2, 1) == "!") at = std::min(text.find("}}", at), text.size() - 1);
    ++at;
  }
  return at;
}

}  // namespace

Result<TemplateText> TemplateText::read(const ReadFile& reader, const std::string& file) {
  TemplateText result;
  if (const auto added = result.add(reader, file, "", 0); !added) return added.error();
  return result;
}

Result<> TemplateText::add(const ReadFile& reader, const std::string& file, const std::string& from,
                           int depth) {
  const std::string prefix = from.empty() ? "" : from + ": ";
  if (depth > kDeepest)
    return Error{prefix + "files included more than " + std::to_string(kDeepest) + " deep"};
  const Result<std::string> content = reader(file);
  if (!content) return Error{prefix + content.error().message};
  const std::string_view text = *content;
  if (std::find(files_.begin(), files_.end(), file) == files_.end()) files_.push_back(file);
  const auto index =
      static_cast<std::size_t>(std::find(files_.begin(), files_.end(), file) - files_.begin());
  std::size_t line = 1;
  std::size_t done = 0;
  for (;;) {
    const std::size_t marker = findInclude(text, done);
    const std::string_view piece = text.substr(done, marker - done);
    pieces_.push_back({text_.size(), index, line});
    text_ += piece;
    if (marker == std::string_view::npos) return Done{};
    line += linesIn(piece);
    const std::string here = file + ":" + std::to_string(line);
    const std::size_t end = text.find("}}", marker);
    if (end == std::string_view::npos) return Error{here + ": marker without its }}"};
    const std::string name(text.substr(marker + 3, end - marker - 3));
    const std::string target =
        (std::filesystem::path(file).parent_path() / name).lexically_normal().string();
    if (auto added = add(reader, target, here, depth + 1); !added) return added;
    line += linesIn(text.substr(marker, end - marker));
    done = end + 2;
    // A line that holds only this leaves no line of its own.
    const bool starts_line = marker == 0 || text[marker - 1] == '\n';
    if (starts_line && done < text.size() && text[done] == '\n' && text_.ends_with('\n')) {
      ++done;
      ++line;
    }
  }
}

std::string TemplateText::where(std::size_t offset) const {
  auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                                [](std::size_t at, const Piece& p) { return at < p.offset; });
  if (piece == pieces_.begin()) return files_.empty() ? "" : files_.front();
  --piece;
  const std::string_view before =
      std::string_view(text_).substr(piece->offset, offset - piece->offset);
  return files_[piece->file] + ":" + std::to_string(piece->line + linesIn(before));
}

}  // namespace larder::site
