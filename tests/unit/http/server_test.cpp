// What a well-behaved client sees.
#include "larder/http/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "raw_client.h"
#include "test_server.h"

namespace larder::http::test {
namespace {

TEST(Server, AnswersAStoredPage) {
  TestServer server;
  const auto answer = fetch(server.port(), "/hit");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "stored");
  EXPECT_EQ(answer->header("X-Stored"), "yes");
  EXPECT_EQ(answer->header("Age"), "1");
}

TEST(Server, AnswersFromAWorker) {
  TestServer server;
  const auto answer = fetch(server.port(), "/probe");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "probe");
  EXPECT_EQ(answer->header("X-Dropped"), "-");
}

TEST(Server, SendsADate) {
  TestServer server;
  const std::string date = fetch(server.port(), "/hit")->header("Date");
  EXPECT_EQ(date.size(), 29U);
  EXPECT_EQ(date.substr(25), " GMT");
}

TEST(Server, KeepsTheConnection) {
  TestServer server;
  RawClient client(server.port());
  for (int i = 0; i < 3; ++i) {
    client.send(get(i == 1 ? "/probe" : "/hit"));
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->header("Connection"), "-");
  }
}

TEST(Server, ClosesWhenAskedTo) {
  TestServer server;
  for (const std::string path : {"/hit", "/probe"}) {
    RawClient client(server.port());
    client.send(get(path, "Connection: foo, Close\r\n"));
    EXPECT_EQ(client.receive()->header("Connection"), "close");
    EXPECT_TRUE(client.closed());
  }
}

TEST(Server, ClosesWhenTheHandlerAsksForIt) {
  TestServer server;
  RawClient client(server.port());
  client.send(get("/close"));
  EXPECT_EQ(client.receive()->header("Connection"), "close");
  EXPECT_TRUE(client.closed());
}

TEST(Server, FaultA11_Http10ClosesUnlessAskedToStay) {
  TestServer server;
  RawClient closing(server.port());
  closing.send("GET /hit HTTP/1.0\r\n\r\n");
  EXPECT_EQ(closing.receive()->body, "stored");
  EXPECT_TRUE(closing.closed());

  RawClient staying(server.port());
  for (int i = 0; i < 2; ++i) {
    staying.send("GET /probe HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(staying.receive()->header("Connection"), "keep-alive");
  }
}

TEST(Server, FaultA11_Http10NeverGetsATransferCoding) {
  TestServer server;
  RawClient client(server.port());
  client.send("GET /big-made HTTP/1.0\r\n\r\n");
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->header("Transfer-Encoding"), "-");
  EXPECT_EQ(answer->body.size(), TestHandler::kBigSize);
}

TEST(Server, FaultA26_HeadGetsTheHeadOfGet) {
  TestServer server;
  RawClient client(server.port());
  for (const std::string path : {"/hit", "/probe"}) {
    client.send(std::string("HEAD ").append(path).append(" HTTP/1.1\r\nHost: h\r\n\r\n"));
    const auto head = client.receive(true);
    client.send(get(path));
    const auto full = client.receive();
    ASSERT_TRUE(head && full);
    EXPECT_EQ(head->header("Content-Length"), full->header("Content-Length"));
  }
}

TEST(Server, StatusesWithoutBodyHaveNone) {
  TestServer server;
  RawClient client(server.port());
  for (const std::string status : {"204", "304"}) {
    client.send(get("/status/" + status) + get("/hit"));
    EXPECT_EQ(client.receive()->header("Content-Length"), "-");
    EXPECT_EQ(client.receive()->body, "stored");
  }
}

TEST(Server, DeliversBodies) {
  TestServer server;
  RawClient client(server.port());
  client.send(withBody("POST /echo", "hello"));
  EXPECT_EQ(client.receive()->body, "hello");
  client.send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n");
  EXPECT_EQ(client.receive()->body, "hello world");
}

TEST(Server, DeliversLargeBodies) {
  TestServer server;
  std::string body;
  for (int i = 0; body.size() < 1'500'000; ++i) body += std::to_string(i);
  RawClient client(server.port());
  client.send(withBody("POST /echo", body) + get("/hit"));
  EXPECT_EQ(client.receive()->body, body);
  EXPECT_EQ(client.receive()->body, "stored");
}

TEST(Server, MessagesMayArriveByteByByte) {
  TestServer server;
  RawClient client(server.port());
  for (const char c : "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello" +
                          std::string("POST /echo HTTP/1.1\r\nHost: h\r\n") +
                          "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX: y\r\n\r\n" +
                          get("/hit")) {
    ASSERT_TRUE(client.send(std::string(1, c)));
  }
  EXPECT_EQ(client.receive()->body, "hello");
  EXPECT_EQ(client.receive()->body, "ab");
  EXPECT_EQ(client.receive()->body, "stored");
}

TEST(Server, FaultA06_TrailersAreConsumed) {
  TestServer server;
  RawClient client(server.port());
  client.send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "0\r\nX-T: 1\r\n\r\n" +
      get("/probe"));
  EXPECT_EQ(client.receive()->status, 200);
  EXPECT_EQ(client.receive()->body, "probe");
}

TEST(Server, AsksForABodyThatWaits) {
  TestServer server;
  RawClient client(server.port());
  client.send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.receive(true)->status, 100);
  client.send("ab");
  EXPECT_EQ(client.receive()->body, "ab");
}

TEST(Server, DoesNotAskForABodyThatIsThere) {
  TestServer server;
  RawClient client(server.port());
  client.send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nab");
  EXPECT_EQ(client.receive()->status, 200);
}

TEST(Server, AnswersPipelinedRequestsInOrder) {
  TestServer server;
  RawClient client(server.port());
  std::string requests;
  for (int i = 0; i < 100; ++i) {
    requests += get(i % 3 == 0 ? "/hit" : "/status/" + std::to_string(400 + i % 7));
  }
  client.send(requests);
  for (int i = 0; i < 100; ++i) {
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->status, i % 3 == 0 ? 200 : 400 + i % 7);
  }
}

TEST(Server, APipelinedHitWaitsForTheMissBeforeIt) {
  TestServer server;
  RawClient client(server.port());
  client.send(get("/block") + get("/hit"));
  ASSERT_TRUE(server.handler.eventually([&] { return server.handler.blocked == 1; }));
  server.handler.release();
  EXPECT_EQ(client.receive()->body, "unblocked");
  EXPECT_EQ(client.receive()->body, "stored");
}

TEST(Server, LargeAnswersAreSentInFull) {
  TestServer server;
  RawClient client(server.port(), 4096);
  client.send(get("/big") + get("/hit") + get("/big-made") + get("/hit"));
  EXPECT_EQ(client.receive()->body, std::string(TestHandler::kBigSize, 'b'));
  EXPECT_EQ(client.receive()->body, "stored");
  EXPECT_EQ(client.receive()->body, std::string(TestHandler::kBigSize, 'm'));
  EXPECT_EQ(client.receive()->body, "stored");
}

TEST(Server, ABorrowedEntryIsMadeDurableOnlyWhenTheAnswerHasToWait) {
  TestServer server;
  RawClient client(server.port(), 4096);
  client.send(get("/hit"));
  ASSERT_TRUE(client.receive());
  EXPECT_EQ(server.handler.durable, 0);
  client.send(get("/big"));
  ASSERT_TRUE(server.handler.eventually([&] { return server.handler.durable == 1; }));
  EXPECT_EQ(server.handler.held, 1);
  ASSERT_TRUE(client.receive());
  EXPECT_TRUE(server.handler.eventually([&] { return server.handler.held == 0; }));
}

TEST(Server, AWorkersEntryIsMadeDurableBeforeItLeavesTheThread) {
  TestServer server;
  EXPECT_EQ(fetch(server.port(), "/held")->body, "stored");
  EXPECT_EQ(server.handler.durable, 1);
}

TEST(Server, TellsTheClientsAddress) {
  TestServer server;
  EXPECT_EQ(fetch(server.port(), "/peer")->body, "127.0.0.1");
}

TEST(Server, HalfClosedClientsAreAnswered) {
  TestServer server;
  for (const std::string path : {"/hit", "/probe"}) {
    RawClient client(server.port());
    client.send(get(path));
    client.finish();
    EXPECT_EQ(client.receive()->status, 200);
    EXPECT_TRUE(client.closed());
  }
}

TEST(Server, SeveralReactorsShareThePort) {
  TestServer server([](ServerOptions& options) { options.reactors = 3; });
  std::vector<RawClient> clients;
  clients.reserve(60);
  for (int i = 0; i < 60; ++i) clients.emplace_back(server.port());
  for (RawClient& client : clients) client.send(get("/hit") + get("/probe"));
  for (RawClient& client : clients) {
    ASSERT_EQ(client.receive()->body, "stored");
    ASSERT_EQ(client.receive()->body, "probe");
  }
}

TEST(Server, SeveralServersShareAPortWhenToldTo) {
  TestServer first([](ServerOptions& options) { options.reuse_port = true; });
  TestServer second([&first](ServerOptions& options) {
    options.reuse_port = true;
    options.port = first.port();
  });
  EXPECT_EQ(second.port(), first.port());
}

TEST(Server, AddressInUseIsAnErrorThatNamesIt) {
  TestServer first;
  ServerOptions options;
  options.port = first.port();
  const auto second = Server::start(options, first.handler, first.clock);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("127.0.0.1:" + std::to_string(first.port())),
            std::string::npos)
      << second.error().message;
}

TEST(Server, CountsWhatItDoes) {
  TestServer server;
  fetch(server.port(), "/hit");
  fetch(server.port(), "/probe");
  RawClient(server.port()).send("nonsense\r\n");
  ASSERT_TRUE(server.handler.eventually([&] { return server.server->stats().refused == 1; }));
  const ServerStats stats = server.server->stats();
  EXPECT_EQ(stats.accepted, 3U);
  EXPECT_EQ(stats.requests, 2U);
  EXPECT_EQ(stats.fast_hits, 1U);
}

TEST(Server, TellsTheHandlerWhatItAnsweredAndRefused) {
  TestServer server;
  fetch(server.port(), "/status/418");
  EXPECT_TRUE(server.handler.eventually([&] { return server.handler.last_served == 418; }));
  RawClient(server.port()).send("nonsense\r\n");
  EXPECT_TRUE(server.handler.eventually([&] { return server.handler.last_refusal == 400; }));
}

TEST(ServerDrain, EndsWhatRunsAndRefusesWhatIsNew) {
  TestServer server;
  RawClient busy(server.port());
  RawClient idle(server.port());
  idle.send(get("/hit"));
  ASSERT_TRUE(idle.receive());
  busy.send(get("/block"));
  ASSERT_TRUE(server.handler.eventually([&] { return server.handler.blocked == 1; }));
  bool drained = false;
  std::thread drainer([&] { drained = server.server->drain(5'000); });
  EXPECT_TRUE(idle.closed());
  EXPECT_THROW(RawClient late(server.port()), std::system_error);
  server.handler.release();
  const auto answer = busy.receive();
  drainer.join();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "unblocked");
  EXPECT_EQ(answer->header("Connection"), "close");
  EXPECT_TRUE(drained);
}

TEST(ServerDrain, LetsAnAnswerThatIsBeingSentEnd) {
  TestServer server;
  RawClient client(server.port(), 4096);
  client.send(get("/big"));
  ASSERT_TRUE(server.handler.eventually([&] { return server.handler.durable == 1; }));
  bool drained = false;
  std::thread drainer([&] { drained = server.server->drain(5'000); });
  const auto answer = client.receive();
  EXPECT_TRUE(client.closed());
  drainer.join();
  EXPECT_EQ(answer->body.size(), TestHandler::kBigSize);
  EXPECT_TRUE(drained);
}

TEST(ServerTogether, RequestsThatWaitForASharedCacheAreAskedForAtOnce) {
  BusyServer server;
  std::vector<RawClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.emplace_back(server.port());
    clients.back().send(get(i % 2 == 0 ? "/together/hit" : "/together/" + std::to_string(i)));
  }
  server.awaitWaiting(20);
  server.handler.release();
  for (int i = 0; i < 20; ++i) {
    const auto answer = clients[static_cast<std::size_t>(i)].receive();
    ASSERT_TRUE(answer) << i;
    EXPECT_EQ(answer->body, i % 2 == 0 ? "together" : "found /together/" + std::to_string(i));
    EXPECT_EQ(answer->header("X-Dropped"), "-");
  }
  EXPECT_EQ(server.handler.most_together, 20);
}

TEST(ServerTogether, ARequestThatWaitsAloneIsHandledAtOnce) {
  TestServer server;
  EXPECT_EQ(fetch(server.port(), "/together/1")->body, "alone");
  EXPECT_EQ(server.handler.most_together, 0);
}

TEST(ServerTogether, ThoseThatMissAreHandledByAsManyWorkersAsThereAre) {
  BusyServer server(2);
  RawClient first = server.enqueue(get("/together/meet"), 1);
  RawClient second = server.enqueue(get("/together/meet"), 2);
  server.handler.release();
  EXPECT_EQ(first.receive()->body, "met");
  EXPECT_EQ(second.receive()->body, "met");
}

TEST(ServerTogether, ARequestThatIsGivenBackAndWhoseClientHasGoneEndsWithTheServer) {
  std::atomic<int> findings{0};
  {
    BusyServer server;
    const RawClient stays = server.enqueue(get("/together/stays"), 1);
    RawClient leaves = server.enqueue(get("/together/leaves"), 2);
    server.handler.release();
    ASSERT_TRUE(server.handler.eventually([&] { return server.handler.most_together == 2; }));
    leaves.reset();
    ASSERT_TRUE(server.handler.eventually([&] { return server.handler.staying == 1; }));
    server.server.reset();
    findings = server.handler.findings.load();
  }
  EXPECT_EQ(findings, 0);
}

TEST(ServerTogether, ConnectionsMayEndMeanwhile) {
  for (int round = 0; round < 20; ++round) {
    TestServer server([](ServerOptions& options) { options.workers = 2; });
    std::vector<RawClient> clients;
    for (int i = 0; i < 40; ++i) {
      clients.emplace_back(server.port());
      clients.back().send(get(i % 3 == 0 ? "/together/hit" : "/together/" + std::to_string(i)));
      if (i % 4 == 0) clients.back().reset();
    }
    for (int i = 0; i < 40; ++i) {
      if (i % 4 == 0) continue;
      const auto answer = clients[static_cast<std::size_t>(i)].receive();
      ASSERT_TRUE(answer) << i;
      EXPECT_EQ(answer->status, 200);
    }
  }
}

TEST(ServerDrain, CutsOffWhatDoesNotEndInTime) {
  TestServer server;
  RawClient client(server.port());
  client.send(get("/block"));
  ASSERT_TRUE(server.handler.eventually([&] { return server.handler.blocked == 1; }));
  EXPECT_FALSE(server.server->drain(20));
  EXPECT_TRUE(client.closed());
  EXPECT_TRUE(server.handler.eventually([&] { return server.handler.cancelled == 1; }));
}

TEST(ServerDrain, DoesNotWaitForAHandlerThatDoesNotEnd) {
  TestServer server;
  RawClient client(server.port());
  client.send(get("/stuck"));
  ASSERT_TRUE(server.handler.eventually([&] { return server.handler.blocked == 1; }));
  EXPECT_FALSE(server.server->drain(20));
  EXPECT_EQ(server.handler.blocked, 1);
  EXPECT_TRUE(client.closed());
  server.handler.release();
}

TEST(ServerDrain, IdleServerDrainsAtOnce) {
  TestServer server([](ServerOptions& options) { options.reactors = 2; });
  RawClient silent(server.port());
  EXPECT_TRUE(server.server->drain(5'000));
}

TEST(ServerDrain, FaultA13_WhoHasConnectedAndAskedIsAnsweredHoweverManyTheyAre) {
  TestServer server;
  RawClient first(server.port());
  first.send(get("/fast-block"));
  ASSERT_TRUE(server.handler.eventually([&] { return server.handler.blocked == 1; }));
  std::vector<RawClient> clients;
  for (int i = 0; i < 300; ++i) {
    clients.emplace_back(server.port());
    clients.back().send(get("/hit"));
  }
  std::thread draining([&] { EXPECT_TRUE(server.server->drain(5'000)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));  // drain() cannot say that it began
  server.handler.release();
  for (RawClient& client : clients) {
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "stored");
  }
  draining.join();
}

TEST(ServerDrain, FaultA13_NoAnswerIsCutShortUnderLoad) {
  for (int cycle = 0; cycle < 20; ++cycle) {
    TestServer server;
    std::atomic<bool> cut_short{false};
    std::atomic<int> answered{0};
    std::vector<std::thread> clients;
    clients.reserve(8);
    for (int i = 0; i < 8; ++i) {
      clients.emplace_back([&, i] {
        try {
          RawClient client(server.port());
          while (client.send(get(i % 2 == 0 ? "/hit" : "/probe"))) {
            const auto answer = client.receive();
            if (!answer) break;
            ++answered;
            if (answer->body != (i % 2 == 0 ? "stored" : "probe")) cut_short = true;
          }
        } catch (const std::system_error&) {
          // Too late to connect.
        }
      });
    }
    ASSERT_TRUE(server.handler.eventually([&] { return answered > 50; }));
    EXPECT_TRUE(server.server->drain(5'000));
    for (std::thread& client : clients) client.join();
    ASSERT_FALSE(cut_short);
  }
}

}  // namespace
}  // namespace larder::http::test
