#include "text_table.h"

#include <algorithm>
#include <utility>

namespace larder::server {
namespace {

/// Characters, not bytes, of UTF-8.
std::size_t widthOf(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are control characters, too.
    const bool starts_control =
        byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (byte >= 0x20 && byte != 0x7f && !starts_control) {
      out += text[i];
      continue;
    }
    const auto code = starts_control ? static_cast<unsigned char>(text[++i]) : byte;
    out += {'\\', 'x', kDigits[code >> 4U], kDigits[code & 15U]};
  }
  return out;
}

TextTable::TextTable(std::vector<std::string> heads) : heads_(std::move(heads)) {
  for (std::string& head : heads_) {
    right_.push_back(head.starts_with('>'));
    if (right_.back()) head.erase(0, 1);
    widths_.push_back(widthOf(head));
  }
}

void TextTable::row(std::vector<std::string> cells) {
  cells.resize(heads_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = printable(cells[i]);
    widths_[i] = std::max(widths_[i], widthOf(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

void TextTable::print(std::ostream& out, const std::string& indent) const {
  printRow(out, heads_, indent);
  for (const auto& cells : rows_) printRow(out, cells, indent);
}

void TextTable::printRow(std::ostream& out, const std::vector<std::string>& cells,
                         const std::string& indent) const {
  std::string line = indent;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string space(widths_[i] - widthOf(cells[i]), ' ');
    line += (i == 0 ? "" : "  ") + (right_[i] ? space + cells[i] : cells[i] + space);
  }
  out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
}

}  // namespace larder::server
