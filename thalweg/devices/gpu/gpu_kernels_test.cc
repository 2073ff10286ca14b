// SPDX-License-Identifier: Apache-2.0
// Kernels of the device, each called as a step calls it, beside the CPU's on the same inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "thalweg/devices/gpu/test_gpu_kernels.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

// A kernel of a node that has the entry's types, and `option` for what may be on or off.
Result<std::unique_ptr<Kernel>> MakeWith(const KernelEntry& entry, bool option) {
  KernelMachine& machine = KernelMachine::Get();
  ASSIGN_OR_RETURN(const OpEntry* op, AllRegistries().ops->Find(entry.op));
  AttrMap attrs;
  for (const AttrDef& attr : op->def.attrs) {
    if (attr.kind == AttrValue::Kind::kBool) attrs.Set(attr.name, option);
    if (attr.kind == AttrValue::Kind::kType)
      attrs.Set(attr.name, DType::kInt32);  // of indices, of an axis
  }
  for (const auto& [name, dtype] : entry.types) attrs.Set(name, dtype);
  std::vector<DType> types;
  for (const ArgDef& input : op->def.inputs) {
    DType dtype = input.type;
    if (!input.type_attr.empty()) {
      ASSIGN_OR_RETURN(dtype, attrs.Find(input.type_attr)->Get<DType>());
    }
    types.push_back(dtype);
  }
  KernelCall call(entry.op, std::vector<Tensor>(types.size()), attrs, types);
  static ResourceManager resources;
  return machine.kernels.Make(call.node(), machine.device(), resources);
}

class GpuKernelTest : public GpuKernelFixture {
 protected:
  void CheckProducts();
};

TEST_F(GpuKernelTest, FunctionsOfOneOperand) {
  for (const char* op :
       {"Abs",      "Ceil",    "Cos", "Elu",      "Erf",   "Exp",      "Expm1",  "Floor",
        "IsFinite", "IsNan",   "Neg", "Relu",     "Relu6", "Rint",     "Round",  "Sign",
        "Sin",      "Sigmoid", "Inv", "Softplus", "Tanh",  "Softsign", "Square", "Reciprocal"}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{7, 50}, Shape{0, 4}}) {
      Check(op, {Floats(shape)});
    }
  }
  for (const char* op : {"Log", "Log1p", "Rsqrt", "Sqrt"}) Check(op, {Floats(Shape{70}, 0.1f)});
}

TEST_F(GpuKernelTest, FunctionsOfTwoOperandsBroadcast) {
  for (const char* op :
       {"Add", "AddV2", "DivNoNan", "Maximum", "Minimum", "Mul", "SquaredDifference", "Sub",
        "Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual"}) {
    Check(op, {Floats(Shape{}), Floats(Shape{})});
    Check(op, {Floats(Shape{5, 40}), Floats(Shape{40})});
    Check(op, {Floats(Shape{5, 1, 7}), Floats(Shape{1, 6, 7})});
    Check(op, {Floats(Shape{2, 3, 1, 5, 1}), Floats(Shape{1, 3, 4, 1, 2})});
    Check(op, {Floats(Shape{4}), Floats(Shape{})});
    Check(op, {Floats(Shape{0, 3}), Floats(Shape{3})});
  }
  for (const char* op : {"Div", "RealDiv", "Pow", "FloorDiv"}) {
    Check(op, {Floats(Shape{3, 5}, 0.5f), Floats(Shape{5}, 0.5f)});
  }
}

TEST_F(GpuKernelTest, NanIsTheMaximumAndTheMinimum) {
  const Tensor x = Tensor::Vector<float>({1, NAN, 3, NAN}),
               y = Tensor::Vector<float>({NAN, 2, 3, NAN});
  for (const char* op : {"Maximum", "Minimum"}) Check(op, {x, y});
  Check("Relu", {x});
}

TEST_F(GpuKernelTest, GradientsOfFunctions) {
  for (const char* op : {"EluGrad", "Relu6Grad", "ReluGrad", "SoftplusGrad", "SoftsignGrad"}) {
    Check(op, {Floats(Shape{6, 50}), Floats(Shape{6, 50})});
  }
  for (const char* op :
       {"InvGrad", "ReciprocalGrad", "RsqrtGrad", "SigmoidGrad", "SqrtGrad", "TanhGrad"}) {
    Check(op, {Floats(Shape{60}, 0.5f), Floats(Shape{60})});
  }
}

TEST_F(GpuKernelTest, OtherTypes) {
  const Tensor a = Tensor::Vector<int64_t>({1, -2, 3}), b = Tensor::Vector<int64_t>({2, -2, -3});
  for (const char* op : {"Add", "Mul", "Sub", "Maximum", "Less", "Equal"}) Check(op, {a, b});
  const Tensor c = Ints({7, -7, 3}), d = Ints({2, 2, -3});  // in host memory
  for (const char* op : {"Add", "Mul", "Sub", "Maximum", "Less", "FloorDiv"}) Check(op, {c, d});
  const Tensor p = Tensor::Vector<bool>({true, false, true, false});
  const Tensor q = Tensor::Vector<bool>({true, true, false, false});
  Check("LogicalAnd", {p, q});
  Check("LogicalOr", {p, q});
  Check("LogicalNot", {p});
  for (const DType to :
       {DType::kFloat, DType::kInt32, DType::kInt64, DType::kBool, DType::kUint8}) {
    for (const Tensor& x :
         {Tensor::Vector<float>({0, 1.7f, 100}), Ints({0, 1, 100}), p,
          Tensor::Vector<int64_t>({0, 1, 100}), Tensor::Vector<uint8_t>({0, 1, 100})}) {
      Check("Cast", {x}, {{"DstT", to}});
    }
  }
}

TEST_F(GpuKernelTest, ChoicesSumsAndFilling) {
  const Tensor rows = Tensor::Vector<bool>({true, false, true});
  Check("Select", {rows, Floats(Shape{3, 4}), Floats(Shape{3, 4})});
  Check("Select", {Tensor::Scalar(true), Floats(Shape{3, 4}), Floats(Shape{3, 4})});
  Check("SelectV2", {rows, Floats(Shape{4, 3}), Floats(Shape{4, 1})});
  Check("AddN", {Floats(Shape{3, 4})});
  Check("AddN", {Floats(Shape{3, 4}), Floats(Shape{3, 4}), Floats(Shape{3, 4})});
  Check("Fill", {Ints({3, 5}), Tensor::Scalar(2.5f)});
  Check("Fill", {Ints({}), Tensor::Scalar(int64_t{4})});
  Check("ZerosLike", {Floats(Shape{3, 4})});
  Check("OnesLike", {Floats(Shape{3, 4})});
}

void GpuKernelTest::CheckProducts() {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      const AttrMap attrs = {{"transpose_a", a}, {"transpose_b", b}};
      for (const auto& [m, k, n] : {std::array<int64_t, 3>{1, 1, 1},
                                    {3, 5, 7},
                                    {64, 64, 64},
                                    {65, 17, 130},
                                    {700, 600, 20},  // several blocks of rows, several steps
                                    {2, 0, 3},
                                    {0, 4, 2}}) {
        Check("MatMul",
              {Floats(a ? Shape{k, m} : Shape{m, k}), Floats(b ? Shape{n, k} : Shape{k, n})}, attrs,
              2e-4f);
      }
      Check("BatchMatMul",
            {Floats(a ? Shape{2, 6, 4} : Shape{2, 4, 6}),
             Floats(b ? Shape{2, 5, 6} : Shape{2, 6, 5})},
            {{"adj_x", a}, {"adj_y", b}}, 5e-5f);
      const auto [x, y] = std::array{a ? Shape{3, 1, 6, 4} : Shape{3, 1, 4, 6},
                                     b ? Shape{2, 5, 6} : Shape{2, 6, 5}};
      Check("BatchMatMulV2", {Floats(x), Floats(y)}, {{"adj_x", a}, {"adj_y", b}}, 5e-5f);
    }
  }
}

TEST_F(GpuKernelTest, Products) { CheckProducts(); }

TEST_F(GpuKernelTest, ProductsOfCards) {
  UseCard();
  CheckProducts();
}

TEST_F(GpuKernelTest, Reductions) {
  const std::pair<Shape, Tensor> cases[] = {{Shape{5}, Ints({0})},
                                            {Shape{3, 4}, Ints({0})},
                                            {Shape{3, 4}, Ints({1})},
                                            {Shape{3, 4}, Ints({-1, 0})},
                                            {Shape{2, 3, 4, 5}, Ints({0, 2})},
                                            {Shape{2, 3, 4, 5}, Ints({1, 3})},
                                            {Shape{1000, 3}, Ints({0})},
                                            {Shape{3, 1000}, Ints({1})},
                                            {Shape{100000}, Ints({0})},
                                            {Shape{2, 70000}, Ints({1})},
                                            {Shape{3, 1}, Ints({1})},
                                            {Shape{3, 4}, Ints({})}};
  for (const char* op : {"Sum", "Mean", "Max", "Min"}) {
    for (const auto& [shape, axes] : cases) {
      for (const bool keep : {false, true}) {
        Check(op, {Floats(shape), axes}, {{"keep_dims", keep}}, 2e-4f);
      }
    }
    Check(op, {Floats(Shape{0, 3}), Ints({0})});
  }
  Check("Prod", {Floats(Shape{3, 8}), Ints({1})});
  Check("All", {Tensor::Vector<bool>({true, false}), Ints({0})});
  Check("Any", {Tensor::Vector<bool>({false, true}), Ints({0})});
  Check("BiasAdd", {Floats(Shape{2, 3, 4, 5}), Floats(Shape{5})});
  Check("BiasAdd", {Floats(Shape{2, 3, 4, 5}), Floats(Shape{3})},
        {{"data_format", std::string("NCHW")}});
  Check("BiasAddGrad", {Floats(Shape{50, 7})}, {}, 5e-5f);
  Check("BiasAddGrad", {Floats(Shape{8, 3, 10, 5})}, {{"data_format", std::string("NCHW")}}, 1e-4f);
}

TEST_F(GpuKernelTest, Softmaxes) {
  for (const Shape& shape : {Shape{3, 10}, Shape{2, 3, 100}, Shape{1, 1000}, Shape{0, 3}}) {
    Check("Softmax", {Floats(shape)});
    Check("LogSoftmax", {Floats(shape)});
  }
  Check("SoftmaxCrossEntropyWithLogits", {Floats(Shape{6, 10}), Floats(Shape{6, 10}, 0)});
  Check("SparseSoftmaxCrossEntropyWithLogits", {Floats(Shape{3, 10}), Ints({0, 9, 3})});
  Check("SparseSoftmaxCrossEntropyWithLogits",
        {Floats(Shape{3, 10}), Tensor::Vector<int64_t>({0, 9, 3})});
}

TEST_F(GpuKernelTest, ShapesAndMoves) {
  const Tensor x = Floats(Shape{2, 3, 4, 5});
  Check("Reshape", {x, Ints({6, -1})});
  Check("Reshape", {Floats(Shape{1, 1}), Ints({})});
  Check("ExpandDims", {x, Tensor::Scalar(1)});
  Check("Squeeze", {Floats(Shape{2, 1, 3, 1})});
  Check("Squeeze", {Floats(Shape{1, 1})});
  for (const char* op : {"Identity", "Shape", "Size", "Rank"}) Check(op, {x});
  for (const Tensor& perm :
       {Ints({0, 1, 2, 3}), Ints({3, 2, 1, 0}), Ints({0, 2, 1, 3}), Ints({1, 0, 3, 2})}) {
    Check("Transpose", {x, perm});
  }
  Check("Tile", {Floats(Shape{2, 3}), Ints({3, 2})});
  Check("Tile", {Floats(Shape{2, 3}), Ints({0, 2})});
  Check("BroadcastTo", {Floats(Shape{3, 1}), Ints({2, 3, 4})});
  Check("Slice", {x, Ints({1, 0, 2, 1}), Ints({1, -1, 2, 3})});
  Check("StridedSlice", {Floats(Shape{6, 7}), Ints({5, 1}), Ints({0, 7}), Ints({-2, 3})});
  Check("StridedSlice", {Floats(Shape{6, 7}), Ints({2}), Ints({3}), Ints({1})},
        {{"shrink_axis_mask", int64_t{1}}});
  Check("StridedSliceGrad",
        {Ints({6, 7}), Ints({1, 0}), Ints({6, 7}), Ints({2, 3}), Floats(Shape{3, 3})});
  Check("Pad",
        {Floats(Shape{2, 3}), Tensor::Of<int32_t>(std::vector<int32_t>{1, 0, 2, 3}, Shape{2, 2})});
  Check("ConcatV2", {Floats(Shape{4, 2}), Floats(Shape{4, 3}), Tensor::Scalar(-1)});
  Check("Split", {Tensor::Scalar(1), Floats(Shape{3, 6})}, {{"num_split", int64_t{3}}});
}

TEST_F(GpuKernelTest, Convolutions) { CheckConvolutions(); }

TEST_F(GpuKernelTest, ConvolutionsOfCards) {
  UseCard();
  CheckConvolutions();
}

TEST_F(GpuKernelTest, ConvolutionsInParts) { CheckConvolutionsInParts(); }

TEST_F(GpuKernelTest, WindowsBeyond32BitsAreTheCpus) {
  constexpr int64_t kFar = (int64_t{1} << 31) - 1;
  const AttrMap attrs = {{"padding", std::string("SAME")},
                         {"strides", std::vector<int64_t>{1, 1, 1, 1}},
                         {"dilations", std::vector<int64_t>{1, kFar, kFar, 1}}};
  Check("Conv2D", {Floats(Shape{1, 5, 5, 1}), Floats(Shape{5, 5, 1, 1})}, attrs);
}

TEST_F(GpuKernelTest, ConvolutionsInPartsOfCards) {
  UseCard();
  CheckConvolutionsInParts();
}

TEST_F(GpuKernelTest, DepthwiseFiltersHaveTheChannelsOfTheImage) {
  const AttrMap attrs = {{"padding", std::string("VALID")},
                         {"strides", std::vector<int64_t>{1, 1, 1, 1}}};
  const Status status =
      RunThere("DepthwiseConv2dNative", {Floats(Shape{1, 4, 4, 3}), Floats(Shape{2, 2, 4, 2})},
               attrs, *device_)
          .status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("3 vs 4 channels"));
  for (const Shape& image : {Shape{0, 4, 4, 3}, Shape{1, 4, 4, 0}}) {
    Check("DepthwiseConv2dNative", {Floats(image), Floats(Shape{2, 2, image.dim(3), 2})}, attrs);
  }
}

// Parts of the pixels that do not come out even: none begins behind the last pixel.
TEST_F(GpuKernelTest, FilterGradientsOfManyUnits) {
  Use(device_->traits().is_processor, 160);
  constexpr int64_t kPixels = 263681;  // 515 parts of 513 would be too many
  const std::vector<float> ones(kPixels, 1.0f);
  const Tensor x = Tensor::Of<float>(ones, Shape{1, kPixels, 1, 1});
  Check("Conv2DBackpropFilter", {x, Ints({1, 1, 1, 1}), x},
        {{"padding", std::string("VALID")}, {"strides", std::vector<int64_t>{1, 1, 1, 1}}}, 0);
}

TEST_F(GpuKernelTest, Pools) {
  const auto four = [](int64_t n) { return std::vector<int64_t>{1, n, n, 1}; };
  for (const char* padding : {"SAME", "VALID"}) {
    for (const int64_t stride : {1, 2}) {
      const AttrMap attrs = {
          {"ksize", four(3)}, {"strides", four(stride)}, {"padding", std::string(padding)}};
      const Tensor x = Floats(Shape{2, 8, 9, 3});
      Check("MaxPool", {x}, attrs);
      Check("AvgPool", {x}, attrs);
      KernelCall pool("MaxPool", {x}, attrs);
      ASSERT_TRUE(pool.Run().ok());
      const Tensor of_pool = Floats(pool.output(0).shape());
      Check("MaxPoolGrad", {x, pool.output(0), of_pool}, attrs);
      Check("AvgPoolGrad", {Ints({2, 8, 9, 3}), of_pool}, attrs);
    }
  }
}

TEST_F(GpuKernelTest, BatchNorms) {
  for (const bool training : {true, false}) {
    for (const char* format : {"NHWC", "NCHW"}) {
      for (const Shape& shape : {Shape{2, 5, 3, 4}, Shape{4, 20, 30, 11}, Shape{0, 3, 2, 2}}) {
        SCOPED_TRACE(StrCat(format, shape.ToString(), training));
        const int64_t channels = shape.dim(format[1] == 'C' ? 1 : 3);
        const AttrMap attrs = {
            {"is_training", training}, {"data_format", std::string(format)}, {"epsilon", 0.01f}};
        AttrMap averaging = attrs;
        averaging.Set("exponential_avg_factor", 0.25f);
        const Tensor x = Floats(shape), scale = Floats(Shape{channels}),
                     offset = Floats(Shape{channels}), mean = Floats(Shape{channels}),
                     variance = Floats(Shape{channels}, 0.1f);
        const bool empty = shape.num_elements() == 0;
        if (training) {
          const Tensor none = Tensor::Of<float>({}, Shape{0});
          Check("FusedBatchNorm", {x, scale, offset, none, none}, attrs, 1e-4f);
        }
        Check("FusedBatchNormV3", {x, scale, offset, mean, variance}, averaging, 1e-4f);
        if (empty) continue;
        KernelCall forward("FusedBatchNormV3", {x, scale, offset, mean, variance}, averaging);
        ASSERT_TRUE(forward.Run().ok());
        const std::vector<Tensor> saved = {forward.output(3), forward.output(4)};
        Check("FusedBatchNormGradV2", {Floats(shape), x, scale, saved[0], saved[1]}, attrs, 3e-3f);
      }
    }
  }
}

// What needs variables runs in whole sessions (opencl_session_test, tests/opencl).
TEST_F(GpuKernelTest, KernelsOfRowsAndVariablesCompile) {
  KernelMachine& machine = KernelMachine::Get();
  std::set<std::string> made;
  for (const KernelEntry* entry : machine.kernels.Entries()) {
    const bool is_of_rows = entry->op.starts_with("Resource") || entry->op.starts_with("Gather") ||
                            entry->op == "UnsortedSegmentSum" || entry->op.starts_with("Assign");
    if (entry->device_type != kGpu || !is_of_rows) continue;
    for (const bool option : {false, true}) {
      SCOPED_TRACE(StrCat(entry->op, option));
      const Result<std::unique_ptr<Kernel>> kernel = MakeWith(*entry, option);
      ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
    }
    made.insert(entry->op);
  }
  EXPECT_GT(made.size(), 15);
}

TEST_F(GpuKernelTest, BadInputIsRefused) {
  const auto words = [&](std::string_view op, const std::vector<Tensor>& inputs) {
    const auto result = RunThere(op, inputs, {}, *device_);
    return result.ok() ? std::string("nothing") : std::string(result.status().message());
  };
  EXPECT_THAT(words("MatMul", {Floats(Shape{2, 3}), Floats(Shape{4, 5})}),
              HasSubstr("size-incompatible"));
  EXPECT_THAT(words("Add", {Floats(Shape{2, 3}), Floats(Shape{4})}),
              HasSubstr("Incompatible shapes"));
  EXPECT_THAT(words("BiasAdd", {Floats(Shape{2, 3}), Floats(Shape{4})}),
              HasSubstr("as many biases"));
  EXPECT_THAT(words("Transpose", {Floats(Shape{2, 3}), Ints({0, 0})}), HasSubstr("twice"));
  EXPECT_THAT(words("Slice", {Floats(Shape{3}), Ints({2}), Ints({2})}), HasSubstr("size[0]"));
  EXPECT_THAT(words("Sum", {Floats(Shape{3}), Ints({4})}),
              HasSubstr("Invalid reduction dimension"));
  EXPECT_THAT(words("FusedBatchNorm", {Floats(Shape{1, 2, 2, 3}), Floats(Shape{2}),
                                       Floats(Shape{3}), Floats(Shape{3}), Floats(Shape{3})}),
              HasSubstr("channels of x, got 2 and 3"));
  EXPECT_THAT(words("Tile", {Floats(Shape{1000}), Ints({1 << 30})}), HasSubstr("memory"));
}

}  // namespace
}  // namespace thalweg
