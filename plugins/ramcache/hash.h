// The hash that places a key in its cache: bits 0-31 choose the bucket, 32-47 the shard, 48-63 are
// the tag. Digests are the same in every process, so whoever chooses keys could choose many that
// share their low bits; the seeds, drawn for each cache, prevent that.
#pragma once

#include <cstdint>
#include <random>

#include "larder/key.h"

namespace larder::ram {

using Hash = std::uint64_t;

class Hasher {
 public:
  Hasher() : a_(draw()), b_(draw()) {}
  Hash operator()(const Digest& digest) const noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{digest.low ^ a_} * Wide{digest.high ^ b_};
    return static_cast<Hash>(product) ^ static_cast<Hash>(product >> 64U);
  }

 private:
  static std::uint64_t draw() {
    std::random_device random;
    return (std::uint64_t{random()} << 32U) | random();
  }
  std::uint64_t a_;
  std::uint64_t b_;
};

}  // namespace larder::ram
