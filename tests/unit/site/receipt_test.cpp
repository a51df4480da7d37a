#include "receipt.h"

#include <gtest/gtest.h>

namespace larder::site {
namespace {

constexpr Millis kNow = 1'700'000'000'000;
constexpr Receipt kReceipt{0xfedcba9876543210U, 42};

TEST(Receipts, LedgerL21_WhatWasIssuedIsRead) {
  const Receipts receipts(nullptr);
  const auto read = receipts.read(receipts.issue(kReceipt, kNow), kNow);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->era, kReceipt.era);
  EXPECT_EQ(read->seq, kReceipt.seq);
}

TEST(Receipts, LedgerL21_NoChangedByteIsBelieved) {
  const Receipts receipts(nullptr);
  const auto text = receipts.issue(kReceipt, kNow);
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'0', '1', 'f', '.', '\0'}) {
      auto changed = text;
      changed[i] = c;
      EXPECT_TRUE(changed == text || !receipts.read(changed, kNow)) << changed;
    }
    EXPECT_FALSE(receipts.read(text.substr(0, i), kNow));
  }
  EXPECT_FALSE(receipts.read(text + "0", kNow));
}

TEST(Receipts, LedgerL21_AnotherSitesIsNotBelieved) {
  EXPECT_FALSE(Receipts(nullptr).read(Receipts(nullptr).issue(kReceipt, kNow), kNow));
}

TEST(Receipts, LedgerL21_IsShortLived) {
  const Receipts receipts(nullptr);
  const auto text = receipts.issue(kReceipt, kNow);
  EXPECT_TRUE(receipts.read(text, kNow + Receipts::kLifetime - 1));
  EXPECT_FALSE(receipts.read(text, kNow + Receipts::kLifetime));
  EXPECT_FALSE(receipts.read(text, kNow - 2 * Receipts::kLifetime)) << "the clock was set back";
}

}  // namespace
}  // namespace larder::site
