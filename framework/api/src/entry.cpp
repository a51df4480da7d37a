#include "larder/entry.h"

namespace larder {

std::size_t CacheEntry::weight() const noexcept {
  std::size_t n = sizeof(CacheEntry) + key.capacity() + value.bytes() +
                  scopes.capacity() * sizeof(ScopeId) + scope_names.capacity() +
                  inputs.capacity() * sizeof(std::string);
  for (const auto& name : inputs) n += name.capacity();
  return n;
}

}  // namespace larder
