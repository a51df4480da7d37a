#include "larder/entry.h"

#include <cstring>
#include <new>

#include "heap_size.h"

namespace larder {

std::unique_ptr<CacheEntry> CacheEntry::make(const CacheKey& key) {
  const std::size_t size = key.bytes.size();
  void* block = ::operator new(sizeof(CacheEntry) + size);
  char* bytes = static_cast<char*>(block) + sizeof(CacheEntry);
  if (size != 0) std::memcpy(bytes, key.bytes.data(), size);
  return std::unique_ptr<CacheEntry>(::new (block) CacheEntry(key, {bytes, size}));
}

std::size_t CacheEntry::weight() const noexcept {
  std::size_t n = heapBytes(sizeof(CacheEntry) + key.size()) + value.bytes() + heapBytes(scopes) +
                  heapBytes(scope_names) + heapBytes(inputs);
  for (const auto& name : inputs) n += heapBytes(name);
  return n;
}

}  // namespace larder
