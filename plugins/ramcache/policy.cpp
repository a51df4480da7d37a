#include "policy.h"

#include "s3fifo.h"
#include "sieve.h"

namespace larder::ram {

std::unique_ptr<Policy> makePolicy(std::string_view name, NodePool& nodes,
                                   const std::atomic<std::size_t>& entries) {
  if (name == "sieve") return std::make_unique<Sieve>(nodes);
  return std::make_unique<S3Fifo>(nodes, entries);
}

}  // namespace larder::ram
