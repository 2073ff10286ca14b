// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "thalweg/ops/nn/test_conv2d.h"
#include "thalweg/testing/sanitized.h"

namespace thalweg {
namespace {

double Activated(const std::string& name, double v, double alpha) {
  if (name == "Relu") return v < 0 ? 0 : v;
  if (name == "Relu6") return std::clamp(v, 0.0, 6.0);
  if (name == "Elu") return v < 0 ? std::expm1(v) : v;
  if (name == "LeakyRelu") return v < 0 ? v * alpha : v;
  ADD_FAILURE() << name;
  return v;
}

void Compute(RefCall<double>& r) {
  const Conv conv(r, r.in[0].shape, r.in[1].shape);
  const auto names = r.Attr<std::vector<std::string>>("fused_ops");
  const double alpha = r.Attr<float>("leakyrelu_alpha"), epsilon = r.Attr<float>("epsilon");
  r.out = {Array<double>(conv.output)};
  conv.ForEachProduct([&](const auto& image, const auto& filter, const auto& out) {
    r.out[0].At(out) += r.in[0].At(image) * r.in[1].At(filter);
  });
  ForEachIndex(conv.output, [&](const std::vector<int64_t>& at) {
    double& v = r.out[0].At(at);
    const int64_t c = at[conv.first ? 1 : 3];
    size_t arg = 2;
    for (const std::string& name : names) {
      if (name == "BiasAdd") {
        v += r.in[arg++].At({c});
      } else if (name == "FusedBatchNorm") {
        const auto of = [&](size_t i) { return r.in[i].At({c}); };
        v = (v - of(4)) / std::sqrt(of(5) + epsilon) * of(2) + of(3);
        arg = 6;
      } else if (name == "Add") {
        v += r.in[arg++].At(at);
      } else {
        v = Activated(name, v, alpha);
      }
    }
  });
}

AttrMap Fuse(std::vector<std::string> names, int64_t args, AttrMap attrs) {
  attrs.Set("fused_ops", std::move(names));
  attrs.Set("num_args", args);
  attrs.Set("num_host_args", int64_t{0});
  return attrs;
}

// TArgs: as many floats as there are args.
AttrMap Floats(AttrMap attrs, int64_t args) {
  attrs.Set("TArgs", std::vector<DType>(static_cast<size_t>(args), DType::kFloat));
  return attrs;
}

AttrMap Kept(AttrMap attrs) {
  attrs.Set("_weight", std::string("w"));
  return attrs;
}

OpCase Case() {
  OpCase c("_FusedConv2D");
  c.Reference([](RefCall<double>& r) { Compute(r); })
      .Types({{"T", DType::kFloat}})
      .Tolerance(DType::kFloat, 1e-4);
  return c;
}

TEST(FusedConv2DTest, BiasAndActivations) {
  OpCase c = Case();
  for (const char* name : {"Relu", "Relu6", "Elu", "LeakyRelu"}) {
    const AttrMap attrs = Floats(Fuse({"BiasAdd", name}, 1, ConvAttrs(1, 2, "SAME")), 1);
    c.Try({In({2, 6, 7, 3}), In({3, 2, 3, 5}), In({5})}, attrs);
    c.Try({In({2, 6, 7, 3}), In({3, 2, 3, 5}), In({5})}, Kept(attrs));
  }
  c.Try({In({2, 3, 6, 7}), In({3, 2, 3, 5}), In({5})},
        Floats(Fuse({"BiasAdd", "Relu"}, 1, ConvAttrs(1, 1, "VALID", true)), 1));
  c.Run();
}

TEST(FusedConv2DTest, NormAndResidual) {
  const AttrMap same = ConvAttrs(1, 1, "SAME");
  const AttrMap norm = Floats(Fuse({"FusedBatchNorm"}, 4, same), 4);
  const AttrMap all = Floats(Fuse({"FusedBatchNorm", "Add", "Relu"}, 5, same), 5);
  const AttrMap sum = Floats(Fuse({"BiasAdd", "Add", "Relu"}, 2, same), 2);
  const In positive = In({5}).Range(0.5, 2);
  const In image = In({2, 6, 7, 3}), filter = In({3, 2, 3, 5}), out = In({2, 6, 7, 5});
  Case()
      .Try({image, filter, In({5}), In({5}), In({5}), positive}, norm)
      .Try({image, filter, In({5}), In({5}), In({5}), positive}, Kept(norm))
      .Try({image, filter, In({5}), In({5}), In({5}), positive, out}, all)
      .Try({image, filter, In({5}), In({5}), In({5}), positive, out}, Kept(all))
      .Try({image, filter, In({5}), out}, sum)
      .Try({In({0, 4, 4, 3}), filter, In({5}), In({0, 4, 4, 5})}, sum)
      .Run();
}

// Sizes that the component takes: bands of rows, parts of the channels, images.
TEST(FusedConv2DTest, LargeOnes) {
  const AttrMap all =
      Floats(Fuse({"FusedBatchNorm", "Add", "Relu"}, 5, ConvAttrs(1, 1, "SAME")), 5);
  OpCase c = Case();
  c.Tolerance(DType::kFloat, 1e-3);
  constexpr int64_t kLess = kSanitized ? 4 : 2;  // channels; the reference takes its time
  for (const auto& [batch, size, in, n] : {std::array<int64_t, 4>{1, 14, 32 / kLess, 64 / kLess},
                                           {1, 5, 64 / kLess, 256 / kLess},
                                           {3, 8, 32 / kLess, 64 / kLess}}) {
    const In vector = In({n}), positive = In({n}).Range(0.5, 2);
    c.Try({In({batch, size, size, in}), In({3, 3, in, n}), vector, vector, vector, positive,
           In({batch, size, size, n})},
          Kept(all));
  }
  c.Run();
}

TEST(FusedConv2DTest, OtherTypes) {
  for (DType dtype : {DType::kDouble, DType::kHalf}) {
    AttrMap attrs = Fuse({"BiasAdd", "LeakyRelu"}, 1, ConvAttrs(2, 1, "SAME"));
    attrs.Set("TArgs", std::vector<DType>{dtype});
    OpCase c("_FusedConv2D");
    c.Reference([](RefCall<double>& r) { Compute(r); }).Types({{"T", dtype}});
    c.Tolerance(DType::kHalf, 2e-2);
    c.Try({In({2, 6, 7, 3}), In({3, 2, 3, 5}), In({5})}, attrs).Run();
  }
}

TEST(FusedConv2DTest, BadInputs) {
  const AttrMap same = ConvAttrs(1, 1, "SAME");
  AttrMap named = Floats(Fuse({"BiasAdd"}, 1, same), 1);
  named.Set("_fused_from", std::string("Conv2D 'x', BiasAdd 'y'"));
  const In image = In({1, 4, 4, 2}), filter = In({2, 2, 2, 3});
  Case()
      .Try({image, filter, In({3})}, Floats(Fuse({"BiasAdd"}, 1, same), 1))
      .Bad({image, filter, In({4})}, named, Code::kInvalidArgument, "Conv2D 'x', BiasAdd 'y'")
      .Bad({image, filter, In({4})}, named, Code::kInvalidArgument,
           "bias must have one element per output channel, 3, got shape [4]")
      .Bad({image, filter, In({3}), In({3}), In({3}), In({2})},
           Floats(Fuse({"FusedBatchNorm"}, 4, same), 4), Code::kInvalidArgument, "variance must")
      .Bad({image, filter, In({3}), In({1, 4, 4, 1})}, Floats(Fuse({"BiasAdd", "Add"}, 2, same), 2),
           Code::kInvalidArgument, "must have the shape of the output")
      .Bad({image, filter, In({3})}, Floats(Fuse({"BiasAdd"}, 2, same), 1), Code::kInvalidArgument,
           "fused_ops need 1 args, got 2")
      .Bad({image, filter, In({3})}, Floats(Fuse({"BiasAdd", "Add"}, 2, same), 1),
           Code::kInvalidArgument, "fused_ops need 2 args, got 1")
      .Bad({image, filter, In({3})}, Floats(Fuse({"Relu", "BiasAdd"}, 1, same), 1),
           Code::kUnimplemented, "'BiasAdd' is unknown, or out of place")
      .Run();
}

}  // namespace
}  // namespace thalweg
