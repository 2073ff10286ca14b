// SPDX-License-Identifier: Apache-2.0
// Words of memory on which threads sleep, also of other processes (futex).
//
//   const uint32_t seen = word.load();                  // who sleeps; then it looks once more
//   SleepOnWord(word, seen, until);
//   word.fetch_add(1); WakeWord(word);                  // who wakes
//
// Sleeps may end without a reason.
// Ownership: the words are the caller's and outlive every sleep on them.
// Threads: any.
// Errors: none; a sleep that the system refuses returns at once. HasSharedWords() says whether it
// can sleep on several.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "thalweg/base/clock.h"

namespace thalweg {

struct FutexWord {
  const std::atomic<uint32_t>* word = nullptr;
  uint32_t value = 0;  // while it is this
};

// For words that threads of this process share.
void SleepOnWord(const std::atomic<uint32_t>& word, uint32_t value, Clock::TimePoint until);
void WakeWord(std::atomic<uint32_t>& word);

// The same, and as long as each of `shared`, which other processes may write, is what it was. At
// most kMostSharedWords.
inline constexpr size_t kMostSharedWords = 120;
void SleepOnWords(const std::atomic<uint32_t>& word, uint32_t value,
                  std::span<const FutexWord> shared, Clock::TimePoint until);
// Wakes one that sleeps on a word of shared memory.
void WakeSharedWord(std::atomic<uint32_t>& word);
// Whether this system can sleep on several.
bool HasSharedWords();

}  // namespace thalweg
