#pragma once
// Where the things under test are: absolute paths, fixed when the tests are built.
//
//   SharedLibrary plugin(larder::test::pluginDir() + "/ramcache.so");

#include <string>

namespace larder::test {

std::string sourceDir();     // the top of the source tree: conf/, sample-app/
std::string buildDir();      // the top of the build tree
std::string serverBinary();  // bin/larder of this build
std::string pluginDir();     // the built plugins, <name>.so
std::string appDir();        // the built app modules, <name>.so

/// How often a test repeats what it does: `normally`, or the number in an environment variable, for
/// long runs.
int countFrom(const char* variable, int normally);

}  // namespace larder::test
