#include "control_channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

namespace larder::server {
namespace {

using nlohmann::json;

struct Pair {
  Pair() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0); }
  int ends[2] = {-1, -1};
};

TEST(ControlChannel, AnswersAQuestion) {
  const Pair pair;
  ControlChannel worker(pair.ends[1], {.answer = [](const json& question) {
                          return json{{"twice", 2 * question.at("number").get<int>()}};
                        }});
  ControlChannel supervisor(pair.ends[0], {});
  const auto answer = supervisor.ask({{"number", 21}}, 10'000);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->at("twice"), 42);
}

TEST(ControlChannel, DeliversEvents) {
  const Pair pair;
  std::promise<json> event;
  ControlChannel supervisor(pair.ends[0], {.event = [&](const json& e) { event.set_value(e); }});
  ControlChannel worker(pair.ends[1], {});
  EXPECT_TRUE(worker.tell({{"event", "ready"}}));
  EXPECT_EQ(event.get_future().get().at("event"), "ready");
}

TEST(ControlChannel, CarriesLargeAnswers) {
  const Pair pair;
  const std::string large(3'000'000, 'x');
  ControlChannel worker(pair.ends[1], {.answer = [&](const json&) {
                          return json{{"text", large}};
                        }});
  ControlChannel supervisor(pair.ends[0], {});
  const auto answer = supervisor.ask(json::object(), 30'000);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->at("text").get<std::string>().size(), large.size());
}

TEST(ControlChannel, AsksFromSeveralThreads) {
  const Pair pair;
  ControlChannel worker(pair.ends[1], {.answer = [](const json& question) {
                          return json{{"number", question.at("number")}};
                        }});
  ControlChannel supervisor(pair.ends[0], {});
  std::vector<std::future<bool>> threads;
  for (int i = 0; i < 4; ++i) {
    threads.push_back(std::async(std::launch::async, [&supervisor, i] {
      for (int n = 0; n < 100; ++n) {
        const auto answer = supervisor.ask({{"number", 1000 * i + n}}, 10'000);
        if (!answer || answer->at("number") != 1000 * i + n) return false;
      }
      return true;
    }));
  }
  for (auto& thread : threads) EXPECT_TRUE(thread.get());
}

TEST(ControlChannel, NoticesThatTheOtherEndIsGone) {
  const Pair pair;
  std::promise<void> closed;
  ControlChannel supervisor(pair.ends[0], {.closed = [&] { closed.set_value(); }});
  ::close(pair.ends[1]);
  closed.get_future().wait();
  const auto answer = supervisor.ask(json::object(), 10'000);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "it has ended");
}

TEST(ControlChannel, SilenceIsAnError) {
  const Pair pair;
  ControlChannel supervisor(pair.ends[0], {});
  const auto answer = supervisor.ask(json::object(), 1);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "it does not answer");
  ::close(pair.ends[1]);
}

TEST(ControlChannel, FaultA40_OneThatDoesNotReadHoldsNobodyAndIsUnderstoodLater) {
  const Pair pair;
  ControlChannel supervisor(pair.ends[0], {});
  for (int i = 0; i < 4; ++i) {
    const auto answer = supervisor.ask({{"text", std::string(300'000, 'x')}}, 5);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().message, "it does not answer");
  }
  ControlChannel worker(pair.ends[1], {.answer = [](const json& question) {
                          return json{{"twice", 2 * question.value("number", 0)}};
                        }});
  const auto answer = supervisor.ask({{"number", 21}}, 10'000);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->at("twice"), 42);
}

TEST(ControlChannel, NonsenseEndsIt) {
  const Pair pair;
  std::promise<void> closed;
  ControlChannel supervisor(pair.ends[0], {.closed = [&] { closed.set_value(); }});
  const std::string nonsense("\x02\0\0\0[]", 6);
  ASSERT_EQ(::send(pair.ends[1], nonsense.data(), nonsense.size(), 0), 6);
  closed.get_future().wait();
  ::close(pair.ends[1]);
}

}  // namespace
}  // namespace larder::server
