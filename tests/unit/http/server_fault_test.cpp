// What hostile, broken and slow clients get.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "malformed_messages.h"
#include "raw_client.h"
#include "test_server.h"

namespace larder::http::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

int answersIn(const std::string& bytes) {
  int count = 0;
  for (std::size_t at = 0; (at = bytes.find("HTTP/1.1 ", at)) != std::string::npos; ++at) ++count;
  return count;
}

std::size_t residentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(ServerFault, FaultA01_SilentAndIdleConnectionsHoldNoThread) {
  constexpr int kWorkers = 4;
  TestServer server([](ServerOptions& options) { options.workers = kWorkers; });
  std::vector<RawClient> others;
  for (int i = 0; i < 50 * kWorkers; ++i) {
    others.emplace_back(server.port());
    others.emplace_back(server.port());
    others.back().send(get("/probe"));
    ASSERT_TRUE(others.back().receive());
  }
  for (int i = 0; i < 10; ++i) {
    const auto start = steady_clock::now();
    ASSERT_EQ(fetch(server.port(), "/probe")->status, 200);
    ASSERT_LT(steady_clock::now() - start, milliseconds(1000));
  }
}

// Sends a byte now and then until the server has had enough. Returns how long that took.
steady_clock::duration trickle(RawClient& client, char byte) {
  const auto start = steady_clock::now();
  while (client.send(std::string(1, byte)) && steady_clock::now() - start < milliseconds(5000)) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  return steady_clock::now() - start;
}

TEST(ServerFault, FaultA02_TricklingHeadEndsAtTheDeadline) {
  TestServer server([](ServerOptions& options) {
    options.head_deadline = 100;
    options.linger_deadline = 100;
  });
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nX: ");
  EXPECT_LT(trickle(client, 'x'), milliseconds(2000));
  EXPECT_EQ(server.handler.last_refusal, 408);
}

TEST(ServerFault, FaultA02_TricklingBodyEndsAtTheDeadline) {
  TestServer server([](ServerOptions& options) {
    options.body_deadline = 100;
    options.linger_deadline = 100;
  });
  RawClient client(server.port());
  client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_LT(trickle(client, 'x'), milliseconds(2000));
  EXPECT_EQ(server.handler.last_refusal, 408);
}

TEST(ServerFault, FaultA02_TricklingChunksEndAtTheDeadline) {
  TestServer server([](ServerOptions& options) {
    options.body_deadline = 100;
    options.linger_deadline = 100;
  });
  RawClient client(server.port());
  client.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n");
  EXPECT_LT(trickle(client, 'x'), milliseconds(2000));
  EXPECT_EQ(server.handler.last_refusal, 408);
}

TEST(ServerFault, FaultA02_LateHeadIsToldSo) {
  TestServer server([](ServerOptions& options) { options.head_deadline = 50; });
  RawClient client(server.port());
  client.send("GET / HT");
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 408);
  EXPECT_TRUE(client.closed());
}

TEST(ServerFault, FaultA02_SilentConnectionIsClosedAtTheDeadline) {
  TestServer server([](ServerOptions& options) { options.head_deadline = 50; });
  RawClient client(server.port());
  EXPECT_TRUE(client.closed());
}

TEST(ServerFault, FaultA02_SecondHeadHasADeadlineOfItsOwn) {
  TestServer server([](ServerOptions& options) { options.head_deadline = 50; });
  RawClient client(server.port());
  client.send(get("/hit"));
  ASSERT_TRUE(client.receive());
  client.send("GET");
  EXPECT_EQ(client.receive()->status, 408);
}

TEST(ServerFault, FaultA02_ReaderThatStopsIsCutOff) {
  TestServer server([](ServerOptions& options) { options.write_deadline = 50; });
  RawClient client(server.port(), 4096);
  client.send(get("/big"));
  ASSERT_TRUE(server.handler.eventually([&] { return server.handler.held == 1; }));
  EXPECT_TRUE(server.handler.eventually([&] { return server.handler.held == 0; }));
  EXPECT_TRUE(
      server.handler.eventually([&] { return server.server->stats().open_connections == 0; }));
}

TEST(ServerFault, FaultA02_HitsAreAnsweredWhileOthersTrickle) {
  TestServer server;
  std::vector<RawClient> others;
  for (int i = 0; i < 100; ++i) {
    others.emplace_back(server.port());
    others.back().send(i % 2 == 0 ? "GET / HTTP/1.1\r\nX: "
                                  : "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n\r\n");
  }
  for (int round = 0; round < 20; ++round) {
    for (RawClient& other : others) other.send("x");
    const auto start = steady_clock::now();
    ASSERT_EQ(fetch(server.port(), "/hit")->status, 200);
    ASSERT_LT(steady_clock::now() - start, milliseconds(250));
  }
}

TEST(ServerFault, IdleConnectionIsClosedAtTheDeadline) {
  TestServer server([](ServerOptions& options) { options.idle_deadline = 50; });
  RawClient client(server.port());
  client.send(get("/hit"));
  ASSERT_TRUE(client.receive());
  EXPECT_TRUE(client.closed());
}

std::vector<MalformedMessage> allMalformed() {
  std::vector<MalformedMessage> all = malformedHeads();
  all.insert(all.end(), malformedChunks().begin(), malformedChunks().end());
  return all;
}

TEST(ServerFault, FaultA03toA12_MalformedMessagesGetOneAnswerAndNothingAfterThemIsRun) {
  TestServer server;
  for (const MalformedMessage& message : allMalformed()) {
    SCOPED_TRACE(message.name);
    RawClient client(server.port());
    client.send(message.bytes + get("/probe"));
    const auto all = client.receiveAll();
    ASSERT_TRUE(all);
    EXPECT_EQ(all->substr(0, 12), "HTTP/1.1 " + std::to_string(message.status)) << *all;
    EXPECT_EQ(answersIn(*all), 1);
    EXPECT_NE(all->find("\r\nConnection: close\r\n"), std::string::npos);
  }
  EXPECT_EQ(server.handler.probes, 0);
  EXPECT_EQ(server.handler.handled, 0);
}

TEST(ServerFault, FaultA03_GoodMessagesAreFollowedByTheNext) {
  TestServer server;
  for (const std::string body : {"Content-Length: 3\r\n\r\nabc",
                                 "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"}) {
    RawClient client(server.port());
    client.send("POST /echo HTTP/1.1\r\nHost: h\r\n" + body + get("/probe"));
    EXPECT_EQ(client.receive()->body, "abc");
    EXPECT_EQ(client.receive()->body, "probe");
  }
}

TEST(ServerFault, FaultA04_ABodyIsNeverRunAsARequest) {
  TestServer server;
  const std::string inner = get("/probe");
  for (const std::string path : {"/hit", "/status/401", "/status/403", "/status/404", "/status/405",
                                 "/status/302", "/status/500", "/bad", "/fast-bad"}) {
    SCOPED_TRACE(path);
    RawClient client(server.port());
    client.send(withBody("GET " + path, inner) + get("/hit"));
    ASSERT_TRUE(client.receive());
    EXPECT_EQ(client.receive()->body, "stored");
  }
  EXPECT_EQ(server.handler.probes, 0);
}

TEST(ServerFault, FaultA04_ABodyThatIsTooLargeIsNeverRunAsARequest) {
  TestServer server([](ServerOptions& options) { options.limits.body = 10; });
  const std::string inner = get("/probe");
  RawClient client(server.port());
  client.send(withBody("POST /echo", inner) + get("/probe"));
  EXPECT_EQ(client.receive()->status, 413);
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(server.handler.probes, 0);
}

TEST(ServerFault, FaultA04_ABodyIsNeverRunWhenTheServerIsOverloaded) {
  TestServer server([](ServerOptions& options) { options.queue_limit = 0; });
  const std::string inner = get("/probe");
  RawClient client(server.port());
  client.send(withBody("POST /echo", inner) + get("/hit"));
  EXPECT_EQ(client.receive()->status, 503);
  EXPECT_EQ(client.receive()->body, "stored");
}

const std::vector<std::string> kCutShort = {
    "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabc",
    "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n",
    "PUT /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    "PUT /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
    "PUT /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
};

TEST(ServerFault, FaultA05_CutBodyIsRefused) {
  TestServer server;
  for (const std::string& message : kCutShort) {
    SCOPED_TRACE(message);
    RawClient client(server.port());
    client.send(message);
    client.finish();
    const auto all = client.receiveAll();
    ASSERT_TRUE(all);
    EXPECT_EQ(all->substr(0, 12), "HTTP/1.1 400");
  }
  EXPECT_EQ(server.handler.handled, 0);
}

TEST(ServerFault, FaultA05_BodyThatEndsInAResetIsNotDelivered) {
  TestServer server;
  for (const std::string& message : kCutShort) {
    RawClient client(server.port());
    client.send(message);
    client.reset();
  }
  ASSERT_TRUE(server.handler.eventually([&] {
    const ServerStats stats = server.server->stats();
    return stats.accepted == kCutShort.size() && stats.open_connections == 0;
  }));
  EXPECT_EQ(server.handler.handled, 0);
}

TEST(ServerFault, CutHeadIsClosed) {
  TestServer server;
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\n");
  client.finish();
  EXPECT_TRUE(client.closed());
}

TEST(ServerFault, FaultA08_EncodedWordsComeBackLiterally) {
  TestServer server;
  const std::string word = "=?UTF-8?Q?a=0D=0AX-B:_1?=";
  const auto answer = fetch(server.port(), "/header", "X-Echo: " + word + "\r\n");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, word);
  EXPECT_EQ(answer->header("X-B"), "-");
}

TEST(ServerFault, FaultA09_AnswerWithASplitHeaderIs500) {
  TestServer server;
  for (const std::string path : {"/bad", "/fast-bad"}) {
    const auto answer = fetch(server.port(), path);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 500);
    EXPECT_EQ(answer->header("X-Injected"), "-");
    EXPECT_EQ(answer->header("X-Good"), "-");
    EXPECT_EQ(answer->body.find("never sent"), std::string::npos);
  }
}

// Sends `head`, then `filler` over and over, until the server answers or 256 MiB have gone.
std::string flood(RawClient& client, const std::string& head, const std::string& filler) {
  client.send(head);
  for (std::size_t sent = 0; sent < (256U << 20); sent += filler.size()) {
    if (!client.send(filler)) break;
  }
  return client.receiveAll().value_or("").substr(0, 12);
}

struct Flood {
  std::string head;
  std::string filler;
  int status;
};

TEST(ServerFault, FaultA10_ARequestForAnotherHostIsMisdirected) {
  TestServer server([](ServerOptions& options) { options.hosts = {"good", "*.good.example"}; });
  const auto status = [&server](const std::string& target, const std::string& host) {
    RawClient client(server.port());
    client.send("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    const auto answer = client.receive();
    return answer ? answer->status : 0;
  };
  for (const auto* host : {"good", "GOOD:8080", "www.good.example"})
    EXPECT_EQ(status("/hit", host), 200) << host;
  for (const auto* host : {"other", "good.example", "notgood", "www.good.example.org"})
    EXPECT_EQ(status("/hit", host), 421) << host;
  // The target decides, whatever Host says.
  EXPECT_EQ(status("http://other/hit", "good"), 421);
  EXPECT_EQ(status("http://good/hit", "other"), 200);
  EXPECT_EQ(server.handler.handled, 0);
}

TEST(ServerFault, FaultA12_FloodsAreRefusedWithoutBeingKept) {
  TestServer server([](ServerOptions& options) { options.linger_deadline = 50; });
  const std::string letters(1 << 16, 'a');
  const std::string chunk = "10000\r\n" + letters + "\r\n";
  std::string fields;
  for (int i = 0; i < 1000; ++i) fields += "X-" + std::to_string(i) + ": v\r\n";
  const std::string start = "POST /echo HTTP/1.1\r\nHost: h\r\n";
  for (const Flood& flooding :
       {Flood{"GET /", letters, 414}, Flood{start + "X: ", letters, 431}, Flood{start, fields, 431},
        Flood{start + "Content-Length: 10737418240\r\n\r\n", letters, 413},
        Flood{start + "Transfer-Encoding: chunked\r\n\r\n", chunk, 413},
        Flood{start + "Transfer-Encoding: chunked\r\n\r\n0\r\n", fields, 431}}) {
    SCOPED_TRACE(flooding.head);
    const std::size_t before = residentBytes();
    RawClient client(server.port());
    // The answer may be lost to a reset when the client goes on sending for longer than the server
    // lingers; what counts is that the server gave it and kept nothing.
    flood(client, flooding.head, flooding.filler);
    EXPECT_TRUE(
        server.handler.eventually([&] { return server.handler.last_refusal == flooding.status; }));
    EXPECT_LT(residentBytes(), before + (16U << 20));
    EXPECT_EQ(fetch(server.port(), "/hit")->status, 200);
  }
}

TEST(ServerFault, AnErrorIsNotLostToAClientThatIsStillSending) {
  TestServer server([](ServerOptions& options) { options.linger_deadline = 5'000; });
  RawClient client(server.port());
  client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\n");
  const std::string piece(100'000, 'x');
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client.send(piece));
  client.finish();
  EXPECT_EQ(client.receiveAll().value_or("").substr(0, 12), "HTTP/1.1 413");
}

TEST(ServerFault, RandomBytesNeverStopTheServer) {
  TestServer server([](ServerOptions& options) { options.linger_deadline = 1; });
  std::uint32_t state = 12345;
  const auto next = [&state] { return state = state * 1664525 + 1013904223; };
  const std::string good =
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n0\r\nX: y\r\n\r\n" +
      get("/hit");
  for (int i = 0; i < 500; ++i) {
    std::string bytes = good;
    for (std::uint32_t changes = next() % 4 + 1; changes > 0; --changes) {
      bytes[next() % bytes.size()] = static_cast<char>(next() >> 24);
    }
    RawClient client(server.port());
    client.send(bytes);
    client.finish();
    client.receiveAll();
  }
  EXPECT_EQ(fetch(server.port(), "/hit")->body, "stored");
}

}  // namespace
}  // namespace larder::http::test
