// Columns for a terminal: the first ones left-aligned, numbers right-aligned.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace larder::server {

/// What visitors can choose is shown to an operator: control characters as \\x1b, so that they can
/// neither steer the terminal nor begin a line.
[[nodiscard]] std::string printable(std::string_view text);

class TextTable {
 public:
  /// Columns whose head begins with '>' are right-aligned.
  explicit TextTable(std::vector<std::string> heads);
  /// Shows them printable().
  void row(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  /// Every line begins with `indent`.
  void print(std::ostream& out, const std::string& indent = {}) const;

 private:
  void printRow(std::ostream& out, const std::vector<std::string>& cells,
                const std::string& indent) const;
  std::vector<bool> right_;
  std::vector<std::string> heads_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace larder::server
