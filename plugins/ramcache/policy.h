// Policy: which entry of a shard has to go when there is no room.
//
// It sees nodes come and go; hits it sees only by CacheEntry::uses, which a hit raises up to
// kMaxUses, so that hits need not wait for it. Called with the shard's mutex held: it must not
// block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "node_pool.h"
#include "shares.h"

namespace larder::ram {

/// Uses beyond this are not counted.
inline constexpr std::uint8_t kMaxUses = 3;

class Policy {
 public:
  virtual ~Policy() = default;
  /// Makes sure that the other functions need no memory for `entries` of them. Throws
  /// std::bad_alloc.
  virtual void prepare(std::size_t entries) = 0;
  /// A new node: all but what belongs to the policy is set.
  virtual void insert(NodeIndex node) noexcept = 0;
  /// A node has got another entry of its key, and weighed `before`.
  virtual void update(NodeIndex node, std::size_t before) noexcept = 0;
  /// A node goes for another reason than the policy.
  virtual void remove(NodeIndex node) noexcept = 0;
  /// Removes the node that can best be spared; kNoNode when there is none. Looks at a bounded
  /// number of nodes.
  virtual NodeIndex evict() noexcept = 0;
  /// Memory that it uses itself.
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
};

inline constexpr std::string_view kPolicies[] = {"s3fifo", "sieve"};

/// The policy of this name, one of kPolicies, for the nodes of one shard, whose shares they
/// take; both outlive it.
std::unique_ptr<Policy> makePolicy(std::string_view name, NodePool& nodes, const Shares& shares);

}  // namespace larder::ram
