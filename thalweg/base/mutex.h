// SPDX-License-Identifier: Apache-2.0
// Mutex, MutexLock, CondVar: the standard ones with annotations that clang's thread-safety analysis
// checks.
//
//   Mutex mutex_;
//   int count_ GUARDED_BY(mutex_) = 0;
//   ...
//   MutexLock lock(mutex_);
//   while (count_ == 0) changed_.Wait(mutex_);
//
// Every field that a mutex protects says GUARDED_BY; clang-tidy reports an access without the lock.
// With gcc the annotations are nothing. No lock is held while a kernel or a callback of somebody
// else runs.
// Ownership: a MutexLock holds a reference to its mutex, which outlives it.
// Threads: any; one that waits for a lock of its own waits for ever.
// Errors: none.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define THALWEG_TSA(x) __attribute__((x))
#else
#define THALWEG_TSA(x)
#endif

#define CAPABILITY(name) THALWEG_TSA(capability(name))
#define SCOPED_CAPABILITY THALWEG_TSA(scoped_lockable)
#define GUARDED_BY(x) THALWEG_TSA(guarded_by(x))
#define PT_GUARDED_BY(x) THALWEG_TSA(pt_guarded_by(x))
#define REQUIRES(...) THALWEG_TSA(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) THALWEG_TSA(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) THALWEG_TSA(acquire_capability(__VA_ARGS__))
#define RELEASE(...) THALWEG_TSA(release_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) THALWEG_TSA(try_acquire_capability(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS THALWEG_TSA(no_thread_safety_analysis)

namespace thalweg {

class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ACQUIRE() { mutex_.lock(); }
  void Unlock() RELEASE() { mutex_.unlock(); }
  bool TryLock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() RELEASE() { mutex_.Unlock(); }

 private:
  Mutex& mutex_;
};

// Waits may wake without a reason: always wait in a loop over the condition.
class CondVar {
 public:
  void Wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    changed_.wait(lock);
    lock.release();
  }
  // False when the time has passed.
  bool WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point end) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool in_time = changed_.wait_until(lock, end) == std::cv_status::no_timeout;
    lock.release();
    return in_time;
  }
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace thalweg
