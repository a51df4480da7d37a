// Reads the files of an app's folder and remembers them, to notice when one is edited.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "larder/result.h"

namespace larder::site {

/// A file as it was when it was read, or missed.
struct SeenFile {
  std::string path;           ///< absolute
  std::int64_t modified = 0;  ///< ns; 0: it was not there
  std::uint64_t size = 0;
  std::uint64_t inode = 0;
  /// Edited so shortly before it was looked at that an edit since may have the same time.
  bool fresh = false;
  std::uint64_t hash = 0;  ///< of what was read

  [[nodiscard]] static SeenFile look(std::string path);
  /// Whether it is another one now. Looks into a file only as long as it is fresh.
  [[nodiscard]] bool changed();
};

class AppFiles {
 public:
  explicit AppFiles(std::string folder) : folder_(std::move(folder)) {}

  /// The whole file, at most 4 MB of UTF-8 text; an error says what is wrong, with the name as
  /// `file`. A name that leads out of the folder, by ".." or an absolute path, is refused.
  [[nodiscard]] Result<std::string> read(const std::string& file);
  /// Each file once.
  [[nodiscard]] const std::vector<SeenFile>& seen() const { return seen_; }

 private:
  std::string folder_;
  std::vector<SeenFile> seen_;
};

}  // namespace larder::site
