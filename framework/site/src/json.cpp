#include "larder/site/json.h"

#include <sodium.h>
#include <nlohmann/json.hpp>

namespace larder::site {

namespace {

nlohmann::ordered_json convert(const Node& node) {
  switch (node.type()) {
    case Node::Type::null:
      return nullptr;
    case Node::Type::boolean:
      return node.boolean();
    case Node::Type::integer:
      return node.integer();
    case Node::Type::real:
      return node.real();
    case Node::Type::text:
      return std::string(node.text());
    case Node::Type::bytes: {
      const auto data = node.text();
      std::string out(sodium_base64_encoded_len(data.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
      sodium_bin2base64(out.data(), out.size(), reinterpret_cast<const unsigned char*>(data.data()),
                        data.size(), sodium_base64_VARIANT_ORIGINAL);
      out.pop_back();  // the NUL that the function writes
      return out;
    }
    case Node::Type::list: {
      auto out = nlohmann::ordered_json::array();
      for (std::size_t i = 0; i < node.size(); ++i) out.push_back(convert(node.at(i)));
      return out;
    }
    case Node::Type::map: {
      auto out = nlohmann::ordered_json::object();
      for (std::size_t i = 0; i < node.size(); ++i) {
        out.emplace(std::string(node.keyAt(i)), convert(node.valueAt(i)));
      }
      return out;
    }
  }
  return nullptr;
}

}  // namespace

std::string toJson(const Node& node) {
  return convert(node).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace larder::site
