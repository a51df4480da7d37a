// Several processes on one store and one memcached: after an edit's answer none of them serves the
// old page, ever.
#include <signal.h>

#include <cstdlib>
#include <random>

#include "site_fixture.h"

namespace larder::e2e {
namespace {

int pairs(int normally) {
  return test::countFrom("LARDER_TEST_PAIRS", normally);
}

class SeveralProcesses : public SiteTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    configureSite(GetParam());
    seed();
  }
  /// Adds a comment and returns its id; 0 when the server did not acknowledge it.
  std::int64_t add(const std::string& text) {
    const auto answer =
        httpAsk(port_, "POST", "/api/v1/comments", "Content-Type: application/json\r\n",
                R"({"user": 3, "text": ")" + text + "\"}");
    return answer.status == 201 ? nlohmann::json::parse(answer.body).at("id").get<std::int64_t>()
                                : 0;
  }
};

TEST_P(SeveralProcesses, Semantics20_AfterAnEditsAnswerNoProcessServesTheOldPage) {
  const auto server = serve({"--processes", "3"});
  const int count = pairs(500);
  for (int i = 0; i < count; ++i) {
    // A warm list in all processes, then the edit, then reads that the kernel spreads over them.
    httpAsk(port_, "GET", "/api/v1/comments/users/3");
    const std::string text = "edit number " + std::to_string(i);
    ASSERT_GT(add(text), 0);
    const auto answer = httpAsk(port_, "GET", "/api/v1/comments/users/3");
    ASSERT_NE(answer.body.find(text + "\""), std::string::npos) << i << " " << cacheStatus(answer);
  }
}

TEST_P(SeveralProcesses, KilledWorkersAndMemcachedLoseNoAcknowledgedEditAndServeNoWrongPage) {
  const auto server = serve({"--processes", "3"});
  // A crawl goes on meanwhile, over the pages that the edits do not change.
  auto pages = crawl(port_);
  std::erase(pages, "/api/v1/comments/users/3");
  const auto bodies = fetchAll(port_, pages);
  std::size_t crawled = 0;
  std::mt19937 random(11);
  std::vector<std::pair<std::int64_t, std::string>> acknowledged;
  for (int i = 0; i < pairs(150); ++i) {
    if (i % 30 == 10) {
      std::vector<pid_t> pids;
      ASSERT_TRUE(eventually([&] { return !(pids = workers()).empty(); }));
      ::kill(pids[random() % pids.size()], SIGKILL);
    }
    if (i % 50 == 25) {
      memcached_->kill();
    } else if (i % 50 == 35) {
      ASSERT_TRUE(memcached_->restart());
    }
    const std::string text = "edit number " + std::to_string(i);
    if (const auto id = add(text); id > 0) acknowledged.emplace_back(id, text);
    const auto& page = pages[random() % pages.size()];
    if (const auto answer = httpAsk(port_, "GET", page); answer.status != 0) {
      ASSERT_EQ(answer.status, 200) << page << answer.body;
      ASSERT_EQ(answer.body, bodies.at(page).body) << page;
      ++crawled;
    }
    // A connection that a killed worker held ends without an answer; whatever is answered is right.
    const auto answer = httpAsk(port_, "GET", "/api/v1/comments/users/3");
    if (answer.status == 0 || acknowledged.empty()) continue;
    ASSERT_EQ(answer.status, 200) << answer.body;
    ASSERT_NE(answer.body.find(acknowledged.back().second + "\""), std::string::npos) << i;
  }
  EXPECT_TRUE(eventually([&] { return workers().size() == 3; }));
  EXPECT_GT(acknowledged.size(), 100U);
  EXPECT_GT(crawled, 100U);
  for (const auto& [id, text] : acknowledged) {
    const auto answer = httpAsk(port_, "GET", "/api/v1/comments/" + std::to_string(id));
    EXPECT_EQ(answer.status, 200);
    EXPECT_NE(answer.body.find(text + "\""), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(, SeveralProcesses, ::testing::Values("MemcachedManager", "TieredManager"),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace larder::e2e
