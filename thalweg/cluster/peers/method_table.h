// SPDX-License-Identifier: Apache-2.0
// A service's table of methods: by name, with the type of the request and what answers it.
//
//   static constexpr std::array kMethods = {
//       ServiceMethod<Handler>{"GetStatus", &pb::GetStatusRequest::Descriptor, &AnswerStatus}};
//   const ServiceMethod<Handler>* found = FindMethod(kMethods, method);
//
// Ownership: tables are static; FindMethod points into them.
// Threads: any.
// Errors: none; null for a method that is not there.
#pragma once

#include <array>
#include <string_view>

#include "thalweg/proto/message.h"

namespace thalweg {

template <class Handler>
struct ServiceMethod {
  std::string_view name;  // without the service
  const MessageDescriptor& (*request)();
  Handler handler;
};

// Null for a method that the service does not have.
template <class Entry, size_t N>
const Entry* FindMethod(const std::array<Entry, N>& methods, std::string_view name) {
  for (const Entry& entry : methods) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

template <class Handler>
const MessageDescriptor* RequestTypeOf(const ServiceMethod<Handler>* method) {
  return method == nullptr ? nullptr : &method->request();
}

}  // namespace thalweg
