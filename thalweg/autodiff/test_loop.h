// SPDX-License-Identifier: Apache-2.0
// Loop: a while loop as front ends write it, for tests.
//
//   Loop loop(b, "frame");
//   const Output limit = loop.Invariant(n);
//   const std::vector<Output> last = loop.Run(
//       {start}, [&](const Values& v) { return b.Op("Less", {v[0], limit}); },
//       [&](const Values& v) { return Values{b.Op("AddV2", {v[0], limit})}; });
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/graph/graph_builder.h"

namespace thalweg {

using Values = std::vector<Output>;

// A loop as front ends write it, in a frame of its own.
class Loop {
 public:
  Loop(GraphBuilder& b, std::string frame, bool back_prop = true)
      : b_(b), frame_(std::move(frame)), back_prop_(back_prop) {}
  Output Invariant(const Output& value) { return Enter(value, true); }
  Values Run(const Values& initial, const std::function<Output(const Values&)>& condition,
             const std::function<Values(const Values&)>& body) {
    Values merged, inside, last;
    for (const Output& value : initial)
      merged.push_back(b_.Op("Merge", {Enter(value, false), Output()}));
    const Output going_on = b_.Op("LoopCond", {condition(merged)}, {}, frame_);
    for (const Output& value : merged) {
      Node* const parts = b_.OpNode("Switch", {value, going_on});
      if (parts == nullptr) return {};
      inside.push_back(b_.Op("Identity", {{parts, 1}}));
      last.push_back(b_.Op("Exit", {{parts, 0}}));
    }
    const Values next = body(inside);
    for (size_t i = 0; i < next.size() && b_.ok(); ++i) {
      const Output again = b_.Op("NextIteration", {next[i]});
      const Status status = b_.graph().SetBackEdge(merged[i].node, 1, again);
      EXPECT_TRUE(status.ok()) << status.ToString();
    }
    return last;
  }

 private:
  Output Enter(const Output& value, bool is_constant) {
    return b_.Op(
        "Enter", {value},
        {{"frame_name", frame_}, {"is_constant", is_constant}, {"_back_prop", back_prop_}});
  }
  GraphBuilder& b_;
  const std::string frame_;
  const bool back_prop_;
};

}  // namespace thalweg
