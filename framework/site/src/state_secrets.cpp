#include "state_secrets.h"

#include <sodium.h>

#include <array>
#include <semaphore>

#include "larder/site/store.h"

namespace larder::site {

namespace {

// Each hash takes 64 MB while it is made: no flood of log-ins may take more than this many.
constexpr std::ptrdiff_t kAtOnce = 2;

class Turn {
 public:
  Turn() { turns().acquire(); }
  ~Turn() { turns().release(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  static std::counting_semaphore<kAtOnce>& turns() {
    static std::counting_semaphore<kAtOnce> semaphore(kAtOnce);
    return semaphore;
  }
};

void start() {
  static const int started = sodium_init();
  if (started < 0) throw StoreError("libsodium cannot be started: no source of random numbers");
}

}  // namespace

std::string hashPassword(std::string_view password) {
  start();
  const Turn turn;
  std::array<char, crypto_pwhash_STRBYTES> hash{};
  if (crypto_pwhash_str(hash.data(), password.data(), password.size(),
                        crypto_pwhash_OPSLIMIT_INTERACTIVE,
                        crypto_pwhash_MEMLIMIT_INTERACTIVE) != 0)
    throw StoreError("no memory to hash a password (64 MB)");
  return hash.data();
}

bool verifyPassword(const std::string& hash, std::string_view password) {
  start();
  const Turn turn;
  return crypto_pwhash_str_verify(hash.c_str(), password.data(), password.size()) == 0;
}

bool isOutdated(const std::string& hash) {
  start();
  return crypto_pwhash_str_needs_rehash(hash.c_str(), crypto_pwhash_OPSLIMIT_INTERACTIVE,
                                        crypto_pwhash_MEMLIMIT_INTERACTIVE) != 0;
}

std::string randomToken() {
  start();
  std::array<unsigned char, 32> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  constexpr int kVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::array<char, sodium_base64_ENCODED_LEN(32, kVariant)> text{};
  sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(), kVariant);
  return text.data();
}

std::string hashToken(std::string_view token) {
  start();
  std::string hash(crypto_generichash_BYTES, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(),
                     reinterpret_cast<const unsigned char*>(token.data()), token.size(), nullptr,
                     0);
  return hash;
}

}  // namespace larder::site
