#include "larder/entry.h"

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>

#include "heap_size.h"

namespace larder {

std::unique_ptr<CacheEntry> CacheEntry::make(const CacheKey& key, Reads reads) {
  const std::size_t behind = scopesAt(key.bytes.size()) + reads.scopes.size() * sizeof(ScopeId) +
                             NameList::bytesFor(reads.scopes) + NameList::bytesFor(reads.inputs);
  if (behind > std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("a cache key and the names of what was read take more than 4 GiB");
  void* const block = ::operator new(sizeof(CacheEntry) + behind);
  return std::unique_ptr<CacheEntry>(::new (block) CacheEntry(key, reads));
}

CacheEntry::CacheEntry(const CacheKey& key, const Reads& reads) noexcept
    : digest(key.digest),
      partition(key.partition),
      scope_count_(static_cast<std::uint32_t>(reads.scopes.size())),
      scope_names_size_(static_cast<std::uint32_t>(NameList::bytesFor(reads.scopes))),
      inputs_size_(static_cast<std::uint32_t>(NameList::bytesFor(reads.inputs))),
      key_size_(static_cast<std::uint32_t>(key.bytes.size())) {
  char* const bytes = reinterpret_cast<char*>(this + 1);
  std::copy(key.bytes.begin(), key.bytes.end(), bytes);
  auto* id = reinterpret_cast<ScopeId*>(bytes + scopesAt(key_size_));
  for (const auto& name : reads.scopes) *id++ = hash64(name);
  NameList::write(reads.inputs, NameList::write(reads.scopes, reinterpret_cast<char*>(id)));
}

void CacheEntry::operator delete(void* block) noexcept {
  ::operator delete(block);
}

std::size_t CacheEntry::weight() const noexcept {
  const auto* end = names() + scope_names_size_ + inputs_size_;
  return heapBytes(static_cast<std::size_t>(end - reinterpret_cast<const char*>(this))) +
         value.bytes();
}

// Apart from drop(), so that ending a reference is a few instructions wherever it happens.
void EntryPtr::destroy(const CacheEntry* entry) noexcept {
  delete entry;
}

}  // namespace larder
