// larder-conformance: proves a cache plugin against the contract of larder/cache.h.
//
// Ends with 0 when every case passed, 1 when one failed or none ran, 2 when it could not start.
#include <gtest/gtest.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/cases.h"
#include "larder/testing/conformance.h"

namespace {

using larder::testing::Subject;

constexpr int kCannotStart = 2;
constexpr std::string_view kUsage =
    R"(larder-conformance --plugin FILE.so [--config FILE.toml] [options of GoogleTest]

Runs the cases of the contract of Cache or ByteCache over a cache plugin. The
configuration holds the settings of the instances to make:

  [settings]                  the plugin's own, as in [[manager]]; "${MEMCACHED}"
                              is the address of a memcached started for the run,
                              ${MEMCACHED_2} and ${MEMCACHED_3} those of others,
                              ${MEMCACHED_SOCKET} of one on a Unix socket
  [small]                     on top of these: an instance that soon evicts
  [variant.NAME]              on top of these: all cases once more

Useful options of GoogleTest: --gtest_list_tests, --gtest_filter=PATTERN,
--gtest_repeat=N, --gtest_output=xml:FILE.
)";

struct Arguments {
  std::string plugin;
  std::string config;
};

/// Takes `--name VALUE` or `--name=VALUE` at `index`; false when it is another argument.
bool takeValue(int argc, char** argv, int& index, std::string_view name, std::string& value) {
  const std::string_view argument = argv[index];
  if (argument == name && index + 1 < argc) {
    value = argv[++index];
    return true;
  }
  if (!argument.starts_with(name) || !argument.substr(name.size()).starts_with('=')) return false;
  value = argument.substr(name.size() + 1);
  return true;
}

int cannotStart(const std::string& why) {
  std::fprintf(stderr, "larder-conformance: %s\n", why.c_str());
  return kCannotStart;
}

/// What the plugin does not claim to do, so that no case asks for it.
std::vector<std::string> notPromised(const Subject& subject) {
  std::vector<std::string> list;
  const auto promise = [&](bool promised, const char* what) {
    if (!promised) list.emplace_back(what);
  };
  if (subject.isByteCache()) {
    promise(subject.plugin().can(LARDER_SHARED),
            "LARDER_SHARED: other processes see what it holds");
    promise(!larder::testing::variantsWithServers(1).empty(),
            "outages: the configuration names no ${MEMCACHED}");
    promise(subject.plugin().can(LARDER_LEASES), "LARDER_LEASES: add() and release()");
  } else {
    promise(subject.plugin().can(LARDER_ENUMERABLE), "LARDER_ENUMERABLE: sweep()");
    promise(!subject.plugin().can(LARDER_BLOCKS),
            "look-ups without waiting: times by the kit's clock");
    promise(subject.canBeSmall(), "eviction: neither a setting max_size nor a table [small]");
    promise(subject.hasSetting("max_entry_size"), "a limit of an entry's size: max_entry_size");
  }
  return list;
}

int report(const Subject& subject, int status) {
  if (::testing::GTEST_FLAG(list_tests)) return status;
  const auto& unit = *::testing::UnitTest::GetInstance();
  const int ran = unit.successful_test_count() + unit.failed_test_count();
  std::printf("\n%s %s (%s): %d cases passed, %d failed\n",
              std::string(subject.plugin().type()).c_str(),
              std::string(subject.plugin().version()).c_str(), subject.plugin().origin().c_str(),
              unit.successful_test_count(), unit.failed_test_count());
  for (const auto& what : notPromised(subject)) std::printf("not promised: %s\n", what.c_str());
  if (ran == 0) {
    std::fputs("larder-conformance: no case ran, so nothing is proved\n", stderr);
    return 1;
  }
  return status == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  std::vector<char*> rest = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      std::fputs(std::string(kUsage).c_str(), stdout);
      return 0;
    }
    if (takeValue(argc, argv, i, "--plugin", arguments.plugin) ||
        takeValue(argc, argv, i, "--config", arguments.config))
      continue;
    if (!argument.starts_with("--gtest_"))
      return cannotStart("unknown argument '" + std::string(argument) + "'\n" +
                         std::string(kUsage));
    rest.push_back(argv[i]);
  }
  if (arguments.plugin.empty()) return cannotStart("--plugin is missing\n" + std::string(kUsage));

  auto subject = Subject::open(arguments.plugin, arguments.config);
  if (!subject) return cannotStart(subject.error().message);
  try {
    for (const auto& variant : subject->variants())
      static_cast<void>(larder::testing::World(*subject, variant).cache());
  } catch (const std::exception& error) {
    return cannotStart(error.what());
  }
  larder::testing::currentSubject() = &*subject;
  int count = static_cast<int>(rest.size());
  rest.push_back(nullptr);  // as main() gets it
  ::testing::InitGoogleTest(&count, rest.data());
  return report(*subject, RUN_ALL_TESTS());
}
