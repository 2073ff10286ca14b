// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/file_system.h"
#include "thalweg/ops/data/iterator_wire.h"
#include "thalweg/ops/data/test_dataset_calls.h"
#include "thalweg/resources/optional_value.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

TEST(IteratorTest, BeginsWithADatasetOfItsOwnElements) {
  const Tensor iterator = Made("AnonymousIteratorV3", {}, IntAttrs());
  KernelCall early("IteratorGetNext", {iterator}, IntAttrs());
  EXPECT_EQ(early.Run().code(), Code::kFailedPrecondition);
  const AttrMap floats = {{"output_types", std::vector<DType>{DType::kFloat}},
                          {"output_shapes", std::vector<PartialShape>{PartialShape()}}};
  const Tensor other = Made("AnonymousIteratorV3", {}, floats);
  EXPECT_EQ(Refused("MakeIterator", {Range(3), other}, {}),
            "Data type mismatch at component 0: expected float32 but got int64.");
}

TEST(IteratorTest, TheEndIsAnOptionalWithoutAValue) {
  const Tensor iterator = Made("AnonymousIteratorV3", {}, IntAttrs());
  ASSERT_TRUE(KernelCall("MakeIterator", {Range(1), iterator}).Run().ok());
  for (const bool there : {true, false, false}) {
    const Tensor optional = Made("IteratorGetNextAsOptional", {iterator}, IntAttrs());
    ASSERT_EQ(optional.dtype(), DType::kVariant);
    EXPECT_EQ(optional.scalar<Variant>().As<OptionalValue>()->has_value(), there);
  }
}

TEST(IteratorTest, GoesOnWhereItWasSerialized) {
  const Tensor iterator = Made("AnonymousIteratorV3", {}, IntAttrs());
  ASSERT_TRUE(KernelCall("MakeIterator", {Range(5), iterator}).Run().ok());
  ASSERT_TRUE(KernelCall("IteratorGetNext", {iterator}, IntAttrs()).Run().ok());
  const Tensor state = Made("SerializeIterator", {iterator}, {});
  for (int round = 0; round < 2; ++round) {
    KernelCall next("IteratorGetNext", {iterator}, IntAttrs());
    ASSERT_TRUE(next.Run().ok());
    EXPECT_EQ(next.output(0).scalar<int64_t>(), 1);
    const Status restored = KernelCall("DeserializeIterator", {iterator, state}).Run();
    ASSERT_TRUE(restored.ok()) << restored.ToString();
  }
  EXPECT_EQ(Refused("DeserializeIterator", {iterator, Range(3)}, {}),
            "expected the state of an iterator, got another variant");
}

// What was saved goes on in releases to come.
TEST(IteratorTest, AStateIsAsTheFormatBookShowsIt) {
  PosixFileSystem fs;
  const std::string golden = *ReadFile(fs, THALWEG_GOLDEN_DIR "/iterators/range.state");
  const Tensor iterator = Made("AnonymousIteratorV3", {}, IntAttrs());
  ASSERT_TRUE(KernelCall("MakeIterator", {Range(5), iterator}).Run().ok());
  ASSERT_TRUE(KernelCall("IteratorGetNext", {iterator}, IntAttrs()).Run().ok());
  Tensor state = Made("SerializeIterator", {iterator}, {});
  ASSERT_NE(state.scalar<Variant>().As<OpaqueVariant>(), nullptr);
  const OpaqueVariant written = *state.scalar<Variant>().As<OpaqueVariant>();
  EXPECT_EQ(written.bytes(), golden);
  *state.mutable_data<Variant>() =
      Variant(std::make_shared<const OpaqueVariant>(std::string(written.TypeName()), golden));
  ASSERT_TRUE(KernelCall("IteratorGetNext", {iterator}, IntAttrs()).Run().ok());
  const Status restored = KernelCall("DeserializeIterator", {iterator, state}).Run();
  ASSERT_TRUE(restored.ok()) << restored.ToString();
  KernelCall next("IteratorGetNext", {iterator}, IntAttrs());
  ASSERT_TRUE(next.Run().ok());
  EXPECT_EQ(next.output(0).scalar<int64_t>(), 1);
}

TEST(IteratorTest, TakesStatesThatSayNoDataset) {
  const Tensor iterator = Made("AnonymousIteratorV3", {}, IntAttrs());
  ASSERT_TRUE(KernelCall("MakeIterator", {Range(5), iterator}).Run().ok());
  ASSERT_TRUE(KernelCall("IteratorGetNext", {iterator}, IntAttrs()).Run().ok());
  IteratorState state = *StateOfVariant(Made("SerializeIterator", {iterator}, {}));
  EXPECT_TRUE(state.lineage.starts_with("RangeDataset ")) << state.lineage;
  state.lineage.clear();  // as they were before
  ASSERT_TRUE(KernelCall("DeserializeIterator", {iterator, *VariantOfState(state)}).Run().ok());
  state.lineage = "RangeDataset 0123456789abcdef\n";
  EXPECT_EQ(Refused("DeserializeIterator", {iterator, *VariantOfState(state)}, {}),
            "the state of the iterator is that of another dataset: RangeDataset, 1. from the end, "
            "had other arguments, attributes or functions where the state was saved");
}

TEST(IteratorTest, RefusesNamesThatAreNone) {
  EXPECT_EQ(Refused("IteratorFromStringHandleV2", {Tensor::Scalar("\x0a\xff")}, {}),
            "Could not parse string_handle as a valid ResourceHandle");
  const Tensor iterator = Made("AnonymousIteratorV3", {}, IntAttrs());
  EXPECT_EQ(Refused("IteratorToStringHandle", {iterator}, {}),
            "an iterator without a name has no string handle");
}

TEST(IteratorTest, SaysItsDevice) {
  const Tensor iterator = Made("AnonymousIteratorV3", {}, IntAttrs());
  const std::string device = Made("IteratorGetDevice", {iterator}, {}).scalar<std::string>();
  EXPECT_TRUE(device.ends_with("/device:CPU:0")) << device;
  const Tensor no_iterator = Made("DummyMemoryCache", {}, {});
  EXPECT_FALSE(KernelCall("IteratorGetDevice", {no_iterator}).Run().ok());
}

}  // namespace
}  // namespace thalweg
