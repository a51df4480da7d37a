#include "larder/cache/lease.h"

#include <sodium.h>

#include <array>

namespace larder {

Lease::Taken Lease::take(LeaseStore& store, const CacheKey& key, Millis ttl,
                         Deadline deadline) noexcept {
  if (token_.empty()) {
    std::array<unsigned char, 12> random;
    std::array<char, 2 * random.size() + 1> text;
    ::randombytes_buf(random.data(), random.size());
    token_ = ::sodium_bin2hex(text.data(), text.size(), random.data(), random.size());
  }
  const auto taken = store.lease(key, token_, ttl, deadline);
  if (!taken.ok) {
    if (hopeless_) *hopeless_ |= taken.reason == Reason::timeout;
    return taken.reason == Reason::exists ? Taken::busy : Taken::none;
  }
  store_ = &store;
  key_ = key.digest;
  deadline_ = deadline;
  return Taken::mine;
}

// A store that cannot be told now lets the lease run out.
void Lease::end() noexcept {
  const bool hopeless = hopeless_ ? *hopeless_ : own_;
  if (store_ && !hopeless) store_->endLease({{}, key_, 0}, token_, deadline_);
  store_ = nullptr;
}

}  // namespace larder
