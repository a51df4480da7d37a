#include "larder/http/accept_encoding.h"

#include <optional>

#include "chars.h"

namespace larder::http {
namespace {

std::string_view withoutLeadingSpace(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t");
  return from == std::string_view::npos ? std::string_view() : text.substr(from);
}

// qvalue = "0" [ "." 0*3DIGIT ] or "1" [ "." 0*3"0" ], in thousandths.
std::optional<int> parseWeight(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
  if (text.size() > 1 && text[1] != '.') return std::nullopt;
  int weight = (text[0] - '0') * 1000;
  int place = 100;
  for (std::size_t i = 2; i < text.size(); ++i, place /= 10) {
    if (!detail::isDigit(text[i])) return std::nullopt;
    weight += (text[i] - '0') * place;
  }
  return weight <= 1000 ? std::optional(weight) : std::nullopt;
}

// Weights as they were sent; a coding that was not named has none.
struct Weights {
  std::optional<int> identity, gzip, zstd, any;

  void read(std::string_view field_value) {
    forEachListElement(field_value, [this](std::string_view element) {
      readElement(element);
      return true;
    });
  }

  // An element that cannot be read is passed over.
  void readElement(std::string_view element) {
    const std::size_t end = element.find_first_of("; \t");
    const std::string_view name = element.substr(0, end);
    int weight = 1000;
    if (end != std::string_view::npos) {
      std::string_view rest = withoutLeadingSpace(element.substr(end));
      if (rest.empty() || rest.front() != ';') return;
      rest = withoutLeadingSpace(rest.substr(1));
      if (!rest.starts_with("q=") && !rest.starts_with("Q=")) return;
      const auto parsed = parseWeight(rest.substr(2));
      if (!parsed) return;
      weight = *parsed;
    }
    if (name == "*") {
      any = weight;
    } else if (equalsIgnoringCase(name, "gzip") || equalsIgnoringCase(name, "x-gzip")) {
      gzip = weight;
    } else if (equalsIgnoringCase(name, "zstd")) {
      zstd = weight;
    } else if (equalsIgnoringCase(name, "identity")) {
      identity = weight;
    }
  }

  AcceptedCodings resolved() const {
    AcceptedCodings accepted;
    accepted.gzip = gzip.value_or(any.value_or(0));
    accepted.zstd = zstd.value_or(any.value_or(0));
    // A plain body is acceptable unless it was refused by name or by "*"; that it was not named is
    // no preference for it, hence the smallest weight.
    accepted.identity = identity.value_or(any == 0 ? 0 : 1);
    return accepted;
  }
};

}  // namespace

std::string_view codingName(Coding coding) noexcept {
  switch (coding) {
    case Coding::identity:
      return "identity";
    case Coding::gzip:
      return "gzip";
    case Coding::zstd:
      return "zstd";
  }
  return "identity";
}

Coding AcceptedCodings::best(AvailableCodings available) const noexcept {
  Coding best = Coding::identity;
  int weight = identity;
  if (available.gzip && gzip > 0 && gzip >= weight) {
    best = Coding::gzip;
    weight = gzip;
  }
  if (available.zstd && zstd > 0 && zstd >= weight) best = Coding::zstd;
  return best;
}

AcceptedCodings acceptedCodings(const RequestHead& request) noexcept {
  Weights weights;
  request.forEachField("accept-encoding", [&](std::string_view value) { weights.read(value); });
  return weights.resolved();
}

AcceptedCodings acceptedCodings(std::string_view field_value) noexcept {
  Weights weights;
  weights.read(field_value);
  return weights.resolved();
}

}  // namespace larder::http
