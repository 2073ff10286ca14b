// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/device_name.h"

#include <charconv>

namespace thalweg {
namespace {

Result<std::optional<int>> ParseIndex(std::string_view text, std::string_view whole) {
  if (text == "*") return std::optional<int>();
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return InvalidArgument("expected a number or '*' in device name '", whole, "', got '", text,
                           "'");
  }
  return std::optional<int>(value);
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return upper;
}

Status ParseTypeAndIndex(std::string_view text, std::string_view whole, DeviceName& name) {
  const size_t colon = text.find(':');
  const std::string_view type = text.substr(0, colon);
  if (type.empty()) return InvalidArgument("device type missing in '", whole, "'");
  if (type != "*") name.type = Upper(type);
  if (colon != std::string_view::npos) {
    ASSIGN_OR_RETURN(name.index, ParseIndex(text.substr(colon + 1), whole));
  }
  return OkStatus();
}

Status ParsePart(std::string_view part, std::string_view whole, DeviceName& name) {
  const size_t colon = part.find(':');
  const std::string_view key = part.substr(0, colon);
  const std::string_view value = colon == std::string_view::npos ? "" : part.substr(colon + 1);
  if (key == "job" && !value.empty()) {
    if (value != "*") name.job = std::string(value);
  } else if (key == "replica") {
    ASSIGN_OR_RETURN(name.replica, ParseIndex(value, whole));
  } else if (key == "task") {
    ASSIGN_OR_RETURN(name.task, ParseIndex(value, whole));
  } else if (key == "device") {
    return ParseTypeAndIndex(value, whole, name);
  } else if (Upper(key) == "CPU" || Upper(key) == "GPU") {
    return ParseTypeAndIndex(part, whole, name);
  } else {
    return InvalidArgument("unknown part '", part, "' in device name '", whole,
                           "' (a full name is /job:NAME/replica:0/task:N/device:TYPE:N)");
  }
  return OkStatus();
}

template <class T>
Status MergeField(std::optional<T>& into, const std::optional<T>& from, const DeviceName& a,
                  const DeviceName& b) {
  if (!from) return OkStatus();
  if (into && *into != *from) {
    return InvalidArgument("device constraints '", a, "' and '", b, "' contradict each other");
  }
  into = from;
  return OkStatus();
}

}  // namespace

Result<DeviceName> DeviceName::Parse(std::string_view text) {
  DeviceName name;
  std::string_view rest = text;
  while (!rest.empty()) {
    if (rest.front() != '/') {
      return InvalidArgument("a device name starts with '/', got '", text, "'");
    }
    rest.remove_prefix(1);
    const size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
    if (part.empty() && rest.empty()) break;  // a trailing slash
    RETURN_IF_ERROR(ParsePart(part, text, name));
  }
  return name;
}

std::string DeviceName::ToString() const {
  std::string out;
  if (job) out += StrCat("/job:", *job);
  if (replica) out += StrCat("/replica:", *replica);
  if (task) out += StrCat("/task:", *task);
  if (type || index) {
    out += StrCat("/device:", type ? *type : "*", ":");
    out += index ? StrCat(*index) : "*";
  }
  return out;
}

bool DeviceName::Admits(const DeviceName& device) const {
  return (!job || job == device.job) && (!replica || replica == device.replica) &&
         (!task || task == device.task) && (!type || type == device.type) &&
         (!index || index == device.index);
}

Result<DeviceName> DeviceName::MergeWith(const DeviceName& other) const {
  DeviceName merged = *this;
  RETURN_IF_ERROR(MergeField(merged.job, other.job, *this, other));
  RETURN_IF_ERROR(MergeField(merged.replica, other.replica, *this, other));
  RETURN_IF_ERROR(MergeField(merged.task, other.task, *this, other));
  RETURN_IF_ERROR(MergeField(merged.type, other.type, *this, other));
  RETURN_IF_ERROR(MergeField(merged.index, other.index, *this, other));
  return merged;
}

}  // namespace thalweg
