#include "larder/entry.h"

#include <cstring>
#include <new>

#include "heap_size.h"

namespace larder {

namespace {
/// operator new aligns to 16 bytes; this much more always holds an object on a cache line of its
/// own. (An aligned operator new is slower and leaves holes.)
constexpr std::size_t kRoomToAlign = alignof(CacheEntry) - __STDCPP_DEFAULT_NEW_ALIGNMENT__;

std::size_t blockSize(std::size_t key_bytes) noexcept {
  return sizeof(CacheEntry) + key_bytes + kRoomToAlign;
}
}  // namespace

std::unique_ptr<CacheEntry> CacheEntry::make(const CacheKey& key) {
  const std::size_t size = key.bytes.size();
  void* const block = ::operator new(blockSize(size));
  void* place = block;
  std::size_t space = blockSize(size);
  std::align(alignof(CacheEntry), sizeof(CacheEntry) + size, place, space);
  char* bytes = static_cast<char*>(place) + sizeof(CacheEntry);
  if (size != 0) std::memcpy(bytes, key.bytes.data(), size);
  const auto padding = static_cast<std::uint8_t>(blockSize(size) - space);
  return std::unique_ptr<CacheEntry>(::new (place) CacheEntry(key, {bytes, size}, padding));
}

void CacheEntry::operator delete(CacheEntry* entry, std::destroying_delete_t) noexcept {
  void* const block = reinterpret_cast<char*>(entry) - entry->padding_;
  entry->~CacheEntry();
  ::operator delete(block);
}

std::size_t CacheEntry::weight() const noexcept {
  std::size_t n = heapBytes(blockSize(key.size())) + value.bytes() + heapBytes(scopes) +
                  heapBytes(scope_names) + heapBytes(inputs);
  for (const auto& name : inputs) n += heapBytes(name);
  return n;
}

// Apart from drop(), so that ending a reference is a few instructions wherever it happens.
void EntryPtr::destroy(const CacheEntry* entry) noexcept {
  delete entry;
}

}  // namespace larder
