// SPDX-License-Identifier: Apache-2.0
// Places as TensorFlow 2.21 gives them.
#include <algorithm>
#include <numeric>

#include "thalweg/testing/kernel_call.h"
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

using Key = std::vector<uint32_t>;
const Key kSmall = {1, 2, 3}, kLarge = {0xdeadbeef, 0x12345678, 0x9abcdef0};

template <class T>
void Expect(T most, const Key& key, int64_t rounds, const std::vector<T>& from,
            const std::vector<T>& to) {
  ExpectOutputs("RandomIndexShuffle",
                {Numbers<T>(from), Numbers<uint32_t>(key), Tensor::Scalar(most)},
                {{"rounds", rounds}}, {Numbers<T>(to)});
}

TEST(IndexShuffleTest, ACancelledStepLooksForNoMorePlaces) {
  KernelCall call("RandomIndexShuffle",
                  {Numbers<int32_t>(std::vector<int32_t>(1000, 1)), Numbers<uint32_t>(kSmall),
                   Tensor::Scalar<int32_t>(1)},
                  {{"rounds", 4}});
  call.cancellation().Cancel();
  EXPECT_EQ(call.Run().code(), Code::kCancelled);
}

TEST(IndexShuffleTest, RecordedBits) {
  Expect<int32_t>(0, kLarge, 4, {0}, {0});
  Expect<int32_t>(1, kLarge, 4, {0, 1}, {1, 0});
  Expect<int32_t>(19, kSmall, 4, {0, 1, 6, 9, 18, 19}, {19, 15, 13, 3, 18, 2});
  Expect<int32_t>(19, kSmall, 8, {0, 1, 6, 9, 18, 19}, {10, 18, 13, 15, 17, 12});
  Expect<int32_t>(19, kLarge, 4, {0, 1, 6, 9, 18, 19}, {6, 19, 17, 12, 14, 4});
  Expect<int32_t>(19, kLarge, 8, {0, 1, 6, 9, 18, 19}, {5, 6, 16, 15, 2, 17});
  Expect<int32_t>(9, kSmall, 14, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {6, 0, 3, 5, 2, 7, 4, 8, 1, 9});
  Expect<int32_t>(9, kSmall, 24, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {9, 5, 3, 4, 1, 2, 7, 8, 0, 6});
  Expect<int64_t>(
      1099511627776, kLarge, 40, {0, 1, 366503875925, 549755813888, 1099511627775, 1099511627776},
      {888184800020, 974174095043, 891257670508, 448535436739, 873135676816, 888184800020});
  Expect<int32_t>(255, kLarge, 4, {0, 1, 85, 127, 254, 255}, {36, 58, 250, 70, 79, 191});
  Expect<int32_t>(65534, kLarge, 4, {0, 1, 21844, 32767, 65533, 65534},
                  {16329, 20261, 6715, 63225, 43072, 3303});
  Expect<int32_t>(65535, kLarge, 4, {0, 1, 21845, 32767, 65534, 65535},
                  {16329, 20261, 29431, 63225, 3303, 30805});
  Expect<int32_t>(65535, kLarge, 8, {0, 1, 21845, 32767, 65534, 65535},
                  {61589, 47239, 47105, 61805, 19336, 34584});
  Expect<int32_t>(65536, kSmall, 4, {0, 1, 21845, 32768, 65535, 65536},
                  {7886, 23762, 19906, 38647, 58889, 7886});
  Expect<int32_t>(65536, kLarge, 4, {0, 1, 21845, 32768, 65535, 65536},
                  {16329, 20261, 29431, 45666, 30805, 16329});
  Expect<int32_t>(131071, kLarge, 4, {0, 1, 43690, 65535, 131070, 131071},
                  {130513, 13807, 57409, 33136, 100703, 63756});
  Expect<int32_t>(131072, kLarge, 4, {0, 1, 43690, 65536, 131071, 131072},
                  {130513, 13807, 57409, 111441, 63756, 57836});
  Expect<int32_t>(262143, kLarge, 4, {0, 1, 87381, 131071, 262142, 262143},
                  {173179, 13807, 149771, 63756, 141455, 191418});
  Expect<int32_t>(262144, kLarge, 4, {0, 1, 87381, 131072, 262143, 262144},
                  {173179, 13807, 149771, 179906, 191418, 173179});
  Expect<int32_t>(1048576, kLarge, 4, {0, 1, 349525, 524288, 1048575, 1048576},
                  {386185, 278297, 63647, 347892, 780017, 386185});
  Expect<int32_t>(2147483647, kLarge, 4, {0, 1, 715827882, 1073741823, 2147483646, 2147483647},
                  {1643958506, 1906103587, 431909299, 1382241218, 1025383617, 1691738047});
  Expect<int32_t>(2147483647, kLarge, 8, {0, 1, 715827882, 1073741823, 2147483646, 2147483647},
                  {745777646, 1995973349, 430970547, 1534187100, 45987999, 1940359318});
  Expect<int64_t>(8589934592, kLarge, 4, {0, 1, 2863311530, 4294967296, 8589934591, 8589934592},
                  {3233633907, 3761853290, 8415421746, 7561564195, 3530509374, 4623801596});
  Expect<int64_t>(
      1099511627776, kLarge, 4, {0, 1, 366503875925, 549755813888, 1099511627775, 1099511627776},
      {163314800297, 167509103408, 428869311885, 748243984000, 97566212376, 163314800297});
  Expect<int64_t>(140737488355328, kLarge, 4,
                  {0, 1, 46912496118442, 70368744177664, 140737488355327, 140737488355328},
                  {125763646902447, 125833171686678, 62163605473333, 55388569294775,
                   107101217704782, 133204546738389});
  Expect<int64_t>(281474976710655, kLarge, 4,
                  {0, 1, 93824992236885, 140737488355327, 281474976710654, 281474976710655},
                  {125763646902447, 125833171686678, 200379173638921, 107101217704782,
                   252243866748594, 247847430341615});
  Expect<int64_t>(562949953421312, kLarge, 4,
                  {0, 1, 187649984473770, 281474976710656, 562949953421311, 562949953421312},
                  {252641418157768, 252768119758809, 58739227299961, 534116310980760,
                   495701419819585, 394418558777181});
  Expect<int64_t>(
      4611686018427387904, kLarge, 4,
      {0, 1, 1537228672809129301, 2305843009213693952, 4611686018427387903, 4611686018427387904},
      {3258689652451676694, 3258698238091302147, 2136468399234319982, 952918132960042043,
       644214303509693491, 3258689652451676694});
  Expect<int64_t>(
      9223372036854775807, kLarge, 4,
      {0, 1, 3074457345618258602, 4611686018427387903, 9223372036854775806, 9223372036854775807},
      {196530749695167055, 208343833960442954, 7690134650369322899, 3140209347729551957,
       3321931600536832823, 7200163449298665527});
  Expect<int64_t>(
      9223372036854775807, kLarge, 8,
      {0, 1, 3074457345618258602, 4611686018427387903, 9223372036854775806, 9223372036854775807},
      {5421881750466542020, 681198140155925140, 8762038363503004008, 4398286839872961315,
       7386083139871589125, 1737303964933612339});
  Expect<uint64_t>(18446744073709551615ULL, kLarge, 4,
                   {0ULL, 1ULL, 6148914691236517205ULL, 9223372036854775807ULL,
                    18446744073709551614ULL, 18446744073709551615ULL},
                   {15740749723232835087ULL, 15740766903102018390ULL, 483641894993612185ULL,
                    10511797871876590516ULL, 1289554749996336133ULL, 1288429124966891804ULL});
  Expect<uint32_t>(4294967295U, kLarge, 4,
                   {0U, 1U, 1431655765U, 2147483647U, 4294967294U, 4294967295U},
                   {1643958506U, 1906103587U, 1010305790U, 3917417968U, 1781614171U, 1786185554U});
}

TEST(IndexShuffleTest, EveryPlaceIsTakenOnce) {
  for (const int32_t most : {1, 19, 300}) {
    std::vector<int32_t> places(static_cast<size_t>(most) + 1);
    std::iota(places.begin(), places.end(), 0);
    const auto got = RunOp("RandomIndexShuffle", {Numbers<int32_t>(places),
                                                  Numbers<uint32_t>(kLarge), Tensor::Scalar(most)});
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    const auto made = (*got)[0].flat<int32_t>();
    EXPECT_TRUE(std::is_permutation(made.begin(), made.end(), places.begin()));
  }
}

TEST(IndexShuffleTest, OneForEachOrForAll) {
  const std::string op = "RandomIndexShuffle";
  const Tensor many = Numbers<uint32_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, Shape{4, 3});
  ExpectOutputs(op, {Numbers<int32_t>({0, 1, 2, 3}), many, Numbers<int32_t>({19, 18, 17, 16})}, {},
                {Numbers<int32_t>({11, 16, 7, 9})});
  const Tensor four = Tensor::Scalar<int32_t>(4), key = Numbers<uint32_t>(kSmall);
  ExpectOutputs(op, {four, key, Tensor::Scalar<int32_t>(19)}, {}, {Tensor::Scalar<int32_t>(8)});
  ExpectOutputs(op, {four, key, Numbers<int32_t>({19, 18})}, {}, {Numbers<int32_t>({8, 8})});
  const Tensor five = Tensor::Scalar<int64_t>(5), far = Tensor::Scalar(int64_t{1} << 40);
  ExpectOutputs(op, {five, Numbers<int32_t>({1, -2, 3}), far}, {},
                {Tensor::Scalar<int64_t>(22001542543)});
  ExpectOutputs(op, {five, Numbers<int64_t>({1, (int64_t{1} << 40) + 7, 3}), far}, {},
                {Tensor::Scalar<int64_t>(350943378)});
  ExpectOutputs(op, {five, Numbers<uint64_t>({1, (uint64_t{1} << 40) + 7, 3}), far}, {},
                {Tensor::Scalar<int64_t>(350943378)});
}

TEST(IndexShuffleTest, Errors) {
  const Tensor one = Tensor::Scalar<int32_t>(1), most = Tensor::Scalar<int32_t>(19);
  const Tensor key = Numbers<uint32_t>(kSmall);
  const auto bad = [](const Tensor& index, const Tensor& seed, const Tensor& last,
                      std::string_view words) {
    ExpectError("RandomIndexShuffle", {index, seed, last}, {}, Code::kInvalidArgument, words);
  };
  bad(Tensor::Scalar<int32_t>(25), key, most, "19 < 25");
  bad(Tensor::Scalar<int32_t>(-1), key, most, "index must be >= 0");
  bad(Tensor::Scalar<int32_t>(0), key, Tensor::Scalar<int32_t>(-1), "max_index must be >= 0");
  bad(Numbers<int32_t>({}), key, most, "empty");
  bad(one, Numbers<uint32_t>({1, 2}), most, "eed must");
  bad(one, Numbers<uint32_t>({}, Shape{0, 3}), most, "eed must");
  bad(Numbers<int32_t>({1, 2}), Numbers<uint32_t>({1, 2, 3}, Shape{1, 3}), most, "");
  bad(Numbers<int32_t>({1}, Shape{1, 1}), key, most, "");
  ExpectError("RandomIndexShuffle", {one, key, most}, {{"rounds", int64_t{3}}},
              Code::kInvalidArgument, "at least 4");
  ExpectError("RandomIndexShuffle", {one, key, most}, {{"rounds", int64_t{5}}},
              Code::kUnimplemented, "even");
}

}  // namespace
}  // namespace thalweg
