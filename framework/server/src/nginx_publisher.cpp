#include "nginx_publisher.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "larder/cache/engine.h"
#include "larder/ignore_case.h"
#include "nginx_site.h"

namespace larder::server {
namespace {

constexpr std::string_view kSpace = "nginx";
constexpr std::string_view kCursor = "cursor";
/// Between two looks at the ledger: a fraction of the second in which an edit has to arrive.
constexpr Millis kPoll = 100;
constexpr Millis kFirstPause = 50;
constexpr Millis kMostPause = 400;
/// Between two deletes of what may still arrive.
constexpr Millis kAgain = 400;
constexpr Millis kAll = 10'000;
/// After which others do the owner's work: with a look at the ledger, a part of that second.
constexpr Millis kOwnerPatience = 500;
/// Seconds past their expiry that notes are kept: the server's clock may be read late.
constexpr std::int64_t kMargin = 3;
constexpr std::size_t kMostQueued = 2'000;
constexpr std::size_t kMostPages = 64;
constexpr std::size_t kMostBytes = std::size_t{2} << 20U;
constexpr std::size_t kRows = 256;

constexpr std::array<std::string_view, static_cast<std::size_t>(Publication::count_)> kNames = {
    "published", "withdrawn", "in_doubt", "not_stored",  "query",   "restricted",
    "personal",  "inputs",    "status",   "headers",     "type",    "key",
    "expired",   "changed",   "refused",  "unreachable", "overload"};

std::string_view bodyOf(const PageView& page) noexcept {
  return page.gzip.empty() ? page.body : page.gzip;
}

/// Content-Type aside, what a page may have although nginx will not send it: leave to keep it.
bool canBeLost(const HeaderView& header) noexcept {
  if (equalsIgnoringCase(header.name, "Content-Type")) return true;
  if (!equalsIgnoringCase(header.name, "Cache-Control")) return false;
  constexpr std::array<std::string_view, 3> kBinding = {"private", "no-", "age=0"};
  return std::ranges::none_of(kBinding, [&header](std::string_view directive) {
    return containsIgnoringCase(header.value, directive);
  });
}

}  // namespace

std::string_view publicationName(Publication publication) noexcept {
  return kNames[static_cast<std::size_t>(publication)];
}

/// The one process of the site that works off the ledger's changes: an advisory lock, which ends
/// with the process however it ends.
class NginxPublisher::Owner {
 public:
  explicit Owner(const std::filesystem::path& data)
      : file_(::open((data / "nginx.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ < 0)
      throw std::runtime_error((data / "nginx.lock").string() +
                               " cannot be opened, so nothing is published for nginx: make it "
                               "belong to the user that the server runs as");
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() { ::close(file_); }
  [[nodiscard]] bool hold() noexcept {
    if (!held_) held_ = ::flock(file_, LOCK_EX | LOCK_NB) == 0;
    return held_;
  }
  /// For another process, which reaches memcached.
  void yield() noexcept {
    if (std::exchange(held_, false)) ::flock(file_, LOCK_UN);
  }

 private:
  const int file_;
  bool held_ = false;
};

NginxPublisher::NginxPublisher(NginxConfig config, Lent lent)
    : config_(std::move(config)), lent_(std::move(lent)), link_(config_.memcached, lent_.clock) {}

NginxPublisher::~NginxPublisher() {
  stop();
}

Publication NginxPublisher::refusal(const site::PageOffer& page) const noexcept {
  if (!page.stored) return Publication::not_stored;
  if (page.stale) return Publication::expired;
  if (!page.query.empty()) return Publication::query;
  if (page.restricted) return Publication::restricted;
  if (page.entry.is_private) return Publication::personal;
  // Arguments are what views give each other: a request has none.
  const bool host = nginxKeyHasHost(config_);
  const auto within = [host](const auto& names) {
    return std::ranges::all_of(names, [host](std::string_view name) {
      return name.starts_with("arg:") || (host && name == "host");
    });
  };
  if (!within(page.entry.inputs()) || !within(page.known)) return Publication::inputs;
  const PageView content = *page.entry.value.page();
  if (content.status != 200) return Publication::status;
  if (!std::ranges::all_of(content.headers, canBeLost)) return Publication::headers;
  const auto type = content.header("Content-Type");
  if (!type || *type != nginxType(config_, page.path)) return Publication::type;
  return Publication::published;
}

bool NginxPublisher::offer(const site::PageOffer& page) noexcept try {
  if (const auto why = refusal(page); why != Publication::published) {
    add(why);
    return false;
  }
  auto key = nginxKey(config_, page.path, page.authority);
  if (!key) {
    add(Publication::key);
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= kMostQueued) {
      add(Publication::overload);
      return false;
    }
    queue_.push_back({std::move(*key), EntryPtr(&page.entry), page.policy.publish_max_age,
                      Engine::freshUntil(page.policy, page.entry), page.revision});
  }
  wake_.notify_one();
  return true;
} catch (...) {
  add(Publication::overload);
  return false;
}

bool NginxPublisher::running() noexcept {
  const std::lock_guard lock(starting_);
  return thread_.joinable();
}

void NginxPublisher::start() {
  const std::lock_guard lock(starting_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void NginxPublisher::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  const std::lock_guard lock(starting_);
  if (thread_.joinable()) thread_.join();
}

void NginxPublisher::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const Millis pause = step();
    lock.lock();
    wake_.wait_for(lock, std::chrono::milliseconds(pause),
                   [this] { return stopping_ || !queue_.empty(); });
  }
}

std::vector<NginxPublisher::Offered> NginxPublisher::take() {
  std::vector<Offered> batch;
  std::size_t bytes = 0;
  const std::lock_guard lock(mutex_);
  while (!queue_.empty() && batch.size() < kMostPages && bytes < kMostBytes) {
    bytes += bodyOf(*queue_.front().entry->value.page()).size();
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return batch;
}

void NginxPublisher::report(const std::string& problem) noexcept try {
  if (problem == problem_) return;
  problem_ = problem;
  lent_.log(problem.empty() ? LogLevel::info : LogLevel::warning,
            problem.empty() ? "pages are published for nginx again"
                            : "nothing is published for nginx: " + problem);
} catch (...) {  // for want of memory a line is lost
}

bool NginxPublisher::reconnect(Millis now) noexcept try {
  if (now < connect_at_) return false;
  if (const auto connected = link_.connect(); !connected) {
    report(connected.error().message);
    pause_ = std::clamp(2 * pause_, kFirstPause, kMostPause);
    connect_at_ = now + pause_;
    return false;
  }
  report("");
  pause_ = 0;
  epoch_.fetch_add(1, std::memory_order_relaxed);
  return true;
} catch (...) {
  connect_at_ = now + kMostPause;
  return false;
}

Millis NginxPublisher::step() noexcept try {
  auto batch = take();
  const Millis now = lent_.clock.monotonic();
  link_.check();
  if (!link_.connected() && !reconnect(now)) {
    add(Publication::unreachable, batch.size());
    if (owner_) owner_->yield();
    return std::max<Millis>(connect_at_ - now, 1);
  }
  if (!owner_) owner_ = std::make_unique<Owner>(lent_.data);
  if (owner_->hold() || ownerIsLate(now)) withdraw();
  if (!batch.empty()) publish(std::move(batch));
  return link_.connected() ? kPoll : kFirstPause;
} catch (const std::exception& e) {
  report(e.what());
  return kMostPause;
}

bool NginxPublisher::holds(const Stamp& stamp, std::span<const ScopeId> scopes,
                           std::uint64_t revision) noexcept {
  if (revision != revision_.load(std::memory_order_acquire)) return false;
  auto& ledger = lent_.ledger;
  // Another process may have seen a commit that this one has not.
  if (stamp.as_of > ledger.known().as_of && !ledger.observe()) return false;
  return ledger.judge(stamp, scopes) == Verdict::valid;
}

bool NginxPublisher::ownerIsLate(Millis now) {
  if (now < help_until_) return true;
  if (!lent_.ledger.observe()) return false;
  const auto head = lent_.ledger.known().as_of;
  if (head == worked_off_) return false;
  worked_off_ = storedCursor().value_or(0);
  if (worked_off_ >= awaited_) {
    awaited_ = head;
    awaited_since_ = now;
    return false;
  }
  if (now - awaited_since_ < kOwnerPatience) return false;
  help_until_ = now + kAll;
  return true;
}

// Rows that are not settled are judged again with the others: their sets may arrive at any time.
void NginxPublisher::withdraw() {
  auto& ledger = lent_.ledger;
  if (!ledger.observe()) return;
  const auto version = ledger.version();
  const auto seq = ledger.known().as_of;
  const auto revision = revision_.load(std::memory_order_acquire);
  const Millis now = lent_.clock.monotonic();
  const bool all =
      version != judged_version_ || revision != judged_revision_ || now >= judge_all_at_;
  if (all) {
    judge_all_at_ = now + kAll;
    judged_id_ = 0;
    judged_version_ = 0;  // until this round is complete
  }
  for (;;) {
    const auto pages = lent_.state.published(judged_id_, kRows);
    if (pages.empty()) break;
    if (!withdrawFrom(pages)) return;
    judged_id_ = pages.back().id;
  }
  judged_version_ = version;
  judged_revision_ = revision;
  // After the deletes: whoever else writes may keep it waiting.
  if (all) lent_.state.forgetExpired(link_.now() - kMargin);
  if (cursor_ == seq) return;
  lent_.state.put(kSpace, kCursor, std::to_string(seq));
  cursor_ = seq;
}

bool NginxPublisher::withdrawFrom(std::span<const site::PublishedPage> pages) {
  std::vector<std::string> keys;
  std::vector<std::int64_t> over;
  for (const auto& page : pages) {
    if (holds(page.stamp, page.scopes, page.revision)) continue;
    keys.push_back(page.key);
    if (page.settled)
      over.push_back(page.id);
    else
      judge_all_at_ = std::min(judge_all_at_, lent_.clock.monotonic() + kAgain);
  }
  if (link_.erase(keys) < keys.size()) return false;
  add(Publication::withdrawn, over.size());
  lent_.state.forgetPublished(over);
  return true;
}

void NginxPublisher::publish(std::vector<Offered> batch) {
  if (!link_.connected() || !lent_.ledger.observe())
    return add(Publication::unreachable, batch.size());
  const Millis now = lent_.clock.monotonic();
  std::vector<site::PublishedPage> notes;
  std::vector<Offered> ready;
  for (Offered& page : batch) {
    const CacheEntry& entry = *page.entry;
    const Millis seconds = std::min(page.max_age, page.fresh_until - now) / 1000;
    if (!holds(entry.stamp, entry.scopes(), page.revision)) {
      add(Publication::changed);
    } else if (seconds < 1) {
      add(Publication::expired);
    } else {
      notes.push_back({.key = page.key,
                       .stamp = entry.stamp,
                       .scopes = {entry.scopes().begin(), entry.scopes().end()},
                       .revision = page.revision,
                       .expires = link_.now() + seconds});
      ready.push_back(std::move(page));
    }
  }
  lent_.state.notePublished(notes);
  std::vector<Offered> sent;
  std::vector<MemcachedLink::Item> items;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    if (notes[i].id == 0) continue;
    const PageView content = *ready[i].entry->value.page();
    items.push_back({.key = notes[i].key,
                     .value = bodyOf(content),
                     .flags = content.gzip.empty() ? 0 : kNginxGzipFlag,
                     .expires = notes[i].expires});
    sent.push_back(std::move(ready[i]));
  }
  const auto answers = link_.set(items);
  add(Publication::in_doubt, notes.size() - sent.size());
  std::erase_if(notes, [](const site::PublishedPage& note) { return note.id == 0; });
  conclude(sent, notes, answers);
}

void NginxPublisher::conclude(std::span<const Offered> sent,
                              std::span<const site::PublishedPage> notes,
                              std::span<const MemcachedLink::Answer> answers) {
  using Answer = MemcachedLink::Answer;
  const bool observed = lent_.ledger.observe();
  std::vector<std::int64_t> settled;
  std::vector<std::string> wrong_keys;
  std::vector<std::int64_t> wrong;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (answers[i] == Answer::unknown) {
      add(Publication::in_doubt);
      continue;
    }
    const bool stored = answers[i] == Answer::stored;
    if (stored && observed && holds(notes[i].stamp, notes[i].scopes, notes[i].revision)) {
      add(Publication::published);
      settled.push_back(notes[i].id);
      continue;
    }
    add(stored ? Publication::changed : Publication::refused);
    wrong_keys.push_back(notes[i].key);
    wrong.push_back(notes[i].id);
  }
  wrong.resize(link_.erase(wrong_keys));  // the others may still be there: their notes stay
  lent_.state.forgetPublished(wrong);
  lent_.state.settlePublished(settled);
}

std::optional<std::uint64_t> NginxPublisher::storedCursor() const {
  const auto text = lent_.state.get(kSpace, kCursor);
  if (!text) return std::nullopt;
  std::uint64_t cursor = 0;
  std::from_chars(text->data(), text->data() + text->size(), cursor);
  return cursor;
}

std::uint64_t NginxPublisher::outbox() const {
  const auto head = lent_.ledger.known().as_of;
  const auto cursor = storedCursor().value_or(head);
  return head > cursor ? head - cursor : 0;
}

}  // namespace larder::server
