// ChaosSite: what a running site of the chaos app may answer, and what of it has been answered.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

namespace larder::e2e {

/// Rows 1 .. 6 and objects 100 .. 103.
inline constexpr std::array<int, 10> kChaosItems{1, 2, 3, 4, 5, 6, 100, 101, 102, 103};

/// One request as its visitor knows it.
struct ChaosRequest {
  std::string view;
  std::string path;
  std::string user;   ///< "-": nobody
  std::string query;  ///< "-": none
  /// When it began: what was acknowledged then must be in the answer.
  std::map<int, std::uint64_t> least;
  std::int64_t rendered_after = 0;  ///< ns of CLOCK_MONOTONIC
};

struct ChaosVerdict {
  std::string stale;
  std::string foreign;
};

/// Thread-safe.
class ChaosSite {
 public:
  explicit ChaosSite(std::uint16_t port) : port_(port) {}
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// Held by whoever asks; alone by who takes the site away.
  std::shared_mutex in_use;

  /// The file holds just this; nothing else was ever written to it.
  void begin(const std::map<int, std::uint64_t>& versions);
  /// Is being written, and may be seen from now on.
  void issue(int item, std::uint64_t version);
  void acknowledge(int item, std::uint64_t version);
  /// Everything that was rendered before `time` was invalidated.
  void acknowledgeInvalidation(std::int64_t time);

  /// Fills in what the answer of a request that begins now must hold.
  void expect(ChaosRequest& request) const;
  [[nodiscard]] ChaosVerdict judge(const ChaosRequest& request, const std::string& body) const;

 private:
  const std::uint16_t port_;
  mutable std::mutex mutex_;
  std::map<int, std::uint64_t> least_;
  std::vector<int> item_of_;  ///< by version
  std::int64_t rendered_after_ = 0;
};

}  // namespace larder::e2e
