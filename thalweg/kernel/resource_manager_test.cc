// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/resource_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/kernel/contained.h"

namespace thalweg {
namespace {

struct Lamp : Resource {
  explicit Lamp(std::atomic<int>* ends = nullptr) : ended(ends) {}
  ~Lamp() override {
    if (on_end) on_end();
    if (ended != nullptr) ++*ended;
  }
  std::string DebugString() const override { return "a lamp"; }
  std::atomic<int>* const ended;
  std::function<void()> on_end;
};
struct Table : Resource {
  std::string DebugString() const override { return "a table"; }
};
template <class T, class... Args>
Result<RefPtr<T>> NewResource(Args... args) {
  return RefPtr<T>::Adopt(std::make_unique<T>(args...).release());
}

TEST(ResourceManagerTest, ContainersKeepAndReset) {
  ResourceManager manager;
  auto make = [] { return NewResource<Lamp>(); };
  RefPtr<Lamp> a = *manager.LookupOrCreate<Lamp>("", "v", make);
  EXPECT_EQ(manager.Lookup<Lamp>("localhost", "v")->get(), a.get());
  RefPtr<Lamp> b = *manager.LookupOrCreate<Lamp>("other", "v", make);
  EXPECT_NE(a.get(), b.get());
  EXPECT_NE(manager.DebugString().find("other/v: a lamp"), std::string::npos);
  manager.ResetContainer("other");
  EXPECT_EQ(manager.Lookup<Lamp>("other", "v").status().code(), Code::kNotFound);
  EXPECT_TRUE(manager.Delete<Lamp>("", "v").ok());
  EXPECT_FALSE(manager.Delete<Lamp>("", "v").ok());
}

TEST(ResourceManagerTest, ANameIsTakenOncePerTypeAndContainer) {
  ResourceManager manager;
  ASSERT_TRUE(manager.Create("", "x", *NewResource<Lamp>()).ok());
  const Status twice = manager.Create("localhost", "x", *NewResource<Lamp>());
  EXPECT_EQ(twice.code(), Code::kAlreadyExists);
  EXPECT_EQ(twice.message(), "resource 'x' exists in container 'localhost'");
  EXPECT_TRUE(manager.Create("", "x", *NewResource<Table>()).ok());
  EXPECT_TRUE(manager.Create("c", "x", *NewResource<Lamp>()).ok());
}

TEST(ResourceManagerTest, WhatCouldNotBeMadeLeavesNoName) {
  ResourceManager manager;
  const auto failed = manager.LookupOrCreate<Lamp>(
      "", "x", [] { return Result<RefPtr<Lamp>>(InvalidArgument("no oil")); });
  EXPECT_EQ(failed.status().message(), "no oil");
  EXPECT_EQ(manager.DebugString(), "");
  EXPECT_EQ(manager.Lookup<Lamp>("", "x").status().message(),
            "no resource 'x' in container 'localhost'");
  EXPECT_TRUE(manager.LookupOrCreate<Lamp>("", "x", [] { return NewResource<Lamp>(); }).ok());
}

TEST(ResourceManagerTest, WhoHoldsAResourceKeepsItWhenItsContainerIsReset) {
  ResourceManager manager;
  std::atomic<int> ended{0};
  RefPtr<Lamp> held =
      *manager.LookupOrCreate<Lamp>("c", "x", [&] { return NewResource<Lamp>(&ended); });
  ASSERT_TRUE(manager.Create("c", "y", *NewResource<Lamp>(&ended)).ok());
  manager.ResetContainer("c");
  EXPECT_EQ(ended.load(), 1);
  EXPECT_EQ(held->DebugString(), "a lamp");
  held = RefPtr<Lamp>();
  EXPECT_EQ(ended.load(), 2);
  manager.ResetContainer("never there");
}

TEST(ResourceManagerTest, ResetAllDropsEveryContainer) {
  ResourceManager manager;
  std::atomic<int> ended{0};
  ASSERT_TRUE(manager.Create("a", "x", *NewResource<Lamp>(&ended)).ok());
  ASSERT_TRUE(manager.Create("b", "x", *NewResource<Lamp>(&ended)).ok());
  manager.ResetAll();
  EXPECT_EQ(ended.load(), 2);
  EXPECT_EQ(manager.DebugString(), "");
}

TEST(ResourceManagerTest, DestroyFindsAResourceOfAnyTypeAndOnlyThatOne) {
  ResourceManager manager;
  RefPtr<Lamp> lamp = *NewResource<Lamp>(), stranger = *NewResource<Lamp>();
  ASSERT_TRUE(manager.Create("", "x", lamp).ok());
  ASSERT_TRUE(manager.Create("", "x", *NewResource<Table>()).ok());
  EXPECT_EQ(manager.Destroy("", "x", stranger.get()).code(), Code::kNotFound);
  EXPECT_TRUE(manager.Destroy("", "x", lamp.get()).ok());
  EXPECT_EQ(manager.Lookup<Lamp>("", "x").status().code(), Code::kNotFound);
  EXPECT_TRUE(manager.Lookup<Table>("", "x").ok());
  EXPECT_TRUE(manager.Destroy("", "x", nullptr).ok()) << "null: the one of that name";
  EXPECT_EQ(manager.Destroy("", "x", nullptr).code(), Code::kNotFound);
}

struct Post : Resource, Contained {
  std::string DebugString() const override { return "a post"; }
};

TEST(ResourceManagerTest, AContainedResourceIsToldWhenItIsDroppedInWhicheverWay) {
  ResourceManager manager;
  const auto add = [&](std::string_view container, std::string_view name) {
    return *manager.LookupOrCreate<Post>(container, name, [] { return NewResource<Post>(); });
  };
  const RefPtr<Post> deleted = add("a", "x"), destroyed = add("a", "y"), reset = add("a", "z");
  const RefPtr<Post> other = add("b", "x");
  EXPECT_TRUE(manager.Delete<Post>("a", "x").ok());
  EXPECT_TRUE(deleted->is_dropped());
  EXPECT_FALSE(destroyed->is_dropped());
  EXPECT_TRUE(manager.Destroy("a", "y", destroyed.get()).ok());
  EXPECT_TRUE(destroyed->is_dropped());
  EXPECT_FALSE(reset->is_dropped());
  manager.ResetContainer("a");
  EXPECT_TRUE(reset->is_dropped());
  EXPECT_FALSE(other->is_dropped());
  manager.ResetAll();
  EXPECT_TRUE(other->is_dropped());
}

// The last reference goes without the lock: a resource may ask the manager while it ends.
TEST(ResourceManagerTest, AResourceMayCallTheManagerWhenItEnds) {
  ResourceManager manager;
  const auto add = [&](std::string_view name) {
    RefPtr<Lamp> lamp = *NewResource<Lamp>();
    lamp->on_end = [&] { (void)manager.DebugString(); };
    ASSERT_TRUE(manager.Create("c", name, std::move(lamp)).ok());
  };
  add("deleted"), add("destroyed"), add("reset");
  EXPECT_TRUE(manager.Delete<Lamp>("c", "deleted").ok());
  EXPECT_TRUE(manager.Destroy("c", "destroyed", nullptr).ok());
  manager.ResetContainer("c");
  add("last");
  manager.ResetAll();
}

TEST(ResourceManagerTest, OneNameIsMadeOnceHoweverManyAskAtOnce) {
  ResourceManager manager;
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  std::vector<Lamp*> got(4);
  for (size_t t = 0; t < got.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        got[t] = manager
                     .LookupOrCreate<Lamp>("", StrCat("x", i),
                                           [&] {
                                             ++made;
                                             return NewResource<Lamp>();
                                           })
                     ->get();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made.load(), 200);
  EXPECT_THAT(got, testing::Each(got.front()));
}

}  // namespace
}  // namespace thalweg
