// SPDX-License-Identifier: Apache-2.0
// Whole sessions on a device whose memory the host cannot address (papers A3.2, A3.2.2).
#include "thalweg/devices/fake/fake_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "thalweg/api/registries.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/session/session.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A session whose nodes go to a fake device where it has a kernel for them.
class FakeSessionTest : public ::testing::Test {
 protected:
  Session& Open() {
    EnvironmentOptions options;
    options.threads = 0;
    options.device_count = {{"FAKE", fakes}};
    environment = *Environment::Create(options, registries);
    session = *MakeLocalSession(environment, graph);
    return *session;
  }
  Result<Tensor> Fetch(const Output& fetch, std::vector<Session::NamedTensor> feeds = {}) {
    RETURN_IF_ERROR(b.status());
    if (session == nullptr) Open();
    std::vector<Tensor> outputs;
    const std::vector<std::string> fetches = {fetch.ToString()};
    RETURN_IF_ERROR(session->Run(RunOptions(), feeds, fetches, {}, &outputs));
    return outputs[0];
  }
  Output Placeholder(const char* name, DType dtype = DType::kFloat) {
    return b.Op("Placeholder", {}, {{"dtype", dtype}}, name);
  }
  std::string PlaceOf(const Output& output) {
    return *session->ExplainPlacement(output.node->name());
  }

  const Registries registries = MakeRegistries();
  std::shared_ptr<Graph> graph = std::make_shared<Graph>(registries.ops);
  GraphBuilder b{graph.get()};
  std::shared_ptr<Environment> environment;
  std::unique_ptr<Session> session;
  int fakes = 1;
};

TEST_F(FakeSessionTest, FeedsConstantsAndFetchesCross) {
  const Output x = Placeholder("x");
  const Output w = b.Const(*Tensor::Vector<float>({1, 2, 3, 4}).Reshaped(Shape{2, 2}), "w");
  const Output y = b.Op("Add", {b.Op("MatMul", {x, w}), b.Const(std::vector<float>{10, 20})});
  const Tensor fed = *Tensor::Vector<float>({1, 1}).Reshaped(Shape{1, 2});
  for (int i = 0; i < 3; ++i) {
    const Result<Tensor> got = Fetch(y, {{"x", fed}});
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_THAT(got->flat<float>(), ElementsAre(14, 26));
  }
  EXPECT_THAT(PlaceOf(y), HasSubstr("-> /job:localhost/replica:0/task:0/device:FAKE:0"));
}

TEST_F(FakeSessionTest, ScalarsAndShapesCross) {
  const Output x = Placeholder("x");
  const Output n = b.Op("Size", {x});
  const Output mean = b.Op("RealDiv", {b.Op("Sum", {x, b.Const(std::vector<int32_t>{0})}),
                                       b.Op("Cast", {n}, {{"DstT", DType::kFloat}})});
  const Output y = b.Op("Reshape", {b.Op("Sub", {x, mean}), b.Op("Shape", {x})});
  const Result<Tensor> got = Fetch(y, {{"x", Tensor::Vector<float>({1, 2, 6})}});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_THAT(got->flat<float>(), ElementsAre(-2, -1, 3));
}

TEST_F(FakeSessionTest, AKernelThatTakesTheDevicesMemoryForTheHostsFaults) {
  // As if the registration of a real kernel did not say that it reads "x" on the host.
  KernelEntry host = **registries.kernels->Find(*b.OpNode("Neg", {Placeholder("p")}), kCpu);
  const KernelFactory cpu = host.factory;
  EnvironmentOptions options;
  options.threads = 0;
  options.device_count = {{"FAKE", 1}};
  environment = *Environment::Create(options, registries);
  for (const KernelEntry* entry : registries.kernels->Entries()) {
    if (entry->op == "Neg" && entry->device_type == kFake && entry->types == host.types) {
      const_cast<KernelEntry*>(entry)->factory = cpu;
    }
  }
  session = *MakeLocalSession(environment, graph);
  const Output y = b.Op("Neg", {Placeholder("x")});
  EXPECT_DEATH((void)Fetch(y, {{"x", Tensor::Vector<float>({1, 2})}}), "");
}

TEST_F(FakeSessionTest, AResourceVariableKeepsItsValueThere) {
  const Output handle =
      b.Op("VarHandleOp", {},
           {{"dtype", DType::kFloat}, {"shape", PartialShape{2}}, {"shared_name", "v"}});
  Node* const assign =
      b.OpNode("AssignVariableOp", {handle, b.Const(std::vector<float>{1, 2})}, {}, "assign");
  Node* const add =
      b.OpNode("AssignAddVariableOp", {handle, b.Const(std::vector<float>{10, 20})}, {}, "add");
  const Output read = b.Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  Open();
  ASSERT_TRUE(session->Run({}, {}, {assign->name()}, nullptr).ok());
  ASSERT_TRUE(session->Run({}, {}, {add->name()}, nullptr).ok());
  ASSERT_TRUE(session->Run({}, {}, {add->name()}, nullptr).ok());
  const Result<Tensor> got = Fetch(read);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_THAT(got->flat<float>(), ElementsAre(21, 42));
  EXPECT_THAT(PlaceOf(read), HasSubstr("device:FAKE:0"));
}

// The variable and its update are on the CPU; what is assigned comes from the device.
TEST_F(FakeSessionTest, AReadBehindAnUpdateSeesIt) {
  const Output v = b.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{2}}});
  Node* const init = b.OpNode("Assign", {v, b.Const(std::vector<float>{1, 2})}, {}, "init");
  Node* const update = b.OpNode("Assign", {v, b.Op("Neg", {Placeholder("x")})}, {}, "update");
  const Output read = b.WithControls({update}).Op("Identity", {v});
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  Open();
  ASSERT_TRUE(session->Run({}, {}, {init->name()}, nullptr).ok());
  const Result<Tensor> got = Fetch(read, {{"x", Tensor::Vector<float>({3, 4})}});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_THAT(got->flat<float>(), ElementsAre(-3, -4));
}

// Two devices that take tensors of each other.
class TwoFakesTest : public FakeSessionTest {
 protected:
  TwoFakesTest() { fakes = 2; }
  GraphBuilder On(int device) { return b.WithDevice(StrCat("/device:FAKE:", device)); }
  // How often the plan says a word.
  int Times(const Output& fetch, std::string_view word) {
    const std::vector<std::string> feeds = {"x:0"}, fetches = {fetch.ToString()};
    const std::string plan = *session->DescribePlan(feeds, fetches, {});
    const std::string program = plan.substr(plan.find("== Program =="));
    int times = 0;
    for (size_t at = 0; (at = program.find(word, at)) != std::string::npos; ++at) ++times;
    return times;
  }
  const std::vector<Session::NamedTensor> feed = {{"x", Tensor::Vector<float>({3, 4})}};
};

TEST_F(TwoFakesTest, AValueGoesFromOneToTheOtherAndBack) {
  const Output y = On(0).Op("Neg", {Placeholder("x")});
  const Output z = On(1).Op("Add", {y, y});
  const Output w = On(0).Op("Mul", {On(1).Op("Abs", {z}), y});
  for (int i = 0; i < 3; ++i) {
    const Result<Tensor> got = Fetch(w, feed);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_THAT(got->flat<float>(), ElementsAre(-18, -32));
  }
  EXPECT_EQ(Times(w, "_CopyFromPeer"), 2);
  EXPECT_EQ(Times(w, "_CopyFromHost"), 1);  // of what is fed
  EXPECT_EQ(Times(w, "_CopyToHost"), 1);    // of what is fetched
}

TEST_F(TwoFakesTest, WhatTheHostAndTheOtherReadIsCopiedForBoth) {
  const Output y = On(0).Op("Neg", {Placeholder("x")}, {}, "y");
  const Output z = On(1).Op("Add", {y, b.WithDevice("/cpu:0").Op("Square", {y})});
  const Result<Tensor> got = Fetch(z, feed);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_THAT(got->flat<float>(), ElementsAre(6, 12));
  EXPECT_EQ(Times(z, "_CopyFromPeer"), 1);
}

TEST_F(TwoFakesTest, WhatIsDeadThereIsDeadHere) {
  const Output x = Placeholder("x");
  Node* const sides = On(0).OpNode("Switch", {x, Placeholder("p", DType::kBool)});
  const Output no = On(1).Op("Neg", {{sides, 0}}), yes = On(1).Op("Square", {{sides, 1}});
  const Output y = On(0).Op("Merge", {no, yes});
  for (const bool taken : {false, true}) {
    const Result<Tensor> got = Fetch(y, {feed.front(), {"p", Tensor::Scalar(taken)}});
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_THAT(got->flat<float>(), taken ? ElementsAre(9, 16) : ElementsAre(-3, -4));
  }
}

TEST_F(TwoFakesTest, ALostOneIsNamedWhereTheOtherReadsFromIt) {
  const Output y = On(0).Op("Neg", {Placeholder("x")});
  const Output z = On(1).Op("Square", {y});
  ASSERT_TRUE(Fetch(z, feed).ok());
  static_cast<FakeDevice&>(*environment->devices()[1]).Lose();
  const Status lost = Fetch(z, feed).status();
  EXPECT_EQ(lost.code(), Code::kUnavailable);
  EXPECT_THAT(lost.message(), HasSubstr("device:FAKE:0 is lost"));
}

// A session of an environment whose fake device is there unless a file is.
class LostDeviceTest : public FakeSessionTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("THALWEG_FAKE_DEVICE_GONE", file.c_str(), 1), 0);
    Open();
  }
  void TearDown() override { unsetenv("THALWEG_FAKE_DEVICE_GONE"); }
  void TakeDeviceAway() const { std::ofstream(file) << "gone"; }
  void BringDeviceBack() const { std::filesystem::remove(file); }
  void OpenNext() { session = *MakeLocalSession(environment, graph); }

  const TemporaryDirectory folder;
  const std::string file = folder.path() + "/gone";
  const std::vector<Session::NamedTensor> feed = {{"x", Tensor::Vector<float>({3, 4})}};
};

TEST_F(LostDeviceTest, ItsStepsEndAndOthersGoOn) {
  const Output x = Placeholder("x");
  const Output there = b.Op("Neg", {x}, {}, "there");
  const Output here = b.Op("AsString", {x});
  ASSERT_TRUE(Fetch(there, feed).ok());
  TakeDeviceAway();
  for (int i = 0; i < 2; ++i) {
    const Status lost = Fetch(there, feed).status();
    EXPECT_EQ(lost.code(), Code::kUnavailable);
    EXPECT_THAT(lost.message(), HasSubstr("/task:0/device:FAKE:0 is lost"));
    EXPECT_THAT(lost.message(), HasSubstr("[[_CopyFromHost 'x/to_device' on"));
    EXPECT_TRUE(Fetch(here, feed).ok());
    BringDeviceBack();  // the session has another device
  }
  // What was placed by nobody yet goes to what is left.
  const Output later = b.Op("Abs", {x});
  const Result<Tensor> got = Fetch(later, feed);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_THAT(PlaceOf(later), HasSubstr("device:CPU:0"));
}

// A step that copies nothing.
TEST_F(LostDeviceTest, AKernelOfItSaysSo) {
  const Output handle =
      b.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{2}}}, "v");
  const Output value = b.Const(std::vector<float>{1, 2});
  Node* const assign = b.OpNode("AssignVariableOp", {handle, value}, {}, "assign");
  Node* const add = b.OpNode("AssignAddVariableOp", {handle, value}, {}, "add");
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  ASSERT_TRUE(session->Run({}, {}, {assign->name()}, nullptr).ok());
  ASSERT_TRUE(session->Run({}, {}, {add->name()}, nullptr).ok());
  TakeDeviceAway();
  const Status lost = session->Run({}, {}, {add->name()}, nullptr);
  EXPECT_EQ(lost.code(), Code::kUnavailable);
  EXPECT_THAT(lost.message(), HasSubstr("device:FAKE:0 is lost"));
  EXPECT_THAT(lost.message(), HasSubstr("'v' on /job:localhost"));
}

TEST_F(LostDeviceTest, ANewSessionHasItOnceItIsBack) {
  const Output there = b.Op("Neg", {Placeholder("x")});
  ASSERT_TRUE(Fetch(there, feed).ok());
  TakeDeviceAway();
  EXPECT_EQ(Fetch(there, feed).status().code(), Code::kUnavailable);
  OpenNext();  // on what is left
  EXPECT_THAT(Fetch(there, feed)->flat<float>(), ElementsAre(-3, -4));
  EXPECT_THAT(PlaceOf(there), HasSubstr("device:CPU:0"));
  BringDeviceBack();
  for (int i = 0; i < 2; ++i) {
    OpenNext();
    const Result<Tensor> got = Fetch(there, feed);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_THAT(got->flat<float>(), ElementsAre(-3, -4));
    EXPECT_THAT(PlaceOf(there), HasSubstr("device:FAKE:0"));
    TakeDeviceAway();
    EXPECT_EQ(Fetch(there, feed).status().code(), Code::kUnavailable);
    BringDeviceBack();
  }
}

// Values of a lost device would come back with it, and be what nobody knows.
TEST_F(LostDeviceTest, SessionsThatShareStateDoNotGetItAnew) {
  const Output there = b.Op("Neg", {Placeholder("x")});
  session = *MakeLocalSession(environment, graph, {.share_resources = true});
  ASSERT_TRUE(Fetch(there, feed).ok());
  TakeDeviceAway();
  EXPECT_EQ(Fetch(there, feed).status().code(), Code::kUnavailable);
  BringDeviceBack();
  session = *MakeLocalSession(environment, graph, {.share_resources = true});
  ASSERT_TRUE(Fetch(there, feed).ok());
  EXPECT_THAT(PlaceOf(there), HasSubstr("device:CPU:0"));
}

TEST_F(FakeSessionTest, NoMemoryNamesNodeSizeAndRemedy) {
  EnvironmentOptions options;
  options.threads = 0;
  options.memory_limit = int64_t{64} << 20;
  options.device_count = {{"FAKE", 1}};
  const Output big =
      b.Op("Fill", {b.Const(std::vector<int32_t>{1 << 14, 1 << 14}), Placeholder("x")}, {}, "big");
  environment = *Environment::Create(options, registries);
  session = *MakeLocalSession(environment, graph);
  const Status status = Fetch(big, {{"x", Tensor::Scalar<float>(1)}}).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
  for (const char* const words : {"big", "1073741824 bytes", "smaller tensors", "device:FAKE:0"}) {
    EXPECT_THAT(status.message(), HasSubstr(words));
  }
}

TEST_F(FakeSessionTest, WhatHasNoKernelThereRunsOnTheCpu) {
  const Output text = b.Op("AsString", {b.Op("Neg", {Placeholder("x")})});
  const Result<Tensor> got = Fetch(text, {{"x", Tensor::Vector<float>({1})}});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_THAT(got->flat<std::string>(), ElementsAre("-1.000000"));
  EXPECT_THAT(PlaceOf(text), HasSubstr("device:CPU:0"));
}

}  // namespace
}  // namespace thalweg
