// NginxPublisher: puts pages under the keys that nginx reads, and takes them away when they are
// over.
//
// Validity stays the ledger's. What is published is noted in the state first, with stamp and scopes
// (L23). Afterwards it is judged like any entry: by who published it, once the server has answered,
// and by one of the site's processes, the owner, after every change of the ledger, whoever made it;
// by the others, too, while the owner is too late with a change (it may hang).
// What is not valid any more is deleted, and its note goes only when that delete was answered. A
// set without an answer may still arrive: its note stays unsettled, nothing else is published under
// that key, and once it is invalid its key is deleted again and again until what may arrive has
// expired.
//
//   NginxPublisher publisher(config.nginx, {...});
//   publisher.revise(revision);
//   publisher.start();                // publishes what it is offered
//
// All but step() from any thread; step() is that thread's, or a test's.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "larder/cache/ledger.h"
#include "larder/clock.h"
#include "larder/host.h"
#include "larder/server/config.h"
#include "larder/site/page_offer.h"
#include "larder/site/state.h"
#include "memcached_link.h"

namespace larder::server {

/// What became of an offered page. Counted.
enum class Publication : std::uint8_t {
  published,
  withdrawn,    ///< deleted, since it was no longer valid
  in_doubt,     ///< sent without an answer, or not sent because of such an earlier one
  not_stored,   ///< not in Larder's own cache either
  query,        ///< asked for with a query
  restricted,   ///< its view asks for a permission
  personal,     ///< read of the user or a session
  inputs,       ///< it read, or its view is known to read, more than the path
  status,       ///< another one than 200
  headers,      ///< it has some that nginx would not send
  type,         ///< nginx would give it another one
  key,          ///< too long, or of a host that nginx writes differently
  expired,      ///< fresh for less than a second
  changed,      ///< over before it was sent
  refused,      ///< by memcached: too large, no memory
  unreachable,  ///< memcached or the store
  overload,     ///< too many at a time
  count_,
};
[[nodiscard]] std::string_view publicationName(Publication publication) noexcept;

class NginxPublisher final : public site::PagePublisher {
 public:
  struct Lent {
    site::State& state;
    Ledger& ledger;
    const Clock& clock;
    std::function<void(LogLevel, std::string_view)> log;
    std::filesystem::path data;  ///< the site's folder; the owner's lock is there
  };
  NginxPublisher(NginxConfig config, Lent lent);
  ~NginxPublisher() override;
  NginxPublisher(const NginxPublisher&) = delete;
  NginxPublisher& operator=(const NginxPublisher&) = delete;

  bool offer(const site::PageOffer& page) noexcept override;
  [[nodiscard]] std::uint64_t epoch() const noexcept override {
    return epoch_.load(std::memory_order_relaxed);
  }
  /// From now on only pages of this revision are published and stay so.
  void revise(std::uint64_t revision) noexcept {
    revision_.store(revision, std::memory_order_release);
  }
  /// Steps on a thread of its own.
  void start();
  void stop() noexcept;
  [[nodiscard]] bool running() noexcept;

  /// One round; ms until the next one is due.
  Millis step() noexcept;

  [[nodiscard]] std::uint64_t count(Publication publication) const noexcept {
    return counts_[static_cast<std::size_t>(publication)].load(std::memory_order_relaxed);
  }
  /// Changes of the ledger that the owner has not worked off.
  [[nodiscard]] std::uint64_t outbox() const;

 private:
  struct Offered {
    std::string key;
    EntryPtr entry;
    Millis max_age = 0;
    Millis fresh_until = 0;
    std::uint64_t revision = 0;
  };
  class Owner;

  [[nodiscard]] Publication refusal(const site::PageOffer& page) const noexcept;
  void add(Publication publication, std::uint64_t by = 1) noexcept {
    counts_[static_cast<std::size_t>(publication)].fetch_add(by, std::memory_order_relaxed);
  }
  [[nodiscard]] std::vector<Offered> take();
  [[nodiscard]] bool reconnect(Millis now) noexcept;
  void report(const std::string& problem) noexcept;
  void run();

  [[nodiscard]] std::optional<std::uint64_t> storedCursor() const;
  [[nodiscard]] bool ownerIsLate(Millis now);
  void withdraw();
  [[nodiscard]] bool withdrawFrom(std::span<const site::PublishedPage> pages);
  [[nodiscard]] bool holds(const Stamp& stamp, std::span<const ScopeId> scopes,
                           std::uint64_t revision) noexcept;
  void publish(std::vector<Offered> batch);
  void conclude(std::span<const Offered> sent, std::span<const site::PublishedPage> notes,
                std::span<const MemcachedLink::Answer> answers);

  const NginxConfig config_;
  Lent lent_;
  MemcachedLink link_;
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Publication::count_)> counts_{};
  std::atomic<std::uint64_t> revision_{0};
  std::atomic<std::uint64_t> epoch_{0};

  std::mutex mutex_;  // guards the next three
  std::condition_variable wake_;
  std::deque<Offered> queue_;
  bool stopping_ = false;
  std::mutex starting_;
  std::thread thread_;

  // Of the thread that steps.
  std::unique_ptr<Owner> owner_;
  std::string problem_;
  Millis connect_at_ = 0;
  Millis pause_ = 0;
  /// How far the owner has judged, and when it judges all again in any case.
  std::uint64_t judged_version_ = 0;
  std::uint64_t judged_revision_ = 0;
  std::int64_t judged_id_ = 0;
  Millis judge_all_at_ = 0;
  std::optional<std::uint64_t> cursor_;
  /// Of a process that is not the owner: what that has worked off, the change that it is to have
  /// worked off next, since when, and until when its work is done here, too.
  std::uint64_t worked_off_ = 0;
  std::uint64_t awaited_ = 0;
  Millis awaited_since_ = 0;
  Millis help_until_ = 0;
};

}  // namespace larder::server
