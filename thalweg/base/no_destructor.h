// SPDX-License-Identifier: Apache-2.0
// NoDestructor: an object whose destructor never runs. That of a CondVar would free nothing and
// wait for threads that are still on their way out of a wait: in a forked process these are not
// there to go on. Where they are, their owner joins them first.
//
//   NoDestructor<CondVar> changed;
//   changed->NotifyAll();
//
// Ownership: the memory lies in it; what the object itself holds is never given back.
// Threads: as the object.
// Errors: those of the object's constructor.
#pragma once

#include <new>

namespace thalweg {

template <class T>
class NoDestructor {
 public:
  NoDestructor() { new (&value_) T(); }
  NoDestructor(const NoDestructor&) = delete;
  NoDestructor& operator=(const NoDestructor&) = delete;
  ~NoDestructor() {}  // NOLINT(modernize-use-equals-default): a member of a union has none else

  T& operator*() { return value_; }
  T* operator->() { return &value_; }

 private:
  union {
    T value_;
  };
};

}  // namespace thalweg
