// The bearer token of the management port.
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "larder/server/management.h"

namespace larder::server {
namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kTokenDigits = 2 * kTokenBytes;

Error fault(const std::filesystem::path& file, const std::string& what) {
  return {"token " + file.string() + ": " + what};
}

std::string systemError() {
  return std::generic_category().message(errno);
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

/// Under another name first: who reads it never sees half a token, and of two processes that make
/// one at a time the first one's stays.
Result<> makeToken(const std::filesystem::path& file) {
  if (::sodium_init() < 0) return fault(file, "no source of random numbers");
  std::array<unsigned char, kTokenBytes> bytes;
  ::randombytes_buf(bytes.data(), bytes.size());
  std::array<char, kTokenDigits + 1> digits;
  ::sodium_bin2hex(digits.data(), digits.size(), bytes.data(), bytes.size());
  digits[kTokenDigits] = '\n';

  const std::string fresh = file.string() + "." + std::to_string(::getpid());
  ::unlink(fresh.c_str());
  bool written = false;
  {
    const Descriptor out(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    written = out.get() >= 0 && ::write(out.get(), digits.data(), digits.size()) ==
                                    static_cast<ssize_t>(digits.size());
  }
  const bool linked = written && (::link(fresh.c_str(), file.c_str()) == 0 || errno == EEXIST);
  const std::string why = systemError();
  ::unlink(fresh.c_str());
  if (!linked) return fault(file, "cannot be written: " + why + "; make the folder writable");
  return Done{};
}

}  // namespace

std::filesystem::path tokenFile(const std::filesystem::path& data_folder) {
  return data_folder / "management.token";
}

Result<std::string> readToken(const std::filesystem::path& file) {
  const Descriptor in(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (in.get() < 0 || ::fstat(in.get(), &status) != 0)
    return fault(file,
                 "cannot be read: " + systemError() +
                     "; the running server makes it, for its own user: start it, or name its data "
                     "folder with -D site.data=DIR");
  if (status.st_uid != ::geteuid() && ::geteuid() != 0)
    return fault(file, "belongs to another user; remove it and restart the server");
  if ((status.st_mode & 077) != 0)
    return fault(file, "others may read it; remove it and restart the server");
  std::array<char, kTokenDigits + 1> text;
  if (::read(in.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fault(file, "is damaged; remove it and restart the server");
  std::string token(text.data(), kTokenDigits);
  if (token.find_first_not_of("0123456789abcdef") != std::string::npos)
    return fault(file, "is damaged; remove it and restart the server");
  return token;
}

Result<std::string> readOrMakeToken(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::symlink_status(file, ignored))) {
    if (const auto made = makeToken(file); !made) return made.error();
  }
  return readToken(file);
}

}  // namespace larder::server
