#include "larder/site/page_offer.h"

#include <algorithm>

#include "larder/site/site.h"
#include "route.h"

namespace larder::site {

// A front server that has the page does not ask for it. That it is asked for again, soon after it
// was published, has other reasons (a visitor who is logged in, who came directly), so it is
// offered again only after a share of its life: in this time what was evicted there comes back.
void Site::offer(const RequestView& request, std::string_view full_path, const Route& route,
                 const Reply& reply) const noexcept {
  const Policy& policy = route.binding->policy;
  if (policy.publish == Publish::none || !options_.publisher || request.method() != "GET") return;
  constexpr Millis kShare = 8;
  const CacheEntry& entry = *reply.entry;
  const auto render = entry.stamp.as_of ^ static_cast<std::uint64_t>(entry.created_wall) ^
                      options_.publisher->epoch() << 48U;
  const auto now = options_.clock->monotonic();
  if (route.offered.load(std::memory_order_relaxed) == render &&
      now < route.offer_again.load(std::memory_order_relaxed)) {
    return;
  }
  const bool taken = options_.publisher->offer({.path = full_path,
                                                .query = request.rawQuery(),
                                                .authority = request.authority(),
                                                .entry = entry,
                                                .known = route.binding->inputs->known(),
                                                .policy = policy,
                                                .revision = route.binding->revision,
                                                .restricted = !route.view->permission.empty(),
                                                .stored = reply.stored,
                                                .stale = reply.outcome == Outcome::hit_stale});
  if (!taken) return;
  route.offered.store(render, std::memory_order_relaxed);
  route.offer_again.store(now + std::max<Millis>(policy.publish_max_age / kShare, 1'000),
                          std::memory_order_relaxed);
}

}  // namespace larder::site
