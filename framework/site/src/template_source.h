// The text of a template with the files that it includes, and where each piece came from.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "larder/result.h"
#include "larder/site/template_view.h"

namespace larder::site {

class TemplateText {
 public:
  /// Reads the file and what it includes; errors name file and line.
  [[nodiscard]] static Result<TemplateText> read(const ReadFile& reader, const std::string& file);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }
  /// "templates/page.tpl:12" of the character at `offset`.
  [[nodiscard]] std::string where(std::size_t offset) const;

 private:
  struct Piece {
    std::size_t offset;  ///< in text_
    std::size_t file;    ///< in files_
    std::size_t line;    ///< of its first character
  };
  Result<> add(const ReadFile& reader, const std::string& file, const std::string& from, int depth);

  std::string text_;
  std::vector<Piece> pieces_;
  std::vector<std::string> files_;
};

}  // namespace larder::site
