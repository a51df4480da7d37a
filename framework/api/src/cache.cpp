#include "larder/cache.h"

namespace larder {

std::string_view reasonName(Reason reason) noexcept {
  switch (reason) {
    case Reason::none:
      return "none";
    case Reason::cold:
      return "cold";
    case Reason::expired:
      return "expired";
    case Reason::other_key:
      return "other_key";
    case Reason::damaged:
      return "damaged";
    case Reason::old_format:
      return "old_format";
    case Reason::too_large:
      return "too_large";
    case Reason::full:
      return "full";
    case Reason::exists:
      return "exists";
    case Reason::timeout:
      return "timeout";
    case Reason::unreachable:
      return "unreachable";
    case Reason::breaker:
      return "breaker";
    case Reason::protocol:
      return "protocol";
    case Reason::unsupported:
      return "unsupported";
  }
  return "unknown";
}

}  // namespace larder
