// The manager against servers that are not well, or no memcached at all.
#include <gmock/gmock.h>
#include <malloc.h>

#include <array>
#include <chrono>
#include <future>
#include <thread>

#include "fake_server.h"
#include "manager_support.h"

namespace larder::testing {
namespace {

using memcached::MemcachedManager;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using Command = FakeServer::Command;
using Talk = FakeServer::Talk;

constexpr Deadline kSoon = kForever;
constexpr Millis kMinute = 60'000;
constexpr Millis kTimeout = 100;
const std::string kTimeoutText = "100ms";

/// Real time, ms.
class Stopwatch {
 public:
  [[nodiscard]] double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// A machine that is busy with other tests may keep a thread waiting on top of the timeout.
constexpr double kPatience = kTimeout + 2000;

std::string reply(const std::string& key, const std::string& value) {
  return "VALUE " + key + " 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\n";
}

class MemcachedFault : public ManagerTest {
 protected:
  std::unique_ptr<MemcachedManager> patient(const FakeServer& server) {
    return open({server.address()}, with("breaker_after", std::int64_t{1000}));
  }
  /// The same with a timeout of kTimeout.
  std::unique_ptr<MemcachedManager> hasty(std::vector<std::string> servers) {
    return open(std::move(servers), {{"breaker_after", {std::int64_t{1000}, "the test"}},
                                     {"timeout", {kTimeoutText, "the test"}}});
  }
  /// Whatever is asked, `text` comes back.
  static FakeServer::Script always(std::string text) {
    return [text = std::move(text)](Talk& talk, const Command&) { talk.say(text); };
  }
};

// ---- FaultA31: what a get must not believe

struct Nonsense {
  const char* name;
  std::string text;
};

class NonsenseToAGet : public MemcachedFault, public ::testing::WithParamInterface<Nonsense> {};

TEST_P(NonsenseToAGet, FaultA31_Semantics28_IsAnErrorAndClosesTheConnection) {
  FakeServer server(always(GetParam().text));
  const auto cache = patient(server);
  for (std::size_t i = 1; i <= 2; ++i) {
    const ByteLookup found = cache->get("key", kSoon);
    EXPECT_EQ(found.status, Status::error);
    EXPECT_EQ(found.reason, Reason::protocol);
    EXPECT_EQ(server.connections(), i);
    EXPECT_EQ(counter(*cache, "errors_protocol"), i);
  }
  EXPECT_EQ(counter(*cache, "misses"), 0u);
  EXPECT_TRUE(server.awaitOpen(0));
}

INSTANTIATE_TEST_SUITE_P(
    Answers, NonsenseToAGet,
    ::testing::Values(
        Nonsense{"AnotherKey", reply("other", "abc") + "END\r\n"},
        Nonsense{"PartOfTheKey", reply("ke", "abc") + "END\r\n"},
        Nonsense{"TheKeyTwice", reply("key", "abc") + reply("key", "abd") + "END\r\n"},
        Nonsense{"AKeyOf300Bytes", reply(std::string(300, 'k'), "abc") + "END\r\n"},
        Nonsense{"AKeyWithoutEnd", "VALUE " + std::string(5000, 'k')},
        Nonsense{"NegativeLength", "VALUE key 0 -1\r\nabc\r\nEND\r\n"},
        Nonsense{"PositiveSign", "VALUE key 0 +3\r\nabc\r\nEND\r\n"},
        Nonsense{"LengthOfFourGiB", "VALUE key 0 4294967296\r\nabc\r\nEND\r\n"},
        Nonsense{"LengthOf64Bits", "VALUE key 0 18446744073709551615\r\nabc\r\nEND\r\n"},
        Nonsense{"LengthOver64Bits", "VALUE key 0 99999999999999999999\r\nabc\r\nEND\r\n"},
        Nonsense{"LengthTooShort", "VALUE key 0 2\r\nabc\r\nEND\r\n"},
        Nonsense{"LengthOneTooLong", "VALUE key 0 4\r\nabc\r\nEND\r\n  "},
        Nonsense{"NoLength", "VALUE key 0\r\nabc\r\nEND\r\n"},
        Nonsense{"NoFlags", "VALUE key  3\r\nabc\r\nEND\r\n"},
        Nonsense{"FlagsOver32Bits", "VALUE key 4294967296 3\r\nabc\r\nEND\r\n"},
        Nonsense{"ACasNobodyAskedFor", "VALUE key 0 3 77\r\nabc\r\nEND\r\n"},
        Nonsense{"NoCarriageReturn", "VALUE key 0 3\nabc\r\nEND\r\n"},
        Nonsense{"GarbageAfterEnd", reply("key", "abc") + "END\r\ngarbage\r\n"},
        Nonsense{"GarbageAfterAMiss", "END\r\ngarbage"}, Nonsense{"TwoEnds", "END\r\nEND\r\n"},
        Nonsense{"ServerError", "SERVER_ERROR out of order\r\n"},
        Nonsense{"ServerErrorAfterAValue", reply("key", "abc") + "SERVER_ERROR no more\r\n"},
        Nonsense{"ClientErrorWithoutText", "CLIENT_ERROR\r\n"}, Nonsense{"Error", "ERROR\r\n"},
        Nonsense{"Stored", "STORED\r\n"}, Nonsense{"BareVersion", "VERSION\r\n"},
        Nonsense{"EmptyLine", "\r\n"}, Nonsense{"BareNewline", "\n"},
        Nonsense{"Number", "18446744073709551616\r\n"},
        Nonsense{"Http", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"},
        Nonsense{"BytesWithoutALine", std::string(70'000, '\xfe')}),
    [](const auto& run) { return run.param.name; });

TEST_F(MemcachedFault, FaultA31_AnEndThatNeverComesIsATimeOutAndTheValueStands) {
  FakeServer server(always(reply("a", "A")));
  const auto cache = hasty({server.address()});
  const std::array<std::string_view, 2> keys = {"a", "b"};
  std::array<ByteLookup, 2> found;
  const Stopwatch watch;
  cache->getMany(keys, found, kSoon);
  EXPECT_LT(watch.ms(), kPatience);
  EXPECT_EQ(valueOf(found[0]), "A");
  EXPECT_EQ(found[1].reason, Reason::timeout);
}

TEST_F(MemcachedFault, FaultA31_ValuesOutOfOrderAreAnError) {
  FakeServer server(always(reply("b", "B") + reply("a", "A") + "END\r\n"));
  const auto cache = patient(server);
  const std::array<std::string_view, 2> keys = {"a", "b"};
  std::array<ByteLookup, 2> found;
  cache->getMany(keys, found, kSoon);
  EXPECT_EQ(found[0].reason, Reason::protocol);
  EXPECT_EQ(found[1].reason, Reason::protocol);
}

TEST_F(MemcachedFault, FaultA31_AnAnswerThatComesTooLateIsNobodysAnswer) {
  FakeServer server([](Talk& talk, const Command& command) {
    if (command.word(1) == "slow") talk.wait(3 * kTimeout);
    talk.say(reply(command.word(1), "value of " + command.word(1)) + "END\r\n");
  });
  const auto cache = hasty({server.address()});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cache->get("slow", kSoon).reason, Reason::timeout);
    EXPECT_EQ(valueOf(cache->get("quick", kSoon)), "value of quick");
  }
}

TEST_F(MemcachedFault, FaultA31_AnAnswerGivenTwiceBelongsToNoLaterQuestion) {
  FakeServer server([](Talk& talk, const Command& command) {
    const std::string answer = reply(command.word(1), command.word(1)) + "END\r\n";
    talk.say(answer);
    if (command.word(1) != "twice") return;
    talk.wait(5);
    talk.say(answer);
  });
  const auto cache = patient(server);
  EXPECT_EQ(valueOf(cache->get("twice", kSoon)), "twice");
  for (int i = 0; i < 20; ++i) {
    const ByteLookup found = cache->get("other", kSoon);
    if (found.status != Status::hit) continue;
    EXPECT_EQ(found.value.data, "other");
  }
}

TEST_F(MemcachedFault, FaultA31_ALyingLengthTakesNoMemory) {
  FakeServer server(always("VALUE key 0 1000000\r\nabc"));
  const auto cache = hasty({server.address()});
  const auto heap = [] {
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  cache->get("key", kSoon);
  const auto before = heap();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(cache->get("key", kSoon).reason, Reason::timeout);
  EXPECT_LT(heap(), before + 200'000);
}

// ---- FaultA31: what everything else must not believe

class NonsenseToACommand : public MemcachedFault,
                           public ::testing::WithParamInterface<const char*> {};

TEST_P(NonsenseToACommand, FaultA31_IsAnErrorAndNoCrash) {
  FakeServer server(always(GetParam()));
  const auto cache = patient(server);
  EXPECT_EQ(cache->put("key", "v", kMinute, kSoon).reason, Reason::protocol);
  EXPECT_EQ(cache->add("key", "v", kMinute, kSoon).reason, Reason::protocol);
  EXPECT_EQ(cache->erase("key", kSoon).reason, Reason::protocol);
  EXPECT_EQ(cache->release("key", "v", kSoon).reason, Reason::protocol);
  EXPECT_TRUE(cache->servers(kSoon)[0].own.empty());
  EXPECT_TRUE(server.awaitOpen(0));
}

INSTANTIATE_TEST_SUITE_P(Answers, NonsenseToACommand,
                         ::testing::Values("OK\r\n", "5\r\n", "VERSION\r\n", "TOUCHED\r\n",
                                           "ERROR\r\n", "\r\n", "STORED and more\r\n",
                                           "VALUE key 0 -1 1\r\n", "VALUE key 0 99999999999 1\r\n",
                                           "VALUE other 0 1 1\r\nv\r\nEND\r\n",
                                           "VALUE key 0 1\r\nv\r\nEND\r\n", "STORED\r\nSTORED\r\n",
                                           "DELETED\r\nx\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"));

TEST_F(MemcachedFault, AValueThatTheServerFindsTooLargeIsTooLarge) {
  FakeServer server(always("SERVER_ERROR object too large for cache\r\n"));
  const auto cache = patient(server);
  EXPECT_EQ(cache->put("key", "v", kMinute, kSoon).reason, Reason::too_large);
  EXPECT_EQ(server.open(), 1u);
}

TEST_F(MemcachedFault, AServerWithoutMemoryIsFull) {
  FakeServer server(always("SERVER_ERROR out of memory storing object\r\n"));
  const auto cache = patient(server);
  EXPECT_EQ(cache->put("key", "v", kMinute, kSoon).reason, Reason::full);
  EXPECT_EQ(server.open(), 1u);
}

TEST_F(MemcachedFault, FaultA27_OnlyWellFormedCommandsArrive) {
  FakeServer server([](Talk& talk, const Command& command) {
    talk.say(command.line.starts_with("get") ? "END\r\n"
             : command.word(0) == "delete"   ? "NOT_FOUND\r\n"
                                             : "STORED\r\n");
  });
  const auto cache = patient(server);
  for (const std::string& evil :
       {std::string("x\r\nset victim 0 0 1\r\nZ"), std::string("a b"), std::string("\0", 1),
        std::string("k\nflush_all"), std::string(300, 'k'), std::string("fine")}) {
    cache->put(evil, "value\r\nset victim 0 0 1\r\nZ\r\n", kMinute, kSoon);
    cache->add(evil, "v", kMinute, kSoon);
    cache->get(evil, kSoon);
    cache->erase(evil, kSoon);
    cache->release(evil, "v", kSoon);
  }
  EXPECT_THAT(server.heard(), ::testing::SizeIs(5));
  EXPECT_THAT(server.heard(), Each(MatchesRegex("(set|add|get|gets|delete) fine( 0 60 [0-9]+)?")));
}

// ---- Greeting

TEST_F(MemcachedFault, WhatDoesNotGreetLikeMemcachedIsNotAsked) {
  for (const auto* greeting : {"HTTP/1.1 400 Bad Request\r\n\r\n", "-ERR unknown command\r\n",
                               "ERROR Too many open connections\r\n", "END\r\n"}) {
    FakeServer server(always(greeting), false);
    const auto cache = patient(server);
    EXPECT_EQ(cache->get("key", kSoon).reason, Reason::protocol);
    EXPECT_THAT(server.heard(), ::testing::Not(::testing::Contains(HasSubstr("key"))));
  }
}

TEST_F(MemcachedFault, ATroubledServerIsDescribedForPeople) {
  FakeServer server(always("SSH-2.0-OpenSSH_9.2\r\n"), false);
  const auto cache = open({server.address()});
  cache->get("key", kSoon);
  cache->get("key", kSoon);
  EXPECT_FALSE(cache->health().ok);
  EXPECT_THAT(cache->health().detail, AllOf(HasSubstr(server.address()), HasSubstr("SSH-2.0")));
  EXPECT_TRUE(host_.logged("SSH-2.0"));
}

TEST_F(MemcachedFault, AProxyThatDoesNotTellItsSettingsIsAskedAllTheSame) {
  FakeServer server(
      [](Talk& talk, const Command& command) {
        talk.say(command.line == "version"          ? "VERSION proxy\r\n"
                 : command.line == "stats settings" ? "ERROR\r\n"
                                                    : "END\r\n");
      },
      false);
  EXPECT_EQ(patient(server)->get("key", kSoon).reason, Reason::cold);
}

// ---- Semantics27: time

TEST_F(MemcachedFault, Semantics27_AServerThatDripsIsGivenOneTimeout) {
  FakeServer server([](Talk& talk, const Command&) {
    talk.say(reply("key", std::string(100, 'd')) + "END\r\n", 10);
  });
  const auto cache = hasty({server.address()});
  const Stopwatch watch;
  EXPECT_EQ(cache->get("key", kSoon).reason, Reason::timeout);
  EXPECT_GE(watch.ms(), kTimeout);
  EXPECT_LT(watch.ms(), kPatience);
}

TEST_F(MemcachedFault, Semantics27_ADrippingGreetingIsGivenOneTimeout) {
  FakeServer server([](Talk& talk, const Command&) { talk.say(std::string(1000, 'V'), 10); },
                    false);
  const auto cache = hasty({server.address()});
  const Stopwatch watch;
  EXPECT_EQ(cache->get("key", kSoon).reason, Reason::timeout);
  EXPECT_LT(watch.ms(), kPatience);
}

TEST_F(MemcachedFault, Semantics27_AServerThatReadsNothingIsGivenOneTimeout) {
  FakeServer server([](Talk& talk, const Command&) { talk.wait(10'000); });
  const auto cache = hasty({server.address()});
  cache->get("key", kSoon);
  for (int i = 0; i < 3; ++i) {
    const Stopwatch watch;
    EXPECT_EQ(cache->put("key", std::string(900'000, 'x'), kMinute, kSoon).reason, Reason::timeout);
    EXPECT_LT(watch.ms(), kPatience);
  }
}

TEST_F(MemcachedFault, Semantics27_AnEarlierDeadlineIsKept) {
  FakeServer server([](Talk& talk, const Command&) { talk.wait(10'000); });
  const auto cache =
      open({server.address()}, {{"timeout", {std::string("10s"), "the test"}},
                                {"connect_timeout", {std::string("10s"), "the test"}}});
  const Stopwatch watch;
  EXPECT_EQ(cache->get("key", clock_.monotonic() + 50).reason, Reason::timeout);
  EXPECT_LT(watch.ms(), kPatience);
  EXPECT_TRUE(cache->health().ok);
}

TEST_F(MemcachedFault, Semantics27_AHungServerTakesNothingFromAHealthyOne) {
  FakeServer hung([](Talk& talk, const Command&) { talk.wait(10'000); });
  FakeServer well([](Talk& talk, const Command& command) {
    std::string answer;
    for (std::size_t i = 1; !command.word(i).empty(); ++i) {
      if (i > 1 && command.word(i) == command.word(i - 1)) break;
      answer += reply(command.word(i), std::string(20'000, 'v'));
    }
    talk.say(answer + "END\r\n");
  });
  const auto cache = hasty({hung.address(), well.address()});
  std::vector<std::string> keys;
  for (int i = 0; i < 40; ++i) keys.push_back("key-" + std::to_string(i));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  for (int round = 0; round < 3; ++round) {
    std::vector<ByteLookup> found(keys.size());
    const Stopwatch watch;
    cache->getMany(views, found, kSoon);
    EXPECT_LT(watch.ms(), kPatience);
    const auto hits = std::count_if(found.begin(), found.end(), [](const auto& answer) {
      return answer.status == Status::hit;
    });
    EXPECT_GT(hits, 5);
    EXPECT_EQ(counter(*cache, well.address(), "errors_timeout"), 0u);
  }
}

TEST_F(MemcachedFault, Semantics27_AfterTwoTimeOutsNobodyAsksTillAProbeSucceeds) {
  std::atomic<bool> hangs{true};
  FakeServer server([&](Talk& talk, const Command&) {
    if (hangs) return talk.wait(10'000);
    talk.say("END\r\n");
  });
  const auto cache = open({server.address()}, with("timeout", kTimeoutText));
  EXPECT_EQ(cache->get("key", kSoon).reason, Reason::timeout);
  EXPECT_EQ(cache->get("key", kSoon).reason, Reason::timeout);
  const std::size_t asked = server.heard().size();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(cache->get("key", kSoon).reason, Reason::breaker);
  EXPECT_EQ(cache->put("key", "v", kMinute, kSoon).reason, Reason::breaker);
  EXPECT_EQ(server.heard().size(), asked);
  EXPECT_EQ(counter(*cache, "errors_breaker"), 1001u);
  EXPECT_EQ(counter(*cache, "breakers_open"), 1u);

  hangs = false;
  runProbes(600);
  EXPECT_EQ(cache->get("key", kSoon).reason, Reason::cold);
  EXPECT_TRUE(cache->health().ok);
  EXPECT_TRUE(host_.logged("answers again"));
}

TEST_F(MemcachedFault, Semantics27_LargeValuesThatTakeTooLongDoNotOpenTheBreaker) {
  const std::string large(100'000, 'v');
  FakeServer server([&](Talk& talk, const Command& command) {
    if (command.line.starts_with("get a "))
      talk.say(reply("a", large) + reply("b", large).substr(0, 50'000));
    talk.wait(10'000);
  });
  const auto cache = open({server.address()}, with("timeout", kTimeoutText));
  const std::array<std::string_view, 2> keys = {"a", "b"};
  for (int i = 0; i < 3; ++i) {
    std::array<ByteLookup, 2> found;
    cache->getMany(keys, found, kSoon);
    EXPECT_EQ(valueOf(found[0]), large);
    EXPECT_EQ(found[1].reason, Reason::timeout);
    EXPECT_EQ(cache->put("a", large, kMinute, kSoon).reason, Reason::timeout);
  }
  EXPECT_TRUE(cache->health().ok);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(cache->get("c", kSoon).reason, Reason::timeout);
  EXPECT_FALSE(cache->health().ok);
}

TEST_F(MemcachedFault, Semantics27_ARefusingServerIsProbedAtLeastEveryFiveSeconds) {
  MemcachedServer server = launch();
  server.kill();
  const auto cache = open({server.address()});
  EXPECT_EQ(cache->get("key", kSoon).reason, Reason::unreachable);
  EXPECT_EQ(cache->get("key", kSoon).reason, Reason::unreachable);
  EXPECT_EQ(cache->get("key", kSoon).reason, Reason::breaker);
  runProbes(60'000);
  EXPECT_EQ(cache->get("key", kSoon).reason, Reason::breaker);
  ASSERT_TRUE(server.restart());
  runProbes(5'000);
  EXPECT_EQ(cache->get("key", kSoon).reason, Reason::cold);
}

TEST_F(MemcachedFault, AProbeThatTheExecutorRefusedIsAskedForAgain) {
  MemcachedServer server = launch();
  server.kill();
  const auto cache = open({server.address()});
  executor_.refuse(true);
  cache->get("key", kSoon);
  cache->get("key", kSoon);
  EXPECT_EQ(executor_.timers(), 0u);
  executor_.refuse(false);
  clock_.advance(1000);
  EXPECT_EQ(cache->get("key", kSoon).reason, Reason::breaker);
  ASSERT_TRUE(server.restart());
  runProbes(5'000);
  EXPECT_EQ(cache->get("key", kSoon).reason, Reason::cold);
}

TEST_F(MemcachedFault, WorkThatIsStillPlannedOutlivesTheManager) {
  MemcachedServer server = launch();
  auto cache = open({server.address()});
  cache->get("key", kSoon);
  server.kill();
  cache->put("key", "v", kMinute, kSoon);
  cache->put("key", "v", kMinute, kSoon);
  EXPECT_GT(executor_.timers(), 0u);
  cache.reset();
  runProbes(120'000);
  EXPECT_EQ(executor_.timers(), 0u);
}

TEST_F(MemcachedFault, AtItsOwnConnectionLimitAThreadWaitsAndThenGivesUp) {
  FakeServer server([](Talk& talk, const Command& command) {
    if (command.word(1) == "slow") talk.wait(20);
    talk.say("END\r\n");
  });
  const auto cache = open({server.address()}, {{"max_connections", {std::int64_t{1}, "the test"}},
                                               {"timeout", {std::string("2s"), "the test"}}});
  std::vector<std::thread> threads;
  std::atomic<int> misses{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { misses += cache->get("slow", kSoon).status == Status::miss; });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(misses, 8);
  EXPECT_EQ(server.connections(), 1u);
}

TEST_F(MemcachedFault, Semantics27_WhoGetsNoConnectionInTimeHadHisTimeOutAndTheServerNoPartInIt) {
  std::promise<void> go;
  FakeServer server([&go](Talk& talk, const Command& command) {
    if (command.word(1) == "slow") go.get_future().wait();
    talk.say("END\r\n");
  });
  const auto cache = open({server.address()}, {{"max_connections", {std::int64_t{1}, "the test"}},
                                               {"timeout", {std::string("10s"), "the test"}}});
  std::thread slow([&] { EXPECT_EQ(cache->get("slow", kSoon).status, Status::miss); });
  while (server.heard().empty()) std::this_thread::yield();
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(cache->get("key", clock_.monotonic() + 10).reason, Reason::timeout);
  EXPECT_EQ(cache->put("key", "v", kMinute, clock_.monotonic() + 10).reason, Reason::timeout);
  EXPECT_EQ(counter(*cache, "breakers_open"), 0u);
  EXPECT_EQ(counter(*cache, "errors_other"), 6u);
  go.set_value();
  slow.join();
  EXPECT_EQ(cache->get("key", kSoon).status, Status::miss);
}

TEST_F(MemcachedFault, Semantics04_ADistrustedConnectionIsClosed) {
  FakeServer server(always("END\r\n"));
  const auto cache = patient(server);
  cache->get("key", kSoon);
  EXPECT_EQ(server.open(), 1u);
  cache->distrust("key");
  EXPECT_TRUE(server.awaitOpen(0));
}

}  // namespace
}  // namespace larder::testing
