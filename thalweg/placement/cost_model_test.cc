// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/cost_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/placement/test_workload.h"

namespace thalweg {
namespace {

class CostModelTest : public ::testing::Test {
 protected:
  CostModelTest() {
    ops->Op("Placeholder").Shape([](ShapeContext& c) {
      ASSIGN_OR_RETURN(const PartialShape shape, c.Attr<PartialShape>("shape"));
      c.set_output(0, shape);
      return OkStatus();
    });
    ops->Op("MatMul").Shape([](ShapeContext& c) {
      c.set_output(0, PartialShape{c.input(0).dim(0), c.input(1).dim(1)});
      return OkStatus();
    });
    machine.device(0).flops = 1e3;
    machine.device(1).flops = 2e3;
    for (int d : {0, 1}) {
      machine.device(d).bytes = 1e9;
      machine.device(d).node_seconds = 1;
    }
  }
  Output Placeholder(PartialShape shape) {
    return b.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", std::move(shape)}});
  }

  const std::shared_ptr<OpRegistry> ops = std::make_shared<OpRegistry>();
  Graph graph{ops};
  GraphBuilder b{&graph};
  Machine machine = MachineOf(2);
};

TEST_F(CostModelTest, CountsArithmeticOrBytesWhicheverTakesLonger) {
  const Output y = b.Op("MatMul", {Placeholder({10, 20}), Placeholder({20, 5})}, {}, "y");
  const CostModel costs(machine);
  EXPECT_EQ(costs.Seconds(*y.node, 0), 1 + 2.0 * 10 * 20 * 5 / 1e3);
  EXPECT_EQ(costs.Seconds(*y.node, 1), 1 + 2.0 * 10 * 20 * 5 / 2e3);
  machine.device(0).bytes = 35;  // 200 + 100 + 50 floats
  EXPECT_EQ(costs.Seconds(*y.node, 0), 1 + 4.0 * 350 / 35);
  EXPECT_EQ(costs.Why(*y.node, 1), "2 s, from 2000 operations and 1400 bytes");
}

TEST_F(CostModelTest, WhatIsNotKnownCountsAsNothing) {
  const Output y = b.Op("MatMul", {Placeholder({-1, 20}), Placeholder({20, 5})}, {}, "y");
  EXPECT_EQ(CostModel(machine).Seconds(*y.node, 0), 1 + 4.0 * (20 + 100 + 5) / 1e9);
  EXPECT_EQ(ValueBytes(DType::kFloat, PartialShape()), 0);
}

TEST_F(CostModelTest, AMeasurementCountsAndCorrectsTheOthers) {
  const Output y = b.Op("MatMul", {Placeholder({10, 20}), Placeholder({20, 5})}, {}, "y");
  MeasuredCosts measured;
  const CostModel costs(machine, &measured);
  measured.Add("y", "A", 9);  // three times as long as from its shapes
  EXPECT_THAT(costs.Seconds(*y.node), ::testing::ElementsAre(9, 6));
  EXPECT_EQ(costs.Why(*y.node, 0), "9 s, measured");
  EXPECT_EQ(costs.Why(*y.node, 1), "6 s, by what was measured elsewhere");
  measured.Add("y", "B", 0.5);
  EXPECT_THAT(costs.Seconds(*y.node), ::testing::ElementsAre(9, 0.5));
}

TEST_F(CostModelTest, TheMedianOfTheLatestMeasurementsCounts) {
  MeasuredCosts measured;
  EXPECT_TRUE(measured.IsEmpty());
  measured.Add("y", "A", 1000);  // a first step
  EXPECT_EQ(measured.Find("y", "A"), 1000);
  measured.Add("y", "A", 3);
  EXPECT_EQ(measured.Find("y", "A"), 3);
  measured.Add("y", "A", 4);
  measured.Add("y", "A", -1);  // no time
  EXPECT_EQ(measured.Find("y", "A"), 4);
  for (int i = 0; i < 8; ++i) measured.Add("y", "A", i == 5 ? 500 : 10);
  EXPECT_EQ(measured.Find("y", "A"), 10);
  for (int i = 0; i < 4; ++i) measured.Add("y", "A", 2);
  EXPECT_EQ(measured.Find("y", "A"), 2);
  EXPECT_FALSE(measured.Find("y", "B").has_value());
}

}  // namespace
}  // namespace thalweg
