// SPDX-License-Identifier: Apache-2.0
// ParseWords: what the operations that parse messages say of a bad one: TensorFlow's words, which
// each of them has its own of, and then which example it was.
//
//   const ParseWords words(ParseWords::kExample, names, texts.size());
//   return words.Missing(3, "label", DType::kInt64);
//
// gives "Name: n3, Feature: label (data type: int64) is required but could not be found."
// Ownership: points at the names, which outlive it; a Status is the caller's.
// Threads: const members and FirstWrongExample from any shard.
// Errors: it makes them: InvalidArgument in TensorFlow's words, and which example it was.
#pragma once

#include <span>
#include <string>

#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/io/example_wire.h"
#include "thalweg/tensor/dtype.h"
#include "thalweg/tensor/shape.h"

namespace thalweg {

// "float", "int64", "string".
std::string_view FeatureTypeName(DType dtype);
FeatureKind KindOf(DType dtype);

class ParseWords {
 public:
  enum Form { kExample, kSingleExample, kSequence, kSingleSequence };
  // Names of the examples: none, or one for each.
  ParseWords(Form form, std::span<const std::string> names, size_t count)
      : form_(form), names_(names), count_(count) {}

  Status NotAMessage(int64_t example, std::string_view bytes) const;
  Status Missing(int64_t example, std::string_view key, DType wanted) const;
  Status WrongType(int64_t example, std::string_view key, DType wanted, FeatureKind found,
                   bool is_dense) const;
  Status WrongCount(int64_t example, std::string_view key, DType dtype, int64_t found,
                    const PartialShape& wanted) const;
  Status NotAMultiple(int64_t example, std::string_view key, DType dtype, int64_t found,
                      const PartialShape& wanted) const;
  Status NotAFeature(int64_t example, std::string_view key) const;
  // For feature lists; `step` is the number of the feature in its list.
  Status ListMissing(int64_t example, std::string_view key) const;
  Status ListWrongType(int64_t example, std::string_view key, int64_t step, DType wanted,
                       FeatureKind found) const;
  Status ListWrongCount(int64_t example, std::string_view key, int64_t step, DType dtype,
                        int64_t found, const PartialShape& wanted) const;
  Status NotAList(int64_t example, std::string_view key, int64_t step) const;

 private:
  bool is_batch() const { return form_ == kExample || form_ == kSequence; }
  std::string Name(int64_t example) const;
  // "Name: n, Key: k, Index: 2.  "
  std::string Head(int64_t example, std::string_view key) const;
  // " (example 2 of 8)" for messages whose head does not say so.
  std::string Place(int64_t example) const;

  const Form form_;
  const std::span<const std::string> names_;
  const size_t count_;
};

// The error of the first example that has one, whichever shard meets it first.
class FirstWrongExample {
 public:
  void Set(int64_t example, Status status) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (example_ >= 0 && example_ <= example) return;
    example_ = example;
    status_ = std::move(status);
  }
  Status status() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return status_;
  }

 private:
  mutable Mutex mutex_;
  int64_t example_ GUARDED_BY(mutex_) = -1;
  Status status_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
