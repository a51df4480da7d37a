#include "gzip.h"

#include <zlib.h>

#include <limits>

namespace larder::http::detail {

std::string gzipIfSmaller(std::string_view body) {
  constexpr int kLevel = 6;
  constexpr int kGzipWindow = 15 + 16;  // the largest window, in a gzip wrapper
  constexpr int kMemory = 8;
  if (body.empty() || body.size() > std::numeric_limits<uInt>::max()) return {};
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    return {};
  }
  std::string out(body.size() - 1, '\0');  // no room for what would not be smaller
  // zlib only reads here, but its type does not say so.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool complete = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(complete ? stream.total_out : 0);
  out.shrink_to_fit();
  deflateEnd(&stream);
  return out;
}

}  // namespace larder::http::detail
