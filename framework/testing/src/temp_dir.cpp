#include "larder/testing/temp_dir.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace larder::testing {

TempDir::TempDir() {
  const char* root = ::getenv("TMPDIR");
  path_ = std::string(root && *root ? root : "/tmp") + "/larder-XXXXXX";
  if (!::mkdtemp(path_.data()))
    throw std::system_error(errno, std::generic_category(), "mkdtemp " + path_);
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::file(std::string_view name) const {
  return path_ + "/" + std::string(name);
}

std::string TempDir::write(std::string_view name, std::string_view text) const {
  std::string path = file(name);
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::system_error(errno, std::generic_category(), "write " + path);
  return path;
}

}  // namespace larder::testing
