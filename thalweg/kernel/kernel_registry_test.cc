// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/kernel/test_device.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

// A device of any type, which no kernel of these tests uses.
NamedDevice OfType(std::string_view type) {
  return NamedDevice(StrCat("/job:a/replica:0/task:0/device:", type, ":0"));
}

template <int N>
struct Numbered : Kernel {
  Status Compute(Context&) override { return Internal("kernel ", N); }
};
struct Slow : AsyncKernel {
  void ComputeAsync(Context&, Done done) override { std::move(done)(OkStatus()); }
};
// Made from its node, by a constructor and by Create.
struct Named : Kernel {
  explicit Named(const KernelConstruction& c) : name(c.node().name()), type(c.input_type(0)) {}
  Status Compute(Context&) override { return Internal(name, " of ", type); }
  std::string name;
  DType type;
};
struct Refusing : Kernel {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const DType type, c.Attr<DType>("T"));
    return Unimplemented("no way with ", type);
  }
  Status Compute(Context&) override { return OkStatus(); }
};
Status Plain(Context&) { return Internal("the function"); }

class KernelRegistryTest : public testing::Test {
 protected:
  const Node& Neg(DType dtype, std::string_view name = "y") {
    GraphBuilder b(&graph_);
    Node* const node = b.OpNode("Neg", {b.Op("Placeholder", {}, {{"dtype", dtype}})}, {}, name);
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    return *node;
  }
  // What the kernel that was found says.
  std::string Words(const Node& node, std::string_view device = kCpu) {
    NamedDevice on = OfType(device);
    Result<std::unique_ptr<Kernel>> kernel = registry_.Make(node, on, resources_);
    if (!kernel.ok()) return std::string(kernel.status().message());
    Context context;
    return std::string((*kernel)->Compute(context).message());
  }

  Graph graph_{std::make_shared<OpRegistry>()};
  KernelRegistry registry_;
  ResourceManager resources_;
};

TEST_F(KernelRegistryTest, AKernelIsFoundByTypeOfAttributeAndDevice) {
  registry_.Add<Numbered<1>>("Neg", kCpu, {{"T", DType::kFloat}});
  registry_.Add<Numbered<2>>("Neg", kCpu, {{"T", DType::kInt32}});
  registry_.Add<Numbered<3>>("Neg", "GPU", {{"T", DType::kFloat}});
  EXPECT_EQ(Words(Neg(DType::kFloat)), "kernel 1");
  EXPECT_EQ(Words(Neg(DType::kInt32)), "kernel 2");
  EXPECT_EQ(Words(Neg(DType::kFloat), "GPU"), "kernel 3");
}

TEST_F(KernelRegistryTest, WhatIsMissingIsSaidWithWhatThereIs) {
  EXPECT_EQ(registry_.Find(Neg(DType::kFloat), kCpu).status().message(),
            "no kernel is registered for operation Neg (Neg 'y') on any device");
  registry_.SetAbsenceNote("this library has none");
  EXPECT_THAT(std::string(registry_.Find(Neg(DType::kFloat), kCpu).status().message()),
              ::testing::EndsWith(") on any device: this library has none"));
  registry_.Add<Numbered<1>>("Neg", kCpu, {{"T", DType::kFloat}});
  registry_.Add<Numbered<3>>("Neg", "GPU");
  const Status status = registry_.Find(Neg(DType::kInt32, "z"), kCpu).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.message(),
            "no kernel is registered for Neg 'z' for T=int32 on device type CPU; registered: "
            "CPU: T=float32; GPU: any type");
}

TEST_F(KernelRegistryTest, WhatIsWrongWithAKernelComesBeforeItsName) {
  registry_.Add<Refusing>("Neg", kCpu);
  EXPECT_EQ(Words(Neg(DType::kFloat, "z")),
            "no way with float32\n\t [[Neg 'z', when its kernel was made]]");
}

TEST_F(KernelRegistryTest, AnEntryWithoutTypesIsForAllOfThem) {
  registry_.AddFunction<Plain>("Neg", kCpu);
  EXPECT_EQ(Words(Neg(DType::kFloat)), "the function");
  EXPECT_EQ(Words(Neg(DType::kInt8)), "the function");
}

TEST_F(KernelRegistryTest, AKernelIsMadeFromItsNode) {
  registry_.Add<Named>("Neg", kCpu);
  EXPECT_EQ(Words(Neg(DType::kDouble, "minus")), "minus of float64");
}

TEST_F(KernelRegistryTest, ARefusalNamesTheNode) {
  registry_.Add<Refusing>("Neg", kCpu);
  EXPECT_THAT(Words(Neg(DType::kDouble, "minus")),
              testing::AllOf(HasSubstr("no way with float64"), HasSubstr("Neg 'minus'")));
}

TEST_F(KernelRegistryTest, OptionsStayWithTheirEntry) {
  registry_.Add<Numbered<1>>("Neg", kCpu).Cost(KernelCost::kCheap).KeepsState();
  registry_.Add<Slow>("Abs", kCpu);
  const std::vector<const KernelEntry*> entries = registry_.Entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0]->op, "Abs") << "by operation";
  EXPECT_TRUE(entries[0]->is_async);
  EXPECT_EQ(entries[0]->cost, KernelCost::kBySize);
  EXPECT_FALSE(entries[0]->keeps_state);
  EXPECT_FALSE(entries[1]->is_async);
  EXPECT_EQ(entries[1]->cost, KernelCost::kCheap);
  EXPECT_TRUE(entries[1]->keeps_state);
}

KernelEntry UserEntry(std::string op) {
  KernelEntry entry;
  entry.op = std::move(op);
  entry.device_type = kCpu;
  entry.factory = [](const KernelConstruction&) -> Result<std::unique_ptr<Kernel>> {
    return std::unique_ptr<Kernel>(std::make_unique<Numbered<9>>());
  };
  return entry;
}

TEST_F(KernelRegistryTest, AUsersKernelTakesNoPlaceOfAnother) {
  const int line = __LINE__ + 1;
  registry_.Add<Numbered<1>>("Neg", kCpu, {{"T", DType::kFloat}});
  KernelEntry entry = UserEntry("Neg");
  entry.registered_at = {"/lib/mine.so"};
  EXPECT_TRUE(registry_.AddUserKernel(entry).ok()) << "of any type: another entry";
  EXPECT_EQ(registry_.AddUserKernel(entry).code(), Code::kAlreadyExists);
  entry.types = {{"T", DType::kFloat}};
  EXPECT_EQ(registry_.AddUserKernel(entry).message(),
            StrCat("a kernel for Neg on CPU with T=float32 exists already: it was registered in "
                   "thalweg/kernel/kernel_registry_test.cc:",
                   line, " and then in /lib/mine.so"));
  EXPECT_EQ(Words(Neg(DType::kInt32)), "kernel 9");
}

TEST_F(KernelRegistryTest, ASecondRegistrationIsAnErrorThatNamesBoth) {
  const int first = __LINE__ + 1;
  registry_.Add<Numbered<1>>("Cast", kCpu, {{"T", DType::kFloat}, {"U", DType::kInt8}});
  registry_.Add<Numbered<2>>("Cast", kCpu, {{"T", DType::kInt8}, {"U", DType::kFloat}});
  registry_.Add<Numbered<2>>("Cast", "GPU", {{"T", DType::kFloat}, {"U", DType::kInt8}});
  registry_.Add<Numbered<3>>("Cast", kCpu, {{"T", DType::kFloat}});
  registry_.Add<Numbered<4>>("Neg", kCpu);
  EXPECT_TRUE(registry_.status().ok()) << "all of these differ";
  registry_.Add<Numbered<5>>("Cast", kCpu, {{"U", DType::kInt8}, {"T", DType::kFloat}})
      .Cost(KernelCost::kCheap);
  const Status status = registry_.status();
  EXPECT_EQ(status.code(), Code::kAlreadyExists);
  EXPECT_EQ(status.message(),
            StrCat("a kernel for Cast on CPU with T=float32, U=int8 exists already: it was "
                   "registered in thalweg/kernel/kernel_registry_test.cc:",
                   first, " and then in thalweg/kernel/kernel_registry_test.cc:", first + 6));
  EXPECT_EQ(registry_.Find(Neg(DType::kFloat), kCpu).status().message(), status.message());
  EXPECT_EQ(registry_.Entries().size(), 5u) << "the first one stands";
}

TEST_F(KernelRegistryTest, UsersKernelsMayComeWhileOthersAreLookedUp) {
  registry_.Add<Numbered<1>>("Neg", kCpu);
  const Node& node = Neg(DType::kFloat);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    do {
      EXPECT_TRUE(registry_.Find(node, kCpu).ok());
    } while (!stop.load());
  });
  for (int i = 0; i < 300; ++i)
    EXPECT_TRUE(registry_.AddUserKernel(UserEntry(StrCat("Op", i))).ok());
  stop.store(true);
  reader.join();
  EXPECT_EQ(registry_.Entries().size(), 301u);
}

}  // namespace
}  // namespace thalweg
