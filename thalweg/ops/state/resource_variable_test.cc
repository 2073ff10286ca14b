// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/resources/destroyable.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

class ResourceVariableTest : public testing::Test {
 protected:
  ResourceVariableTest()
      : graph_(AllRegistries().ops),
        b_(&graph_),
        machine_(compute::BestIsaLevel(), false),
        runner_(*AllRegistries().kernels, machine_) {
    handle_ = b_.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", Shape{2}}}, "weights");
    read_ = b_.Op("ReadVariableOp", {handle_}, {{"dtype", DType::kFloat}});
    assign_ = b_.OpNode("AssignVariableOp", {handle_, b_.Const(Tensor::Vector<float>({1, 2}))});
  }
  Result<Tensor> Fetch(Output output) {
    ASSIGN_OR_RETURN(std::vector<Tensor> got, runner_.Run({}, {output}));
    return got[0];
  }

  Graph graph_;
  GraphBuilder b_;
  TestMachine machine_;
  GraphRunner runner_;
  Output handle_, read_;
  Node* assign_ = nullptr;
};

TEST_F(ResourceVariableTest, ReadsWhatWasAssigned) {
  ASSERT_TRUE(b_.ok()) << b_.status().ToString();
  EXPECT_EQ(read_.shape(), (PartialShape{2}));
  const Output is_initialized = b_.Op("VarIsInitializedOp", {handle_});
  EXPECT_FALSE(Fetch(is_initialized)->scalar<bool>());
  Status status = Fetch(read_).status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("weights"), std::string_view::npos) << status.ToString();
  status = Fetch(b_.Op("VariableShape", {handle_})).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("weights"), std::string_view::npos) << status.ToString();
  ASSERT_TRUE(runner_.Run({}, {}, {assign_}).ok());
  EXPECT_TRUE(Fetch(is_initialized)->scalar<bool>());
  EXPECT_EQ(Fetch(read_)->data<float>()[1], 2.0f);
  EXPECT_EQ(Fetch(b_.Op("VariableShape", {handle_}))->data<int32_t>()[0], 2);
}

TEST_F(ResourceVariableTest, DestroyedMeansNew) {
  ASSERT_TRUE(runner_.Run({}, {}, {assign_}).ok());
  ASSERT_TRUE(runner_.Run({}, {}, {b_.OpNode("DestroyResourceOp", {handle_})}).ok());
  EXPECT_EQ(Fetch(read_).status().code(), Code::kFailedPrecondition);
  ASSERT_TRUE(runner_.Run({}, {}, {assign_}).ok());
  runner_.resources().ResetAll();
  EXPECT_EQ(Fetch(read_).status().code(), Code::kFailedPrecondition);
}

class OddResource : public Resource {
 public:
  std::string DebugString() const override { return "odd"; }
};

TEST_F(ResourceVariableTest, WhateverHasAHandleIsDestroyed) {
  const Output fed = b_.Op("Placeholder", {}, {{"dtype", DType::kResource}});
  Node* const destroy =
      b_.OpNode("DestroyResourceOp", {fed}, {{"ignore_lookup_error", false}}, "destroy");
  Node* const lenient =
      b_.OpNode("DestroyResourceOp", {fed}, {{"ignore_lookup_error", true}}, "lenient");
  ASSERT_TRUE(b_.ok()) << b_.status().ToString();
  const auto odd = [] { return RefPtr<OddResource>::Adopt(new OddResource); };
  RefPtr<OddResource> first = odd();
  for (const bool says_which : {true, false}) {
    ASSERT_TRUE(runner_.resources().Create<OddResource>("box", "o", first).ok());
    const Tensor handle = Tensor::Scalar(
        ResourceHandle({.container = "box", .name = "o"},
                       says_which ? RefPtr<Resource>::Share(first.get()) : RefPtr<Resource>()));
    EXPECT_TRUE(runner_.Run({{fed, handle}}, {}, {destroy}).ok());
    EXPECT_EQ(runner_.resources().Lookup<OddResource>("box", "o").status().code(), Code::kNotFound);
    EXPECT_EQ(runner_.Run({{fed, handle}}, {}, {destroy}).status().code(), Code::kNotFound);
    EXPECT_TRUE(runner_.Run({{fed, handle}}, {}, {lenient}).ok());
  }
  // Another one that has taken the name meanwhile stays.
  ASSERT_TRUE(runner_.resources().Create<OddResource>("box", "o", odd()).ok());
  const Tensor old = Tensor::Scalar(
      ResourceHandle({.container = "box", .name = "o"}, RefPtr<Resource>::Share(first.get())));
  EXPECT_EQ(runner_.Run({{fed, old}}, {}, {destroy}).status().code(), Code::kNotFound);
  EXPECT_TRUE(runner_.resources().Lookup<OddResource>("box", "o").ok());
}

// As in TensorFlow, which makes it then.
TEST_F(ResourceVariableTest, AVariableIsThereToBeDestroyedOnceItHasAValue) {
  Node* const destroy = b_.OpNode("DestroyResourceOp", {handle_}, {{"ignore_lookup_error", false}});
  EXPECT_EQ(runner_.Run({}, {}, {destroy}).status().code(), Code::kNotFound);
  ASSERT_TRUE(runner_.Run({}, {}, {assign_}).ok());
  EXPECT_TRUE(runner_.Run({}, {}, {destroy}).ok());
  EXPECT_EQ(runner_.Run({}, {}, {destroy}).status().code(), Code::kNotFound);
  EXPECT_TRUE(runner_.Run({}, {}, {b_.OpNode("DestroyResourceOp", {handle_})}).ok());
}

class OwnEnd : public OddResource, public Destroyable {
 public:
  explicit OwnEnd(Destroyed destroyed) : destroyed_(destroyed) {}
  Destroyed Destroy() override { return destroyed_; }

 private:
  const Destroyed destroyed_;
};

TEST_F(ResourceVariableTest, AResourceMayKnowItsOwnEnd) {
  const Output fed = b_.Op("Placeholder", {}, {{"dtype", DType::kResource}});
  Node* const destroy = b_.OpNode("DestroyResourceOp", {fed}, {{"ignore_lookup_error", false}});
  ASSERT_TRUE(b_.ok()) << b_.status().ToString();
  const auto said = [&](const std::string& container, Resource* resource) {
    const Tensor handle = Tensor::Scalar(
        ResourceHandle({.container = container, .name = "o"}, RefPtr<Resource>::Adopt(resource)));
    return runner_.Run({{fed, handle}}, {}, {destroy}).status().code();
  };
  using Destroyed = Destroyable::Destroyed;
  EXPECT_EQ(said("box", new OwnEnd(Destroyed::kNow)), Code::kOk);
  EXPECT_EQ(said("box", new OwnEnd(Destroyed::kNotThere)), Code::kNotFound);
  EXPECT_EQ(said("box", new OwnEnd(Destroyed::kByHolder)), Code::kNotFound);
  // A resource of no container goes with its handle.
  EXPECT_EQ(said("", new OddResource), Code::kOk);
  EXPECT_EQ(said("", nullptr), Code::kNotFound);
}

TEST_F(ResourceVariableTest, OneOfNoNameIsAnotherInEveryRun) {
  const Output handle =
      b_.Op("VarHandleOp", {},
            {{"dtype", DType::kFloat},
             {"shape", Shape{2}},
             {"shared_name", std::string("cd2c89b7-88b7-44c8-ad83-06c2a9158347")}});
  const Result<std::vector<Tensor>> first = runner_.Run({}, {handle});
  const Result<std::vector<Tensor>> second = runner_.Run({}, {handle});
  ASSERT_TRUE(first.ok() && second.ok());
  const auto resource_of = [](const Result<std::vector<Tensor>>& found) {
    return (*found)[0].data<ResourceHandle>()[0].resource();
  };
  EXPECT_NE(resource_of(first), nullptr);
  EXPECT_NE(resource_of(first), resource_of(second));
}

TEST_F(ResourceVariableTest, ReadsNeverCopyAnyway) {
  ASSERT_TRUE(runner_.Run({}, {}, {assign_}).ok());
  EXPECT_TRUE(runner_.Run({}, {}, {b_.OpNode("DisableCopyOnRead", {handle_})}).ok());
  const Output fed = b_.Op("Placeholder", {}, {{"dtype", DType::kResource}});
  Node* const disable = b_.OpNode("DisableCopyOnRead", {fed});
  EXPECT_EQ(runner_.Run({{fed, Tensor::Scalar(ResourceHandle())}}, {}, {disable}).status().code(),
            Code::kFailedPrecondition);
}

TEST_F(ResourceVariableTest, TypesAndShapesAreCheckedWhenTheNodeIsMade) {
  b_.Op("ReadVariableOp", {handle_}, {{"dtype", DType::kInt32}});
  EXPECT_EQ(b_.status().code(), Code::kInvalidArgument);
  GraphBuilder other(&graph_);
  other.OpNode("AssignVariableOp", {handle_, other.Const(Tensor::Vector<float>({1, 2, 3}))});
  EXPECT_EQ(other.status().code(), Code::kInvalidArgument);
}

TEST_F(ResourceVariableTest, WhatIsNoVariableIsRefused) {
  const Output fed = b_.Op("Placeholder", {}, {{"dtype", DType::kResource}});
  const Output read = b_.Op("ReadVariableOp", {fed}, {{"dtype", DType::kFloat}});
  Result<std::vector<Tensor>> got = runner_.Run({{fed, Tensor::Scalar(ResourceHandle())}}, {read});
  EXPECT_EQ(got.status().code(), Code::kFailedPrecondition);
  got = runner_.Run({{fed, *Tensor::AllocateHost(DType::kResource, Shape{0})}}, {read});
  EXPECT_EQ(got.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
