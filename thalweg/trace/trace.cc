// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/trace.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace thalweg {
namespace {

std::string Scaled(double value, const char* unit) {
  char text[40];
  const int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::snprintf(text, sizeof(text), "%.*f %s", digits, value, unit);
  return text;
}

// All of OpRole that an operation is.
uint8_t OpRolesOf(std::string_view op) {
  uint8_t roles = 0;
  if (op.find("Dequeue") != std::string_view::npos) roles |= kTakesInput | kDequeues;
  if (op.starts_with("IteratorGetNext") || op.starts_with("ReaderRead") || op == "Unstage" ||
      op == "RecordInput" || op == "BarrierTakeMany" ||
      op == "MultiDeviceIteratorGetNextFromShard") {
    roles |= kTakesInput;
  }
  if (op.find("Enqueue") != std::string_view::npos) roles |= kEnqueues;
  return roles;
}

}  // namespace

uint32_t TraceTexts::Add(std::string_view text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<uint32_t>(texts_.size());
  texts_.emplace_back(text);
  op_roles_.push_back(OpRolesOf(text));
  numbers_.emplace(texts_.back(), number);
  return number;
}

uint32_t TraceTexts::Find(std::string_view text) const {
  const auto found = numbers_.find(text);
  return found == numbers_.end() ? 0 : found->second;
}

uint32_t Trace::AddDevice(std::string_view name) {
  const auto [device, is_new] =
      device_numbers.try_emplace(std::string(name), static_cast<uint32_t>(devices.size()));
  if (!is_new) return device->second;
  const auto [task, is_new_task] = task_numbers.try_emplace(std::string(TaskOfDevice(name)),
                                                            static_cast<uint32_t>(tasks.size()));
  if (is_new_task) tasks.push_back({.name = task->first});
  devices.push_back({.name = device->first, .task = task->second});
  return device->second;
}

const NodeFacts* Trace::FactsOf(uint32_t device, uint32_t name) const {
  const auto found = facts.find(NodeKey(device, name));
  return found == facts.end() ? nullptr : &found->second;
}

void AskForLargePages(void* begin, size_t bytes) {
  constexpr uintptr_t kPage = uintptr_t{2} << 20;
  const auto from = (reinterpret_cast<uintptr_t>(begin) + kPage - 1) / kPage * kPage;
  const auto to = (reinterpret_cast<uintptr_t>(begin) + bytes) / kPage * kPage;
  if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);  // a hint
}

std::string DurationWords(int64_t nanos) {
  const auto value = static_cast<double>(nanos);
  const double size = std::abs(value);
  if (size < 1e3) return std::to_string(nanos) + " ns";
  if (size < 999'950) return Scaled(value / 1e3, "us");
  if (size < 999'950'000) return Scaled(value / 1e6, "ms");
  return Scaled(value / 1e9, "s");
}

std::string CountWords(int64_t count) {
  const std::string digits = std::to_string(count);
  std::string words;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) words += ',';
    words += digits[i];
  }
  return words;
}

std::string BytesWords(int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value < 1e3) return std::to_string(bytes) + " B";
  if (value < 1e6) return Scaled(value / 1e3, "kB");
  if (value < 1e9) return Scaled(value / 1e6, "MB");
  return Scaled(value / 1e9, "GB");
}

std::string_view TaskOfDevice(std::string_view device) {
  if (!device.starts_with("/job:")) return "";
  const size_t task = device.find("/task:");
  if (task == std::string_view::npos) return "";
  return device.substr(0, device.find('/', task + 1));
}

}  // namespace thalweg
