// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/step_trace.h"

#include <algorithm>
#include <iterator>

namespace thalweg {

void StepTrace::Add(std::vector<NodeRecord>* records, std::vector<ValueRecord>* values) {
  const int64_t bytes = BytesOf(*records, *values);
  MutexLock lock(mutex_);
  bytes_ += bytes;
  if (bytes >= kBatchBytes || batches_.empty()) {
    batches_.push_back({std::move(*records), std::move(*values)});
  } else {
    if (BytesOf(batches_.back().records, batches_.back().values) >= kBatchBytes) {
      batches_.emplace_back().records.reserve(kBatchBytes / sizeof(NodeRecord));
    }
    Batch& last = batches_.back();
    last.records.insert(last.records.end(), records->begin(), records->end());
    last.values.insert(last.values.end(), std::move_iterator(values->begin()),
                       std::move_iterator(values->end()));
  }
  records->clear();
  values->clear();
  // Whole batches go while the step runs; who takes what is left has the rest cut off.
  while (batches_.size() > 1) {
    const Batch& oldest = batches_.front();
    if (bytes_ - BytesOf(oldest.records, oldest.values) < most_bytes_) break;
    DropFirst(oldest.records.size());
  }
}

void StepTrace::NoteLeftOut(const NodeRecord& record) {
  const auto node = static_cast<size_t>(record.node);
  if (left_out_.by_node.size() <= node) left_out_.by_node.resize(node + 1);
  ++left_out_.by_node[node];
  left_out_.until_nanos = std::max(left_out_.until_nanos, record.end_nanos);
}

void StepTrace::DropFirst(size_t records) {
  Batch& oldest = batches_.front();
  bytes_ -= BytesOf(oldest.records, oldest.values);
  size_t values = 0;
  for (size_t i = 0; i < records; ++i) {
    NoteLeftOut(oldest.records[i]);
    values += oldest.records[i].values;
  }
  if (records == oldest.records.size()) {
    batches_.pop_front();
    return;
  }
  oldest.records.erase(oldest.records.begin(),
                       oldest.records.begin() + static_cast<ptrdiff_t>(records));
  oldest.values.erase(oldest.values.begin(),
                      oldest.values.begin() + static_cast<ptrdiff_t>(values));
  bytes_ += BytesOf(oldest.records, oldest.values);
}

void StepTrace::End() {
  MutexLock lock(mutex_);
  if (ended_) return;
  ended_ = true;
  ticks_.End();
  for (Batch& batch : batches_) {
    for (NodeRecord& record : batch.records) {
      record.start_nanos = ticks_.Nanos(record.start_nanos);
      record.end_nanos = ticks_.Nanos(record.end_nanos);
    }
  }
  if (left_out_.until_nanos != LeftOutRecords::kNothing) {
    left_out_.until_nanos = ticks_.Nanos(left_out_.until_nanos);
  }
}

LeftOutRecords StepTrace::TakeLeftOut() {
  End();
  MutexLock lock(mutex_);
  return std::exchange(left_out_, {});
}

void StepTrace::LeaveOut(int64_t until_nanos) {
  End();
  MutexLock lock(mutex_);
  while (bytes_ > most_bytes_) {
    const Batch& oldest = batches_.front();
    int64_t gone = 0;
    size_t records = 0;
    for (; records < oldest.records.size() && bytes_ - gone > most_bytes_; ++records) {
      gone += static_cast<int64_t>(sizeof(NodeRecord) +
                                   oldest.records[records].values * sizeof(ValueRecord));
    }
    DropFirst(records);
  }
  until_nanos = std::max({until_nanos, switches_gone_until_, left_out_.until_nanos});
  if (until_nanos == LeftOutRecords::kNothing) return;
  // Threads hand over in turns: some of what ended by then is in later batches.
  for (Batch& batch : batches_) {
    size_t value = 0, kept = 0, kept_values = 0;
    for (const NodeRecord& record : batch.records) {
      const size_t first = value;
      value += record.values;
      if (record.end_nanos <= until_nanos) {
        NoteLeftOut(record);
        continue;
      }
      for (size_t v = first; v < value; ++v, ++kept_values) {
        if (kept_values != v) batch.values[kept_values] = std::move(batch.values[v]);
      }
      batch.records[kept++] = record;
    }
    batch.records.resize(kept);
    batch.values.resize(kept_values);
  }
  left_out_.until_nanos = until_nanos;
}

template <class T>
std::vector<T> StepTrace::TakeAll(std::vector<T> Batch::*part) {
  End();
  MutexLock lock(mutex_);
  if (batches_.size() == 1) return std::exchange(batches_.front().*part, {});
  std::vector<T> all;
  size_t count = 0;
  for (const Batch& batch : batches_) count += (batch.*part).size();
  all.reserve(count);
  for (Batch& batch : batches_) {
    std::vector<T> taken = std::exchange(batch.*part, {});
    all.insert(all.end(), std::move_iterator(taken.begin()), std::move_iterator(taken.end()));
  }
  return all;
}

std::vector<NodeRecord> StepTrace::TakeRecords() { return TakeAll(&Batch::records); }
std::vector<ValueRecord> StepTrace::TakeValues() { return TakeAll(&Batch::values); }

void StepTrace::AddNews(int thread, ThreadSwitches::Watch* watch, bool of_helper) {
  MutexLock lock(mutex_);
  if (!watch->status().ok()) {
    if (switches_missing_.ok()) switches_missing_ = watch->status();
    return;
  }
  news_.clear();
  watch->Take(&news_);
  for (const ThreadSwitch& times : news_) {
    // What a helper waits for of itself is no other's doing.
    if (!of_helper || times.is_preempted) switches_.push_back({thread, of_helper, times});
  }
  while (static_cast<int64_t>(switches_.size() * sizeof(Switch)) > most_bytes_) {
    switches_gone_until_ = std::max(switches_gone_until_, switches_.front().times.in_nanos);
    switches_.pop_front();
  }
}

SwitchRecords StepTrace::TakeSwitches() {
  MutexLock lock(mutex_);
  SwitchRecords taken{.by_thread = {}, .missing = switches_missing_};
  for (const Switch& each : switches_) {
    auto& of = each.of_helper ? taken.of_helpers : taken.by_thread;
    of[each.thread].push_back(each.times);
  }
  switches_.clear();
  // Several help at once, and tell when they are done.
  for (auto& [thread, all] : taken.of_helpers) {
    std::sort(all.begin(), all.end(), [](const ThreadSwitch& a, const ThreadSwitch& b) {
      return a.out_nanos < b.out_nanos;
    });
    size_t last = 0;
    for (size_t i = 1; i < all.size(); ++i) {
      if (all[i].out_nanos <= all[last].in_nanos) {
        all[last].in_nanos = std::max(all[last].in_nanos, all[i].in_nanos);
      } else {
        all[++last] = all[i];
      }
    }
    all.resize(last + 1);
  }
  return taken;
}

}  // namespace thalweg
