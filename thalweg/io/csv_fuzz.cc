// SPDX-License-Identifier: Apache-2.0
// Fuzzer of lines of comma-separated values: the first byte is the delimiter, the lowest bit of the
// second says whether quotes count. Fields that are quoted and joined again must be read again.
#include <vector>

#include "thalweg/base/check.h"
#include "thalweg/io/csv_fields.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  if (size < 2) return 0;
  const CsvForm form{static_cast<char>(data[0]), (data[1] & 1) != 0};
  const std::string line(reinterpret_cast<const char*>(data) + 2, size - 2);
  CsvFields fields(line, form);
  std::vector<std::string> all;
  std::string_view field;
  size_t bytes = 0;
  while (fields.Next(&field)) {
    all.emplace_back(field);
    bytes += field.size();
    CHECK(bytes <= line.size() && all.size() <= line.size() + 1);
  }
  CHECK(fields.status().ok() || !fields.status().message().empty());
  if (all.empty() || form.delimiter == '"') return 0;
  std::string again;
  for (const std::string& text : all) {
    if (&text != all.data()) again += form.delimiter;
    again += '"';
    for (const char c : text) again += c == '"' ? std::string("\"\"") : std::string(1, c);
    again += '"';
  }
  CsvFields second(again, {form.delimiter, true});
  for (const std::string& text : all) CHECK(second.Next(&field) && field == text);
  CHECK(!second.Next(&field) && second.status().ok());
  return 0;
}
