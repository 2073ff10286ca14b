// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/csv_fields.h"

#include <gtest/gtest.h>

#include <vector>

namespace thalweg {
namespace {

using Fields = std::vector<std::string>;

// The fields, or the error as the only one.
Fields FieldsOf(std::string_view line, CsvForm form = {}) {
  CsvFields fields(line, form);
  Fields all;
  std::string_view field;
  while (fields.Next(&field)) all.emplace_back(field);
  if (!fields.status().ok()) return {std::string(fields.status().message())};
  return all;
}

TEST(CsvFieldsTest, Fields) {
  EXPECT_EQ(FieldsOf("1,b c,"), (Fields{"1", "b c", ""}));
  EXPECT_EQ(FieldsOf(""), Fields{});
  EXPECT_EQ(FieldsOf(","), (Fields{"", ""}));
  EXPECT_EQ(FieldsOf("\"\",\"a\"\"b,\n\""), (Fields{"", "a\"b,\n"}));
  EXPECT_EQ(FieldsOf("\"a\","), (Fields{"a", ""}));
  EXPECT_EQ(FieldsOf("1|2,3", {.delimiter = '|'}), (Fields{"1", "2,3"}));
  EXPECT_EQ(FieldsOf("\"a,b\"", {.has_quotes = false}), (Fields{"\"a", "b\""}));
}

TEST(CsvFieldsTest, Errors) {
  EXPECT_EQ(FieldsOf("a\"b"), Fields{"Unquoted fields cannot have quotes/CRLFs inside, at byte 1"});
  EXPECT_EQ(FieldsOf("x,a\r"),
            Fields{"Unquoted fields cannot have quotes/CRLFs inside, at byte 3"});
  EXPECT_EQ(FieldsOf("\"a,b"),
            Fields{"Quoted field has to end with quote followed by delim or end, at byte 1"});
  EXPECT_EQ(FieldsOf("\"a\"b\""),
            Fields{"Quote inside a string has to be escaped by another quote, at byte 3"});
}

}  // namespace
}  // namespace thalweg
