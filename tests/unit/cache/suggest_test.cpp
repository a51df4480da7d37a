#include "larder/cache/suggest.h"

#include <gtest/gtest.h>

#include <array>

namespace larder {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"max_size", "max_age", "servers", "prefix"};

TEST(NearestName, ForgivesTypingErrors) {
  EXPECT_EQ(nearestName("max_siz", kNames), "max_size");
  EXPECT_EQ(nearestName("maxsize", kNames), "max_size");
  EXPECT_EQ(nearestName("perfix", kNames), "prefix");
  EXPECT_EQ(nearestName("server", kNames), "servers");
}

TEST(NearestName, IgnoresCase) {
  EXPECT_EQ(nearestName("SERVERS", kNames), "servers");
}

TEST(NearestName, DoesNotGuessWhenNothingIsNear) {
  EXPECT_EQ(nearestName("colour", kNames), std::nullopt);
  EXPECT_EQ(nearestName("", kNames), std::nullopt);
  EXPECT_EQ(nearestName("x", {}), std::nullopt);
}

TEST(NearestName, PrefersTheFirstOfEquallyNearOnes) {
  constexpr std::array<std::string_view, 2> names = {"cat", "car"};
  EXPECT_EQ(nearestName("cab", names), "cat");
}

TEST(NearestName, TakesALongNameWithoutWork) {
  EXPECT_EQ(nearestName(std::string(1'000'000, 'x'), kNames), std::nullopt);
}

TEST(DidYouMean, NamesTheNearest) {
  EXPECT_EQ(didYouMean("max_siz", kNames), "; did you mean 'max_size'?");
}

TEST(DidYouMean, ListsAllWhenNothingIsNear) {
  EXPECT_EQ(didYouMean("colour", kNames), "; valid here: max_size, max_age, servers, prefix");
}

TEST(DidYouMean, SaysNothingWithoutCandidates) {
  EXPECT_EQ(didYouMean("colour", {}), "");
}

}  // namespace
}  // namespace larder
