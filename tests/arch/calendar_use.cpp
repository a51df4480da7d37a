// What the calendar check must find; linked into nothing.
#include <Poco/DateTime.h>

#include <ctime>

namespace larder::arch {

int calendarUse(std::time_t now);

int calendarUse(std::time_t now) {
  std::tm fields{};
  gmtime_r(&now, &fields);
  return fields.tm_year + Poco::DateTime().year();
}

}  // namespace larder::arch
