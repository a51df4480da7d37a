#include "larder/cache/normaliser.h"

#include <gtest/gtest.h>

#include "larder/cache/key_builder.h"
#include "larder/cache/learned_inputs.h"

namespace larder {
namespace {

using Text = std::optional<std::string>;

Text apply(std::string_view normaliser, std::optional<std::string_view> value) {
  const auto parsed = Normaliser::parse(normaliser);
  if (!parsed) {
    ADD_FAILURE() << parsed.error().message;
    return std::nullopt;
  }
  // As the key sees it: by the name alone.
  const auto again = Normaliser::ofInput(parsed->inputName());
  EXPECT_TRUE(again) << parsed->inputName();
  EXPECT_EQ(again->apply(value), parsed->apply(value));
  return parsed->apply(value);
}

TEST(Normaliser, LowersAscii) {
  EXPECT_EQ(apply("param:q lower", "ÄbC"), "Äbc");
  EXPECT_EQ(apply("param:q lower", ""), "");
  EXPECT_EQ(apply("param:q lower", {}), Text());
}

TEST(Normaliser, WritesWholeNumbersInOneWay) {
  EXPECT_EQ(apply("param:page integer", "007"), "7");
  EXPECT_EQ(apply("param:page integer", "+7"), "7");
  EXPECT_EQ(apply("param:page integer", "-0"), "0");
  EXPECT_EQ(apply("param:page integer", "-012"), "-12");
  EXPECT_EQ(apply("param:page integer", "000"), "0");
  EXPECT_EQ(apply("param:page integer", "123456789012345678901234567890"),
            "123456789012345678901234567890");
  for (const char* text : {"", "-", "1.0", "1e3", " 1", "0x1", "١"})
    EXPECT_EQ(apply("param:page integer", text), Text()) << text;
}

TEST(Normaliser, TakesOneOfAList) {
  EXPECT_EQ(apply("param:sort one-of name date", "date"), "date");
  EXPECT_EQ(apply("param:sort one-of name date", "size"), "name");
  EXPECT_EQ(apply("param:sort one-of name date", {}), Text());
}

TEST(Normaliser, ChoosesTheBestLanguage) {
  const char* n = "header:Accept-Language language en de pt-BR";
  EXPECT_EQ(apply(n, "de"), "de");
  EXPECT_EQ(apply(n, "de-AT, en;q=0.8"), "de") << "the longer tag goes to the shorter";
  EXPECT_EQ(apply(n, "fr, de;q=0.5, en;q=0.9"), "en");
  EXPECT_EQ(apply(n, "PT-br"), "pt-BR");
  EXPECT_EQ(apply(n, "de;q=0"), "en");
  EXPECT_EQ(apply(n, "*"), "en");
  EXPECT_EQ(apply(n, ";;,,q=,de;q=9"), "en") << "no weight of 9";
  EXPECT_EQ(apply(n, {}), "en");
}

TEST(Normaliser, SaysWhatIsWrong) {
  const auto problem = [](const char* text) {
    const auto parsed = Normaliser::parse(text);
    return parsed ? std::string("nothing") : parsed.error().message;
  };
  EXPECT_NE(problem("param:page").find("INPUT KIND"), std::string::npos);
  EXPECT_NE(problem("param:page intger").find("integer"), std::string::npos);
  EXPECT_NE(problem("user lower").find("param:NAME"), std::string::npos);
  EXPECT_NE(problem("param: lower").find("param:NAME"), std::string::npos);
  EXPECT_NE(problem("param:s one-of").find("which values"), std::string::npos);
  EXPECT_NE(problem("param:s integer 3").find("no values"), std::string::npos);
  EXPECT_NE(problem("param:s one-of a:b").find("a:b"), std::string::npos);
}

// A page made of the raw value must never be found by the simplified one.
TEST(Normaliser, LedgerL18_RawAndNormalisedAreTwoInputs) {
  const auto normaliser = Normaliser::parse("param:page integer");
  ASSERT_TRUE(normaliser);
  const InputNames both = joinInputs({"param:page"}, {normaliser->inputName()});
  EXPECT_EQ(both.size(), 2U);
  EXPECT_EQ(plainInput(normaliser->inputName()), "param:page");
  EXPECT_EQ(enumerationOf(normaliser->inputName()), "params");
}

}  // namespace
}  // namespace larder
