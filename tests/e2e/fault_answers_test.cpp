// The whole server while its memcached gives wrong answers: no 5xx, no wrong page, no old one.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "notes_fixture.h"
#include "relay.h"

namespace larder::e2e {
namespace {

struct WrongAnswers {
  const char* name;
  std::function<Relay::Alter()> make;
};

/// The answer with `change` made to each "VALUE key flags size" line.
std::string eachHead(const std::string& answer,
                     const std::function<std::string(const std::string&)>& change) {
  std::string out;
  std::size_t done = 0;
  for (auto at = answer.find("VALUE "); at != std::string::npos; at = answer.find("VALUE ", done)) {
    const auto end = answer.find("\r\n", at);
    if (end == std::string::npos) break;
    out += answer.substr(done, at - done) + change(answer.substr(at, end - at));
    done = end;
  }
  return out + answer.substr(done);
}

std::string withSize(const std::string& head, const std::string& size) {
  return head.substr(0, head.rfind(' ') + 1) + size;
}

class WrongAnswersTest : public NotesTest, public ::testing::WithParamInterface<WrongAnswers> {};

TEST_P(WrongAnswersTest, FaultA31_NoVisitorSeesThem) {
  auto memcached = launch();
  Relay relay(memcached.address());
  configureNotes({relay.address()});
  publish(kMembers, "version-1");
  const auto server = serve();
  expectCurrentPages();
  expectCurrentOverview();

  const auto before = troubles();
  relay.answers(GetParam().make());
  expectCurrentPages();
  expectCurrentOverview();
  EXPECT_GT(troubles(), before);
  publish(kMembers, "version-2");
  expectCurrentPages();
  expectCurrentOverview();

  relay.pass();
  EXPECT_TRUE(eventually([&] { return expectCurrent(0); }));
  expectCurrentPages();
  expectCurrentOverview();
}

INSTANTIATE_TEST_SUITE_P(
    , WrongAnswersTest,
    ::testing::Values(
        WrongAnswers{"Delayed",
                     [] {
                       return [](std::string answer) -> std::optional<std::string> {
                         std::this_thread::sleep_for(std::chrono::milliseconds(80));
                         return answer;
                       };
                     }},
        WrongAnswers{"CutOff",
                     [] { return [](std::string) -> std::optional<std::string> { return {}; }; }},
        WrongAnswers{"Truncated",
                     [] {
                       return [](std::string answer) -> std::optional<std::string> {
                         return answer.substr(0, answer.size() * 2 / 3);
                       };
                     }},
        WrongAnswers{"OfTheQuestionBefore",
                     [] {
                       struct Last {
                         std::mutex mutex;
                         std::string answer;
                       };
                       return [last = std::make_shared<Last>()](
                                  std::string answer) -> std::optional<std::string> {
                         const std::lock_guard lock(last->mutex);
                         std::swap(answer, last->answer);
                         return answer;
                       };
                     }},
        WrongAnswers{"UnderAnotherKey",
                     [] {
                       return [](const std::string& answer) -> std::optional<std::string> {
                         return eachHead(answer, [](std::string head) {
                           head[head.find(' ', 6) - 1] ^= 1;
                           return head;
                         });
                       };
                     }},
        WrongAnswers{"LongerThanTheySay",
                     [] {
                       return [](const std::string& answer) -> std::optional<std::string> {
                         return eachHead(
                             answer, [](const std::string& head) { return withSize(head, "3"); });
                       };
                     }},
        WrongAnswers{"OfAnAbsurdLength",
                     [] {
                       return [](const std::string& answer) -> std::optional<std::string> {
                         return eachHead(answer, [](const std::string& head) {
                           return withSize(head, "18446744073709551615");
                         });
                       };
                     }},
        WrongAnswers{"Damaged",
                     [] {
                       return [](std::string answer) -> std::optional<std::string> {
                         const auto body = answer.find("version-");
                         if (body != std::string::npos) answer[body] ^= 1;
                         return answer;
                       };
                     }},
        WrongAnswers{"GarbageAtTheEnd",
                     [] {
                       return [](const std::string& answer) -> std::optional<std::string> {
                         return answer + "garbage\r\n";
                       };
                     }},
        WrongAnswers{"ServerError",
                     [] {
                       return [](const std::string&) -> std::optional<std::string> {
                         return "SERVER_ERROR out of order\r\n";
                       };
                     }}),
    [](const auto& run) { return run.param.name; });

}  // namespace
}  // namespace larder::e2e
