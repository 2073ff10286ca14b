// SPDX-License-Identifier: Apache-2.0
// Where nodes were made, as messages have it: a GraphDebugInfo with a stack trace of one frame for
// each node. A node of a function's body stands there as "node@function".
//
//   SiteWriter sites(def->Mutable(pb::GraphDef::kDebugInfo));
//   sites.Add("x", "train.py:41 in build");
//   SiteIn(def->GetMessage(pb::GraphDef::kDebugInfo), "x") == "train.py:41 in build";
//
// Ownership: a writer has the message's address.
// Threads: one at a time.
// Errors: Status: none; what names no file is no site.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "thalweg/graph/function.h"
#include "thalweg/proto/message.h"

namespace thalweg {

class SiteWriter {
 public:
  explicit SiteWriter(Message* debug_info) : debug_info_(debug_info) {}
  void Add(std::string_view key, std::string_view site);

 private:
  int FileIndex(std::string_view file);

  Message* debug_info_;
  std::map<std::string, int, std::less<>> files_;
};

// Empty where the message says nothing.
std::string SiteIn(const Message& debug_info, std::string_view key);
// Tells a library what the message says of nodes of its functions.
void AddFunctionSites(const Message& debug_info, FunctionLibrary& functions);
void WriteFunctionSites(const FunctionLibrary& functions, SiteWriter& writer);

}  // namespace thalweg
