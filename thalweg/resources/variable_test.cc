// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/variable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace thalweg {
namespace {

TEST(VariableTest, ReadsPinAndUpdatesCopyOnlyWhenShared) {
  AllocatorPtr allocator = MakeCpuAllocator();
  Variable v("w", DType::kFloat, PartialShape{2});
  EXPECT_EQ(v.Read().status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(v.Assign(Tensor::Vector<float>({1, 2, 3})).code(), Code::kInvalidArgument);
  EXPECT_EQ(v.Assign(Tensor::Vector<double>({1, 2})).code(), Code::kInvalidArgument);
  ASSERT_TRUE(v.Assign(Tensor::Vector<float>({1, 2})).ok());
  const void* first = v.Read()->raw_data();
  {
    Variable::Update update(v, false);
    Tensor* t = *update.Writable(*allocator);
    EXPECT_EQ(t->raw_data(), first);
    t->mutable_data<float>()[0] = 5;
    update.Commit();
  }
  const Tensor pinned = *v.Read();
  {
    Variable::Update update(v, true);
    Tensor* t = *update.Writable(*allocator);
    EXPECT_NE(t->raw_data(), first);
    t->mutable_data<float>()[0] = 9;
    update.Commit();
  }
  EXPECT_EQ(pinned.data<float>()[0], 5);
  EXPECT_EQ(v.Read()->data<float>()[0], 9);
}

TEST(VariableTest, LockedUpdatesLoseNothing) {
  AllocatorPtr allocator = MakeCpuAllocator();
  Variable v("n", DType::kInt32, PartialShape{1});
  ASSERT_TRUE(v.Assign(Tensor::Vector<int32_t>({0})).ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 250; ++k) {
        const Tensor pin = *v.Read();
        Variable::Update update(v, true);
        ++(*update.Writable(*allocator))->mutable_data<int32_t>()[0];
        std::this_thread::yield();  // whoever does not wait gets in between
        update.Commit();
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(v.Read()->data<int32_t>()[0], 1000);
}

// An update that works on a copy does not put its own former value over what was assigned since.
TEST(VariableTest, AnAssignmentIsNotLostBesideAnUpdate) {
  AllocatorPtr allocator = MakeCpuAllocator();
  Variable v("w", DType::kFloat, PartialShape{1});
  ASSERT_TRUE(v.Assign(Tensor::Vector<float>({1})).ok());
  const Tensor pinned = *v.Read();
  std::atomic<bool> is_assigned = false;
  std::thread assigns;
  {
    Variable::Update update(v, true);
    Tensor* t = *update.Writable(*allocator);
    assigns = std::thread([&] {
      EXPECT_TRUE(v.Assign(Tensor::Vector<float>({7})).ok());
      is_assigned = true;
    });
    // Time enough for an assignment that does not wait; one that does would take all of it.
    for (int i = 0; i < 10000 && !is_assigned; ++i) std::this_thread::yield();
    t->mutable_data<float>()[0] += 1;
    update.Commit();
  }
  assigns.join();
  EXPECT_EQ(v.Read()->flat<float>()[0], 7);
}

TEST(VariableTest, AReadDuringAnUpdateInPlaceIsOfWholeVersions) {
  AllocatorPtr allocator = MakeCpuAllocator();
  Variable v("w", DType::kFloat, PartialShape{2});
  ASSERT_TRUE(v.Assign(Tensor::Vector<float>({0, 0})).ok());
  for (int round = 1; round <= 20; ++round) {
    std::atomic<bool> half{false}, done{false};
    std::thread reader([&] {
      while (!half.load()) std::this_thread::yield();
      const Tensor read = *v.Read();
      EXPECT_EQ(read.data<float>()[0], read.data<float>()[1]);
      done.store(true);
    });
    {
      Variable::Update update(v, round % 2 == 0);
      auto* data = (*update.Writable(*allocator))->mutable_data<float>();
      data[0] = static_cast<float>(round);
      half.store(true);
      // A reader that does not wait has time to see this half.
      for (int i = 0; i < 10000 && !done.load(); ++i) std::this_thread::yield();
      data[1] = static_cast<float>(round);
      update.Commit();
    }
    reader.join();
  }
  EXPECT_EQ(v.Read()->data<float>()[1], 20);
}

// What is in place is let go of before a copy is put in: a reader of the one may hold up the other.
TEST(VariableTest, UpdatesOfSeveralWriteInPlaceOrIntoCopies) {
  AllocatorPtr allocator = MakeCpuAllocator();
  const auto make = [](const char* name) {
    auto variable = std::make_unique<Variable>(name, DType::kFloat, PartialShape{1});
    EXPECT_TRUE(variable->Assign(Tensor::Vector<float>({1})).ok());
    return RefPtr<Variable>::Adopt(variable.release());
  };
  const RefPtr<Variable> a = make("a"), b = make("b"), c = make("c");
  const void* const held = c->Read()->raw_data();
  const Tensor pinned = *b->Read();
  {
    Variable::Updates twice;
    const Status status = twice.Open({b, a, b}, *allocator, false).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), "variable b is given twice");
  }
  {
    Variable::Updates updates;
    const std::vector<Tensor*> values = *updates.Open({c, b, a}, *allocator, false);
    EXPECT_EQ(values[0]->raw_data(), held);
    EXPECT_NE(values[1]->raw_data(), pinned.raw_data());
    for (size_t k = 0; k < values.size(); ++k) {
      values[k]->mutable_data<float>()[0] = static_cast<float>(10 + k);
    }
    updates.Commit();
    // No longer held, before the updates end too.
    EXPECT_EQ(c->Read()->data<float>()[0], 10);
    EXPECT_EQ(b->Read()->data<float>()[0], 11);
    EXPECT_EQ(a->Read()->data<float>()[0], 12);
  }
  { EXPECT_TRUE(Variable::Updates().Open({a, b}, *allocator, false).ok()); }  // dropped
  EXPECT_EQ(pinned.data<float>()[0], 1);
  EXPECT_TRUE(b->Assign(Tensor::Vector<float>({2})).ok());
}

}  // namespace
}  // namespace thalweg
