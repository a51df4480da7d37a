#include "policy.h"

#include "s3fifo.h"
#include "sieve.h"

namespace larder::ram {

std::unique_ptr<Policy> makePolicy(std::string_view name, NodePool& nodes, const Shares& shares) {
  if (name == "sieve") return std::make_unique<Sieve>(nodes, shares);
  return std::make_unique<S3Fifo>(nodes, shares);
}

}  // namespace larder::ram
