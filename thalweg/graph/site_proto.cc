// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/site_proto.h"

#include <charconv>
#include <memory>
#include <utility>

#include "thalweg/base/str_cat.h"

namespace thalweg {
namespace {

namespace fl = pb::GraphDebugInfo::FileLineCol;

std::string FrameText(const Message& debug_info, const Message& frame) {
  const auto files = debug_info.Repeated<std::string_view>(pb::GraphDebugInfo::kFiles);
  const auto file = static_cast<size_t>(frame.GetInt(fl::kFileIndex));
  if (file >= files.size()) return {};
  std::string text(files[file]);
  if (frame.GetInt(fl::kLine) > 0) text.append(StrCat(":", frame.GetInt(fl::kLine)));
  if (!frame.GetString(fl::kFunc).empty()) text.append(StrCat(" in ", frame.GetString(fl::kFunc)));
  return text;
}

std::string TraceText(const Message& debug_info, const Message& trace) {
  const auto frames = trace.Messages(pb::GraphDebugInfo::StackTrace::kFileLineCols);
  return frames.empty() ? std::string() : FrameText(debug_info, *frames[0]);
}

}  // namespace

void SiteWriter::Add(std::string_view key, std::string_view site) {
  std::string_view function;
  if (const size_t in = site.rfind(" in "); in != std::string_view::npos) {
    function = site.substr(in + 4);
    site = site.substr(0, in);
  }
  int line = 0;
  if (const size_t colon = site.rfind(':'); colon != std::string_view::npos) {
    const char* const end = site.data() + site.size();
    const auto [stop, error] = std::from_chars(site.data() + colon + 1, end, line);
    if (error == std::errc() && stop == end && line > 0) {
      site = site.substr(0, colon);
    } else {
      line = 0;
    }
  }
  Message* trace = debug_info_->MapMutable(pb::GraphDebugInfo::kTraces, key);
  Message* frame = trace->Add(pb::GraphDebugInfo::StackTrace::kFileLineCols);
  frame->SetInt(fl::kFileIndex, FileIndex(site));
  frame->SetInt(fl::kLine, line);
  frame->SetString(fl::kFunc, function);
}

int SiteWriter::FileIndex(std::string_view file) {
  auto found = files_.find(file);
  if (found != files_.end()) return found->second;
  debug_info_->AddString(pb::GraphDebugInfo::kFiles, file);
  const auto index = static_cast<int>(files_.size());
  files_.emplace(file, index);
  return index;
}

std::string SiteIn(const Message& debug_info, std::string_view key) {
  const Message* trace = debug_info.MapFind(pb::GraphDebugInfo::kTraces, key);
  return trace == nullptr ? std::string() : TraceText(debug_info, *trace);
}

void AddFunctionSites(const Message& debug_info, FunctionLibrary& functions) {
  std::map<std::string_view, NodeSites> sites;
  for (const Message* entry : debug_info.Messages(pb::GraphDebugInfo::kTraces)) {
    const std::string_view key = entry->GetString(pb::kMapKey);
    const size_t at = key.find('@');
    if (at == std::string_view::npos) continue;
    std::string site = TraceText(debug_info, entry->GetMessage(pb::kMapValue));
    if (!site.empty()) sites[key.substr(at + 1)].emplace(key.substr(0, at), std::move(site));
  }
  for (auto& [function, nodes] : sites) {
    functions.SetSites(function, std::make_shared<const NodeSites>(std::move(nodes)));
  }
}

void WriteFunctionSites(const FunctionLibrary& functions, SiteWriter& writer) {
  for (const std::string& function : functions.Names()) {
    const std::shared_ptr<const NodeSites> sites = functions.FindSites(function);
    if (sites == nullptr) continue;
    for (const auto& [node, site] : *sites) writer.Add(StrCat(node, "@", function), site);
  }
}

}  // namespace thalweg
