// SPDX-License-Identifier: Apache-2.0
#include "time_option.h"

#include <cmath>
#include <map>

#include "file_work.h"

namespace cli {
namespace {

int64_t Nanos(const std::string& option, const std::string& text, int64_t least, int64_t most) {
  static const std::map<std::string, double> kUnits = {{"ns", 1},  {"us", 1e3},   {"ms", 1e6},
                                                       {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}};
  size_t used = 0;
  double value = -1;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;  // no number at all
  }
  const auto unit = kUnits.find(text.substr(used));
  if (used == 0 || unit == kUnits.end() || !(value >= 0)) {
    throw CLI::ValidationError(
        option, "expected a time such as 5ms (ns, us, ms, s, min, h), found \"" + text + "\"");
  }
  const double nanos = value * unit->second;
  if (nanos < static_cast<double>(least) || nanos > static_cast<double>(most)) {
    throw CLI::ValidationError(option, "expected a time of " + TimeText(least) + " to " +
                                           TimeText(most) + ", found \"" + text + "\"");
  }
  return std::llround(nanos);
}

}  // namespace

std::string TimeText(int64_t nanos) { return DurationText(static_cast<double>(nanos) * 1e-9); }

CLI::Option* AddTimeOption(CLI::App& verb, const std::string& name, int64_t* nanos,
                           const std::string& does, int64_t least, int64_t most) {
  return verb
      .add_option_function<std::string>(
          name, [=](const std::string& text) { *nanos = Nanos(name, text, least, most); }, does)
      ->type_name("TIME");
}

}  // namespace cli
