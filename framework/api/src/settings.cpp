#include "larder/settings.h"

#include <stdexcept>

namespace larder {

const Settings::Value& Settings::at(std::string_view name) const {
  const auto it = values_.find(name);
  if (it == values_.end())
    throw std::out_of_range("setting '" + std::string(name) + "' is not in the plugin's schema");
  return it->second;
}

}  // namespace larder
