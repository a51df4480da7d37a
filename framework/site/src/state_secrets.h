// Passwords and tokens, by libsodium.
#pragma once

#include <string>
#include <string_view>

namespace larder::site {

/// argon2id, "interactive" limits. Throws StoreError without memory for it.
[[nodiscard]] std::string hashPassword(std::string_view password);
/// Takes the same time whether it matches or not.
[[nodiscard]] bool verifyPassword(const std::string& hash, std::string_view password);
/// Made with other limits than hashPassword() uses now.
[[nodiscard]] bool isOutdated(const std::string& hash);
/// 256 random bits as 43 characters of base64url.
[[nodiscard]] std::string randomToken();
/// 32 bytes: what is stored of a token.
[[nodiscard]] std::string hashToken(std::string_view token);

}  // namespace larder::site
