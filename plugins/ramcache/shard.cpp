#include "shard.h"

namespace larder::ram {

namespace {

constexpr std::size_t kFirstBuckets = 4;

bool isLate(const CacheEntry& fresh, const CacheEntry& present) noexcept {
  return present.stamp.era == fresh.stamp.era && present.stamp.as_of > fresh.stamp.as_of &&
         present.key() == fresh.key();
}

}  // namespace

Shard::Shard(const Common& common, TableCell& cell)
    : common_(common),
      cell_(cell),
      table_(std::make_unique<Table>(kFirstBuckets)),
      shares_(common.shares),
      policy_(makePolicy(common.policy, nodes_, shares_)) {
  cell_.store(table_->view().word(), std::memory_order_release);
}

Shard::~Shard() {
  for (NodeIndex i = 0; i < nodes_.end(); ++i) {
    if (!nodes_[i].entry) continue;
    if (retired_.room() == 0) retired_.reclaim();
    retired_.add(nodes_[i].entry);
  }
}

Found Shard::findLocked(const CacheKey& key, Hash hash, const CacheEntry*& entry) const noexcept {
  Table::Position at;
  if (!table_->find(hash, key.digest, at)) return Found::nothing;
  entry = nodes_[at.node].entry;
  return entry->key() == key.bytes ? Found::entry : Found::other_key;
}

Shard::Put Shard::put(Hash hash, EntryPtr& entry, std::uint32_t weight, std::uint32_t expires,
                      std::uint32_t now) {
  shares_.prepare(entry->partition);
  Table::Position at;
  if (table_->find(hash, entry->digest, at)) {
    EntryNode& node = nodes_[at.node];
    if (node.expires >= now && isLate(*entry, *node.entry)) {
      ++counters_.late;
      return Put::late;
    }
    entry->uses.store(node.entry->uses.load(std::memory_order_relaxed), std::memory_order_relaxed);
    table_->replace(at.slot, entry.get());
    retired_.add(node.entry);
    shares_.add(node.entry->partition, -std::size_t{node.weight});
    const auto before = std::exchange(node.weight, weight);
    node.entry = entry.detach();
    node.expires = expires;
    policy_->update(at.node, before);
    shares_.add(node.entry->partition, std::size_t{weight});
    entry_bytes_ += std::size_t{weight} - before;
    ++counters_.replaced;
    return Put::replaced;
  }
  makeRoom();
  const auto index = nodes_.take();
  EntryNode& node = nodes_[index];
  entry->uses.store(0, std::memory_order_relaxed);
  table_->insert(hash, entry.get(), index);
  node.entry = entry.detach();
  node.hash = static_cast<std::uint32_t>(hash);
  node.weight = weight;
  node.expires = expires;
  policy_->insert(index);
  shares_.add(node.entry->partition, weight);
  entry_bytes_ += weight;
  ++counters_.stored;
  return Put::stored;
}

bool Shard::erase(const CacheKey& key, Hash hash) noexcept {
  Table::Position at;
  if (!table_->find(hash, key.digest, at)) return false;
  if (nodes_[at.node].entry->key() != key.bytes) return false;
  policy_->remove(at.node);
  drop(at.slot, at.node);
  ++counters_.erased;
  return true;
}

bool Shard::eraseNode(NodeIndex index, const CacheEntry* entry) noexcept {
  if (index >= nodes_.end() || nodes_[index].entry != entry) return false;
  policy_->remove(index);
  drop(table_->slotOf(common_.hash(entry->digest), entry), index);
  ++counters_.erased;
  return true;
}

bool Shard::evict() noexcept {
  const auto index = policy_->evict();
  if (index == kNoNode) return false;
  const CacheEntry* entry = nodes_[index].entry;
  drop(table_->slotOf(common_.hash(entry->digest), entry), index);
  ++counters_.evicted;
  return true;
}

bool Shard::expire(NodeIndex index, std::uint32_t now) noexcept {
  const EntryNode& node = nodes_[index];
  if (!node.entry || node.expires >= now) return false;
  policy_->remove(index);
  drop(table_->slotOf(common_.hash(node.entry->digest), node.entry), index);
  ++counters_.expired;
  return true;
}

NodePool Shard::clear() {
  auto table = std::make_unique<Table>(kFirstBuckets);
  auto policy = makePolicy(common_.policy, nodes_, shares_);
  publish(std::move(table));
  policy_ = std::move(policy);
  shares_.clear();
  entry_bytes_ = 0;
  counters_.erased += nodes_.count();
  return std::exchange(nodes_, {});
}

void Shard::makeRoom() {
  nodes_.prepare();
  policy_->prepare(nodes_.count() + 1);
  if (table_->hasRoom()) return;
  auto table = std::make_unique<Table>(table_->nextBuckets(nodes_.count()));
  table->insertAll(*table_, nodes_);
  publish(std::move(table));
}

void Shard::publish(std::unique_ptr<Table> table) noexcept {
  cell_.store(table->view().word());
  table_->next_old = std::move(old_tables_);
  old_tables_ = std::exchange(table_, std::move(table));
}

void Shard::drop(std::size_t slot, NodeIndex index) noexcept {
  table_->erase(slot);
  const EntryNode& node = nodes_[index];
  retired_.add(node.entry);
  shares_.add(node.entry->partition, -std::size_t{node.weight});
  entry_bytes_ -= node.weight;
  nodes_.give(index);
}

}  // namespace larder::ram
