// SPDX-License-Identifier: Apache-2.0
#include "thalweg/autodiff/stack_links.h"

#include <algorithm>
#include <map>

namespace thalweg {
namespace {

// The Stack that a handle comes from.
const Node* StackOf(Output handle) {
  while (handle.node != nullptr && (handle.node->control() == Node::Control::kEnter ||
                                    handle.node->op_name() == "Identity")) {
    handle = handle.node->input(0);
  }
  return handle.node;
}

Frame* Outermost(Frame* frame) {
  while (frame != nullptr && frame->parent != nullptr) frame = frame->parent;
  return frame;
}

}  // namespace

std::vector<StackLink> FindStackLinks(const Graph& graph, const LoopFrames& frames) {
  std::map<const Node*, std::vector<Frame*>> writers;
  std::vector<const Node*> pops;
  for (const Node* node : graph.Nodes()) {
    const std::string& op = node->op_name();
    if (!op.starts_with("StackP")) continue;
    if (op == "StackPop" || op == "StackPopV2") {
      pops.push_back(node);
    } else if (Frame* const loop = Outermost(frames.Of(node)); loop != nullptr) {
      writers[StackOf(node->input(0))].push_back(loop);
    }
  }
  std::vector<StackLink> links;
  for (const Node* pop : pops) {
    Frame* const reader = Outermost(frames.Of(pop));
    if (reader == nullptr) continue;
    for (Frame* writer : writers[StackOf(pop->input(0))]) {
      const auto same = [&](const StackLink& link) {
        return link.writer == writer && link.reader == reader;
      };
      if (writer != reader && std::none_of(links.begin(), links.end(), same)) {
        links.push_back({writer, reader});
      }
    }
  }
  return links;
}

}  // namespace thalweg
