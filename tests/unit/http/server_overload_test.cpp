// What happens when there is more to do than can be done.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "raw_client.h"
#include "test_server.h"

namespace larder::http::test {
namespace {

TEST(ServerOverload, IncompleteMessagesShareABudget) {
  TestServer server([](ServerOptions& options) { options.input_budget = 150'000; });
  const std::string message =
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 80000\r\n\r\n" + std::string(70'000, 'x');
  RawClient first(server.port());
  first.send(message);
  RawClient second(server.port());
  second.send(message);
  EXPECT_TRUE(server.handler.eventually([&] { return server.server->stats().overloaded == 1; }));
  EXPECT_EQ(server.handler.last_refusal, 503);
}

TEST(ServerOverload, FaultA12_RequestsThatWaitOrRunShareTheBudgetUntilTheyEnd) {
  TestServer server([](ServerOptions& options) {
    options.workers = 1;
    options.input_budget = 150'000;
  });
  const std::string body(60'000, 'x');
  RawClient running(server.port());
  running.send(withBody("POST /stuck", body));
  ASSERT_TRUE(server.handler.eventually([&] { return server.handler.blocked == 1; }));
  running.reset();  // its handler goes on
  RawClient waiting(server.port());
  waiting.send(withBody("POST /echo", body));
  ASSERT_TRUE(
      server.handler.eventually([&] { return server.server->stats().queued_requests == 1; }));
  RawClient late(server.port());
  late.send(withBody("POST /echo", body));
  EXPECT_EQ(late.receive()->status, 503);
  EXPECT_EQ(fetch(server.port(), "/hit")->body, "stored");
  server.handler.release();
  EXPECT_EQ(waiting.receive()->body, body);
  RawClient again(server.port());
  again.send(withBody("POST /echo", body));
  EXPECT_EQ(again.receive()->body, body);
}

TEST(ServerOverload, FullQueueIsToldToComeAgain) {
  BusyServer server(1, [](ServerOptions& options) { options.queue_limit = 1; });
  RawClient waiting = server.enqueue(get("/probe"), 1);
  const auto refused = fetch(server.port(), "/probe");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->header("Retry-After"), "1");
  server.handler.release();
  EXPECT_EQ(waiting.receive()->body, "probe");
}

TEST(ServerOverload, QueuedRequestDoesNotWaitForEver) {
  BusyServer server(1, [](ServerOptions& options) { options.queue_deadline = 50; });
  RawClient waiting(server.port());
  waiting.send(get("/probe") + get("/hit"));
  EXPECT_EQ(waiting.receive()->status, 503);
  EXPECT_EQ(waiting.receive()->body, "stored");
  server.handler.release();
  EXPECT_EQ(server.running[0].receive()->body, "unblocked");
  EXPECT_EQ(server.handler.probes, 0);
}

TEST(ServerOverload, HitsAreAnsweredWhileAllWorkersAreBusy) {
  BusyServer server(2);
  EXPECT_EQ(fetch(server.port(), "/hit")->body, "stored");
}

TEST(ServerOverload, HandlerLearnsThatItsClientHasGone) {
  BusyServer server;
  server.running[0].reset();
  EXPECT_TRUE(server.handler.eventually([&] { return server.handler.cancelled == 1; }));
}

TEST(ServerOverload, ClientThatGoesWhileQueuedIsForgotten) {
  BusyServer server;
  server.enqueue(get("/probe"), 1).reset();
  server.awaitWaiting(0);
  server.handler.release();
  ASSERT_TRUE(server.running[0].receive());
  EXPECT_EQ(server.handler.probes, 0);
}

TEST(ServerOverload, LongestIdleConnectionMakesRoom) {
  TestServer server([](ServerOptions& options) {
    options.max_connections = 3;
    options.least_idle = 0;
  });
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(server.port());
    clients.back().send(get("/hit"));
    ASSERT_TRUE(clients.back().receive());
  }
  EXPECT_EQ(fetch(server.port(), "/hit")->body, "stored");
  EXPECT_TRUE(clients[0].closed());
  clients[1].send(get("/hit"));
  EXPECT_EQ(clients[1].receive()->body, "stored");
}

TEST(ServerOverload, PastTheLimitConnectionsWaitWithoutABusyLoop) {
  TestServer server([](ServerOptions& options) { options.max_connections = 2; });
  std::vector<RawClient> silent;
  silent.emplace_back(server.port());
  silent.emplace_back(server.port());
  ASSERT_TRUE(
      server.handler.eventually([&] { return server.server->stats().open_connections == 2; }));
  RawClient late(server.port());
  late.send(get("/hit"));
  ASSERT_TRUE(server.handler.eventually([&] { return server.server->stats().accept_pauses >= 2; }));
  EXPECT_LE(server.server->stats().accept_pauses, 10U);
  silent.pop_back();
  EXPECT_EQ(late.receive()->body, "stored");
}

}  // namespace
}  // namespace larder::http::test
