// FakeServer: something on a free port that says what a test tells it to, and remembers what it
// heard. Greets like a memcached, unless told otherwise.
//
//   FakeServer server([](FakeServer::Talk& talk, const FakeServer::Command& command) {
//     talk.say("SERVER_ERROR out of order\r\n");
//   });
//
// The script runs on the connection's own thread, several at once for several connections.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace larder::testing {

class FakeServer {
 public:
  struct Command {
    std::string line;  ///< without its end
    std::string data;  ///< of a storing command
    [[nodiscard]] std::string word(std::size_t index) const;
  };
  class Talk {
   public:
    /// Parts at an interval; 0 sends all at once.
    void say(std::string_view text, int interval_ms = 0, std::size_t part = 1);
    /// Real time, cut short when the server goes.
    void wait(int ms);
    void close();

   private:
    friend class FakeServer;
    Talk(FakeServer& server, int socket) : server_(server), socket_(socket) {}
    FakeServer& server_;
    int socket_;
    bool closed_ = false;
  };
  using Script = std::function<void(Talk&, const Command&)>;

  explicit FakeServer(Script script, bool greets = true);
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  /// Every command so far but the greetings, in the order of arrival.
  [[nodiscard]] std::vector<std::string> heard() const;
  /// Connections that were made so far, and those that the client has not closed yet.
  [[nodiscard]] std::size_t connections() const;
  [[nodiscard]] std::size_t open() const;
  /// Waits, in real time, until that many are open.
  [[nodiscard]] bool awaitOpen(std::size_t count) const;

 private:
  void accept();
  void serve(int socket);

  const Script script_;
  const bool greets_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<std::string> heard_;
  std::vector<int> sockets_;
  std::size_t open_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace larder::testing
