// Codec: values as MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md), the form
// in which they leave the process. Programs in other languages read them with any MessagePack
// library.
//
//   std::string bytes;
//   if (auto done = encodeDocument(document.root(), bytes); !done) report(done.error().message);
//   Result<Document> copy = decodeDocument({owner, view_of_the_received_bytes});
//
// Document: nil, bool, int, float64, str (text), bin (bytes), array (list), map with str keys.
// Page:     [status, [name, value, name, value ...], body bin, gzip bin, etag str, last_modified].
//           What finishing derives from these (header lines) is not stored.
//
// Decoding trusts nothing: lengths, nesting and types are checked against the bytes that are really
// there, and no more memory is taken than two nodes for each byte of input. Text is not required
// to be UTF-8, because a value comes back as it was stored.
//
// Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "larder/cache.h"
#include "larder/document.h"
#include "larder/result.h"
#include "larder/value.h"

namespace larder {

/// Lists and maps within each other, the outermost included.
inline constexpr std::size_t kMaxValueDepth = 64;
inline constexpr std::size_t kMaxPageHeaders = 1024;

/// Appends a value to `out`; the error says what cannot be encoded, and `out` is as it was.
Result<> encodeDocument(const Node& root, std::string& out);
/// Copies no text: the document points into `bytes` and keeps their owner; only the nodes are its
/// own. Integers above 2^63 - 1, extension types, map keys that are no text and anything
/// after the value are errors.
Result<Document> decodeDocument(Buffer bytes);

Result<> encodePage(const PageView& page, std::string& out);
Result<Page> decodePage(std::string_view bytes);

}  // namespace larder
