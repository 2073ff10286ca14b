// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/status.h"

#include <gtest/gtest.h>

#include "thalweg/base/first_error.h"

namespace thalweg {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgument("expected an even number, got ", n);
  return n / 2;
}

Result<int> Quarter(int n) {
  ASSIGN_OR_RETURN(int half, Half(n));
  return Half(half);
}

TEST(StatusTest, IsOneWord) { EXPECT_EQ(sizeof(Status), sizeof(void*)); }

TEST(StatusTest, OkHasNoMessage) {
  EXPECT_TRUE(OkStatus().ok());
  EXPECT_EQ(OkStatus().message(), "");
  EXPECT_EQ(OkStatus().ToString(), "OK");
}

TEST(StatusTest, CopiesShareTheError) {
  Status a = NotFound("node '", "x", "' at ", 3);
  Status b = a;
  a = OkStatus();
  EXPECT_EQ(b.code(), Code::kNotFound);
  EXPECT_EQ(b.ToString(), "NOT_FOUND: node 'x' at 3");
}

TEST(StatusTest, ContextComesFirst) {
  EXPECT_EQ(Aborted("b").WithContext("a").message(), "a: b");
  EXPECT_TRUE(OkStatus().WithContext("a").ok());
}

TEST(FirstErrorTest, IsKept) {
  Status kept;
  EXPECT_FALSE(KeepFirstError(OkStatus(), &kept));
  EXPECT_TRUE(kept.ok());
  EXPECT_TRUE(KeepFirstError(Aborted("first"), &kept));
  EXPECT_FALSE(KeepFirstError(NotFound("second"), &kept));
  EXPECT_FALSE(KeepFirstError(OkStatus(), &kept));
  EXPECT_EQ(kept.ToString(), "ABORTED: first");
}

TEST(ResultTest, CarriesValueOrError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().message(), "expected an even number, got 3");
  Result<int> r = Quarter(8);
  r = Quarter(7);
  EXPECT_FALSE(r.ok());
}

TEST(ResultTest, OkStatusIsNotAValue) {
  EXPECT_EQ(Result<int>(OkStatus()).status().code(), Code::kInternal);
}

TEST(StrCatTest, NumbersReadBack) {
  EXPECT_EQ(StrCat(-3, " ", 0.1f, " ", 1e300, " ", true, 'x'), "-3 0.1 1e+300 truex");
}

enum class Named { kFirst };
std::string_view TextOf(Named) { return "first"; }
enum class Unnamed { kSecond = 2 };
struct Point {
  int x;
  std::string ToString() const { return StrCat("(", x, ")"); }
};

TEST(StrCatTest, TypesGiveTheirOwnText) {
  EXPECT_EQ(StrCat(Named::kFirst, " ", Unnamed::kSecond, " ", Point{3}, uint64_t{1} << 63),
            "first 2 (3)9223372036854775808");
}

}  // namespace
}  // namespace thalweg
