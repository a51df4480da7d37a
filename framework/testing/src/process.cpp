#include "larder/testing/process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>
#include <system_error>

#include "larder/cache/system_clock.h"

namespace larder::testing {
namespace {

constexpr int kPollInterval = 5;

void pauseBriefly() noexcept {
  ::poll(nullptr, 0, kPollInterval);
}

std::string findProgram(const std::string& program) {
  if (program.find('/') != std::string::npos)
    return ::access(program.c_str(), X_OK) == 0 ? program : std::string();
  const char* path = ::getenv("PATH");
  std::istringstream folders(std::string(path ? path : "/usr/bin:/bin") +
                             ":/usr/sbin:/usr/local/sbin:/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = folder;
    candidate.append("/").append(program);
    struct stat info {};
    if (::stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  return {};
}

std::vector<std::string> environmentWith(
    const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [key, value] : added) replaced = replaced || key == name;
    if (!replaced) result.emplace_back(text);
  }
  for (const auto& [key, value] : added) {
    result.push_back(key);
    result.back().append("=").append(value);
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

bool accepts(const sockaddr* address, socklen_t size, int family) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool connected = ::connect(fd, address, size) == 0;
  ::close(fd);
  return connected;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

std::uint16_t freePort() {
  // Below those that Linux gives to connections, of which others make many meanwhile.
  std::uniform_int_distribution<std::uint16_t> ports(10'000, 32'767);
  std::random_device random;
  for (int tries = 100;; --tries) {
    const std::uint16_t port = ports(random);
    const sockaddr_in address = loopback(port);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool bound =
        fd >= 0 && ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const int error = errno;
    if (fd >= 0) ::close(fd);
    if (bound) return port;
    if (tries == 0 || error != EADDRINUSE)
      throw std::system_error(error, std::generic_category(), "no free port");
  }
}

Result<Process> Process::start(const std::string& program, std::vector<std::string> arguments,
                               const Options& options) {
  const std::string path = findProgram(program);
  if (path.empty())
    return Error{"cannot start " + program + ": it is not installed" +
                 (options.package.empty() ? std::string()
                                          : "; install the Debian package " + options.package)};

  arguments.insert(arguments.begin(), path);
  const std::vector<char*> argv = pointers(arguments);
  std::vector<std::string> environment = environmentWith(options.environment);
  const std::vector<char*> envp = pointers(environment);
  const int output = ::memfd_create(program.c_str(), MFD_CLOEXEC);
  std::array<int, 2> failed{-1, -1};
  if (output < 0 || ::pipe2(failed.data(), O_CLOEXEC) != 0) {
    const int error = errno;
    if (output >= 0) ::close(output);
    return Error{"cannot start " + program + ": " + std::strerror(error)};
  }

  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    // Only what is allowed between fork and exec in a process with threads.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (::getppid() == parent && nothing >= 0 && ::dup2(nothing, 0) == 0 &&
        ::dup2(output, 1) == 1 && ::dup2(output, 2) == 2 &&
        (options.directory.empty() || ::chdir(options.directory.c_str()) == 0)) {
      sigset_t none;
      sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      ::signal(SIGPIPE, SIG_DFL);
      ::execve(path.c_str(), argv.data(), envp.data());
    }
    const int error = errno;
    [[maybe_unused]] const auto written = ::write(failed[1], &error, sizeof error);
    ::_exit(127);
  }

  int error = pid < 0 ? errno : 0;
  ::close(failed[1]);
  if (pid > 0) {
    ::setpgid(pid, pid);  // either side may be first
    while (::read(failed[0], &error, sizeof error) < 0 && errno == EINTR) {
    }
  }
  ::close(failed[0]);
  if (error != 0) {
    if (pid > 0) ::waitpid(pid, nullptr, 0);
    ::close(output);
    return Error{"cannot start " + path + ": " + std::strerror(error)};
  }
  return Process(path, pid, output);
}

Process::Process(std::string program, pid_t pid, int output) noexcept
    : program_(std::move(program)), pid_(pid), output_(output) {}

Process::Process(Process&& other) noexcept
    : program_(std::move(other.program_)),
      pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, -1)),
      status_(std::exchange(other.status_, std::nullopt)) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(program_, other.program_);
  std::swap(pid_, other.pid_);
  std::swap(output_, other.output_);
  std::swap(status_, other.status_);
  return *this;
}

Process::~Process() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    if (!status_) ::waitpid(pid_, nullptr, 0);
  }
  if (output_ >= 0) ::close(output_);
}

void Process::signal(int number) noexcept {
  if (running()) ::kill(pid_, number);
}

bool Process::running() noexcept {
  return !wait(0);
}

std::optional<int> Process::wait(Millis patience) noexcept {
  const SystemClock clock;
  const Millis deadline = addMillis(clock.monotonic(), patience);
  while (!status_) {
    int raw = 0;
    const pid_t ended = ::waitpid(pid_, &raw, WNOHANG);
    if (ended == pid_) {
      status_ = WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
    } else if (clock.monotonic() >= deadline) {
      break;
    } else {
      pauseBriefly();
    }
  }
  return status_;
}

int Process::stop(Millis patience) noexcept {
  signal(SIGTERM);
  if (const auto status = wait(patience)) return *status;
  signal(SIGKILL);
  return *wait(kForever);
}

std::string Process::output() const {
  std::string text;
  std::array<char, 65536> block;
  for (;;) {
    const ssize_t n = ::pread(output_, block.data(), block.size(), static_cast<off_t>(text.size()));
    if (n <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(n));
  }
}

Result<> Process::waitUntil(const std::function<bool()>& ready, std::string_view what,
                            Millis patience) {
  const SystemClock clock;
  const Millis deadline = addMillis(clock.monotonic(), patience);
  while (!ready()) {
    const std::string who = program_ + " (pid " + std::to_string(pid_) + ") ";
    if (!running())
      return Error{who + "ended with status " + std::to_string(*status_) + " before " +
                   std::string(what) + "; it wrote:\n" + output()};
    if (clock.monotonic() >= deadline)
      return Error{who + "had not come to " + std::string(what) + " after " +
                   std::to_string(patience) + " ms; it wrote:\n" + output()};
    pauseBriefly();
  }
  return Done{};
}

Result<> Process::waitForPort(std::uint16_t port, Millis patience) {
  const sockaddr_in address = loopback(port);
  return waitUntil(
      [&] { return accepts(reinterpret_cast<const sockaddr*>(&address), sizeof address, AF_INET); },
      "listening on 127.0.0.1:" + std::to_string(port), patience);
}

Result<> Process::waitForSocket(const std::string& path, Millis patience) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{path + " is too long for the path of a Unix socket"};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return waitUntil(
      [&] { return accepts(reinterpret_cast<const sockaddr*>(&address), sizeof address, AF_UNIX); },
      "listening on " + path, patience);
}

Result<> Process::waitForOutput(std::string_view text, Millis patience) {
  return waitUntil([&] { return output().find(text) != std::string::npos; },
                   "writing '" + std::string(text) + "'", patience);
}

}  // namespace larder::testing
