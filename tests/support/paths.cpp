#include "larder/test/paths.h"

#include <cstdlib>

namespace larder::test {

std::string sourceDir() {
  return LARDER_SOURCE_DIR;
}
std::string buildDir() {
  return LARDER_BUILD_DIR;
}
std::string serverBinary() {
  return LARDER_BUILD_DIR "/bin/larder";
}
std::string pluginDir() {
  return LARDER_BUILD_DIR "/lib/larder/plugins";
}
std::string appDir() {
  return LARDER_BUILD_DIR "/lib/larder/apps";
}

int countFrom(const char* variable, int normally) {
  const char* given = std::getenv(variable);
  return given != nullptr ? std::atoi(given) : normally;
}

}  // namespace larder::test
