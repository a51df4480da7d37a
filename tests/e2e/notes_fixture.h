// A site of small pages over memcached, for tests of what its servers do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "site_fixture.h"

namespace larder::e2e {

/// Pages /notes/0, /notes/1 ... of a version each, and /notes/@@overview, which is made of
/// sixty-two of them and is not cached itself.
class NotesTest : public server::Installation {
 protected:
  static constexpr int kMembers = 62;
  /// A server that is well again is noticed at once.
  static constexpr const char* kQuickProbes = "first_probe = \"10ms\"\nmax_probe = \"40ms\"\n";
  /// For tests that are not about time, on a busy machine.
  static constexpr const char* kPatient = "timeout = \"5s\"\nconnect_timeout = \"5s\"\n";

  static testing::MemcachedServer launch(testing::MemcachedServer::Options options = {});
  /// `settings` of the manager.
  void configureNotes(const std::vector<std::string>& servers,
                      const std::string& settings = kQuickProbes);
  /// Writes every page anew, in a process of its own; when it returns, the old ones are over.
  void publish(int pages, const std::string& version, const std::string& rest = {});

  /// Every page, as it is now; how many were hits.
  int expectCurrentPages();
  /// Whether it was a hit.
  bool expectCurrent(int page);
  void expectCurrentOverview();

  /// Everything that was counted because a server or what it held was not right.
  std::uint64_t troubles();
  /// Of the manager.
  std::uint64_t stat(const std::string& name);

  int pages_ = 0;
  std::string version_;
};

}  // namespace larder::e2e
