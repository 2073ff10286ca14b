// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/device_count.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace thalweg {

Result<std::map<std::string, int>> DeviceCountAskedFor() {
  std::map<std::string, int> count;
  const char* const variable = std::getenv("THALWEG_DEVICE_COUNT");
  const std::string asked = variable == nullptr ? "" : variable;
  for (size_t begin = 0; begin < asked.size();) {
    const size_t end = std::min(asked.find(',', begin), asked.size());
    const size_t equals = std::min(asked.find('=', begin), end);
    const char* const number = asked.data() + std::min(equals + 1, end);
    int devices = -1;
    const auto read = std::from_chars(number, asked.data() + end, devices);
    if (equals == begin || read.ec != std::errc() || read.ptr != asked.data() + end ||
        devices < 0 || devices > 64) {
      return InvalidArgument("THALWEG_DEVICE_COUNT is TYPE=NUMBER, several with commas (FAKE=1); ",
                             "got '", asked, "'");
    }
    count[asked.substr(begin, equals - begin)] = devices;
    begin = end + 1;
  }
  return count;
}

}  // namespace thalweg
