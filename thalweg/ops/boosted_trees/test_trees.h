// SPDX-License-Identifier: Apache-2.0
// Ensembles and streams for tests of single operations, which no container holds.
//   const Tensor trees = EnsembleHandle(kGrownTree, 3);
//   const TreeEnsemble ensemble = EnsembleOf(trees);
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "thalweg/resources/quantile_streams.h"
#include "thalweg/resources/tree_ensemble.h"
#include "thalweg/testing/test_values.h"

namespace thalweg {

// One tree of a bias of -1.78125 and a split at bucket 5, as TensorFlow 1.15 serialized it.
inline constexpr char kGrownBytes[] =
    "\n+\n\x17\x12\x06\x10\x05\x18\x01 \x02\xca"
    "0\x0c\r\x00\x00\x80?\x12\x05\x1d\x00\x00\xe4\xbf\n\x07\n\x05\x1d"
    "ff\xca\xbf\n\x07\n\x05\x1d"
    "33\x05\xc0\x12\x04\x00\x00\x80?\x1a\x02\x10\x01\"\x08\x08\x01\x10\x01\x18\x01 \x03";
inline const std::string kGrownTree(kGrownBytes, sizeof(kGrownBytes) - 1);

// What an ensemble or a stream holds stays charged where it was charged first.
inline Allocator& TreesAllocator() {
  static const AllocatorPtr allocator = MakeCpuAllocator();
  return *allocator;
}

template <class T>
Tensor HandleTo(RefPtr<T> resource) {
  ResourceHandle::Place place;
  place.name = "test";
  place.type_name = T::kTypeName;
  return Tensor::Scalar(
      ResourceHandle(std::move(place), RefPtr<Resource>::Adopt(resource.release())));
}

inline Tensor EnsembleHandle(std::string_view bytes, int64_t stamp = 0) {
  auto trees =
      RefPtr<TreeEnsembleResource>::Adopt(std::make_unique<TreeEnsembleResource>().release());
  const Status status = trees->Change([&](TreeEnsembleResource::State& state) -> Status {
    ASSIGN_OR_RETURN(state.ensemble, ParseTreeEnsemble(TreesAllocator(), state.charge, bytes));
    state.charge.Clear();
    state.stamp = stamp;
    return OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
  return HandleTo(std::move(trees));
}

inline Tensor StreamsHandle(float epsilon, int64_t streams) {
  auto made = QuantileStreams::Make(TreesAllocator(), epsilon, int64_t{1} << 40, streams);
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return HandleTo(*std::move(made));
}

inline void DoTrees(const char* op, const std::vector<Tensor>& inputs, const AttrMap& attrs = {}) {
  const auto done = RunOp(op, inputs, attrs);
  EXPECT_TRUE(done.ok()) << op << ": " << done.status().ToString();
}

inline TreeEnsemble EnsembleOf(const Tensor& handle) {
  const auto out = RunOp("BoostedTreesSerializeEnsemble", {handle});
  EXPECT_TRUE(out.ok()) << out.status().ToString();
  HeapCharge charge;
  auto parsed = ParseTreeEnsemble(TreesAllocator(), charge, (*out)[1].scalar<std::string>());
  EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
  charge.Clear();
  return *std::move(parsed);
}

}  // namespace thalweg
