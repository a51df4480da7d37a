// TempDir: an empty directory of mode 0700 that goes when the object goes, with all that is in it.
// Its path is short enough for Unix sockets.
//
//   TempDir dir;
//   std::string conf = dir.write("larder.toml", "[http]\nport = 0\n");
#pragma once

#include <string>
#include <string_view>

namespace larder::testing {

class TempDir {
 public:
  /// Throws std::system_error.
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Absolute path of a file below, whether it exists or not.
  [[nodiscard]] std::string file(std::string_view name) const;
  /// Writes a file (and the folders on its way), returns its absolute path. Throws
  /// std::system_error.
  std::string write(std::string_view name, std::string_view text) const;

 private:
  std::string path_;
};

}  // namespace larder::testing
