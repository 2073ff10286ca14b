// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/frames.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace thalweg {
namespace {

using Control = Node::Control;

// Readers of every node, back edges left out. `extra` are edges on top of the program's.
class Readers {
 public:
  Readers(const Program& program, const std::vector<std::pair<int, int>>& extra, int num_vertices)
      : begin_(static_cast<size_t>(num_vertices) + 1), waits_(static_cast<size_t>(num_vertices)) {
    const auto for_each_edge = [&](const auto& visit) {
      for (int reader = 0; reader < static_cast<int>(program.nodes.size()); ++reader) {
        for (const Value& input : program.nodes[reader].inputs) {
          if (!input.is_feed() && !IsBackEdge(program, input.node, reader))
            visit(input.node, reader);
        }
        for (const int before : program.nodes[reader].control_inputs) visit(before, reader);
      }
      for (const auto& [source, reader] : extra) visit(source, reader);
    };
    for_each_edge([&](int source, int reader) {
      ++begin_[source + 1];
      ++waits_[reader];
    });
    for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    readers_.resize(begin_.back());
    std::vector<size_t> fill(begin_.begin(), begin_.end() - 1);
    for_each_edge([&](int source, int reader) { readers_[fill[source]++] = reader; });
  }

  // Calls visit on every vertex, sources first, lowest number first among equals of one reader
  // list; returns how many.
  template <class Visit>
  size_t InOrder(const Visit& visit) {
    std::vector<int> waits = waits_;
    std::vector<int> ready;
    for (int v = static_cast<int>(waits.size()) - 1; v >= 0; --v) {
      if (waits[v] == 0) ready.push_back(v);
    }
    size_t visited = 0;
    while (!ready.empty()) {
      const int v = ready.back();
      ready.pop_back();
      visit(v);
      ++visited;
      for (size_t i = begin_[v + 1]; i-- > begin_[v];) {
        if (--waits[readers_[i]] == 0) ready.push_back(readers_[i]);
      }
    }
    return visited;
  }

 private:
  std::vector<size_t> begin_;
  std::vector<int> readers_;
  std::vector<int> waits_;
};

class FrameAssigner {
 public:
  explicit FrameAssigner(const Program& program) : program_(program) {}

  Result<FrameTree> Run() {
    const int n = static_cast<int>(program_.nodes.size());
    RETURN_IF_ERROR(CheckEdges());
    tree_.frames.push_back({});
    tree_.frame_of.assign(n, -1);
    tree_.opens.assign(n, -1);
    Status status;
    Readers plain(program_, {}, n);
    const size_t visited = plain.InOrder([&](int node) {
      if (status.ok()) status = Assign(node);
    });
    RETURN_IF_ERROR(status);
    if (visited != static_cast<size_t>(n)) return CycleError();
    RETURN_IF_ERROR(CheckBackEdges());
    return Order();
  }

 private:
  Status CheckEdges() const {
    const int n = static_cast<int>(program_.nodes.size());
    const auto valid = [&](const Value& value) {
      if (value.is_feed()) return value.index >= 0 && value.index < program_.num_feeds;
      return value.node >= 0 && value.node < n && value.index >= 0 &&
             value.index < program_.nodes[value.node].num_outputs;
    };
    for (const ProgramNode& node : program_.nodes) {
      for (const Value& input : node.inputs) {
        if (!valid(input)) return Internal(node.Label(), " reads a value that does not exist");
      }
      for (const int before : node.control_inputs) {
        if (before < 0 || before >= n) return Internal(node.Label(), " waits for no node");
      }
      if (node.device < 0 || node.device >= program_.num_devices) {
        return Internal(node.Label(), " is on device ", node.device, " of ", program_.num_devices);
      }
      RETURN_IF_ERROR(CheckArity(node));
    }
    for (const Value& fetch : program_.fetches) {
      if (!valid(fetch)) return Internal("a fetch names a value that does not exist");
    }
    return OkStatus();
  }

  static Status CheckArity(const ProgramNode& node) {
    size_t inputs = 1;
    int outputs = 1;
    switch (node.control) {
      case Control::kNone:
        return OkStatus();
      case Control::kSwitch:
        inputs = 2;
        outputs = 2;
        break;
      case Control::kMerge:
        inputs = std::max<size_t>(node.inputs.size(), 1);
        outputs = 2;
        break;
      default:
        break;
    }
    if (node.inputs.size() == inputs && node.num_outputs == outputs) return OkStatus();
    return InvalidArgument(node.Label(), " must have ", inputs, " inputs and ", outputs,
                           " outputs, has ", node.inputs.size(), " and ", node.num_outputs);
  }

  Status Assign(int index) {
    const ProgramNode& node = program_.nodes[index];
    int frame = -1;
    int from = -1;
    const auto see = [&](int source) {
      if (program_.nodes[source].is_free_constant()) return OkStatus();
      const int f = tree_.ValueFrame(program_, source);
      if (frame == -1) {
        frame = f;
        from = source;
      } else if (f != frame) {
        return InvalidArgument(node.Label(),
                               " has inputs from different frames: ", program_.nodes[from].Label(),
                               " is in ", FrameText(frame), ", ", program_.nodes[source].Label(),
                               " in ", FrameText(f), "; a value enters a loop through an Enter");
      }
      return OkStatus();
    };
    for (const Value& input : node.inputs) {
      if (!input.is_feed() && !IsBackEdge(program_, input.node, index)) {
        RETURN_IF_ERROR(see(input.node));
      }
    }
    for (const int before : node.control_inputs) RETURN_IF_ERROR(see(before));
    const bool needs_frame =
        node.control == Control::kExit || node.control == Control::kNextIteration;
    if (needs_frame && frame <= 0) {
      return InvalidArgument(node.Label(),
                             " is outside of any loop; its input must come, through a "
                             "Switch, from a Merge that an Enter feeds");
    }
    tree_.frame_of[index] = std::max(frame, 0);
    if (node.control == Control::kEnter) Open(index);
    if (node.control == Control::kExit) tree_.frames[frame].exits.push_back(index);
    if (node.control == Control::kNextIteration) tree_.frames[frame].nexts.push_back(index);
    return OkStatus();
  }

  void Open(int index) {
    const ProgramNode& node = program_.nodes[index];
    const int parent = tree_.frame_of[index];
    const auto [at, is_new] =
        by_name_.try_emplace({parent, node.frame_name}, static_cast<int>(tree_.frames.size()));
    if (is_new) {
      tree_.frames.push_back({.parent = parent,
                              .name = node.frame_name,
                              .parallel_iterations = std::max(node.parallel_iterations, 1)});
    }
    tree_.frames[at->second].enters.push_back(index);
    tree_.opens[index] = at->second;
  }

  // "the root frame" or "frame 'outer/inner'".
  std::string FrameText(int frame) const {
    if (frame == 0) return "the root frame";
    std::string path;
    for (; frame > 0; frame = tree_.frames[frame].parent) {
      path = StrCat(tree_.frames[frame].name, path.empty() ? "" : "/", path);
    }
    return StrCat("frame '", path, "'");
  }

  // Names a node that lies on a cycle: from one that was not reached, backwards, until a node comes
  // twice.
  Status CycleError() const {
    int node = 0;
    while (tree_.frame_of[node] != -1) ++node;
    std::vector<bool> seen(program_.nodes.size());
    while (!seen[node]) {
      seen[node] = true;
      node = UnreachedSource(node);
    }
    std::string text = program_.nodes[node].Label();
    int shown = 1;
    for (int at = UnreachedSource(node); at != node && shown < 8;
         at = UnreachedSource(at), ++shown) {
      text += StrCat(" <- ", program_.nodes[at].Label());
    }
    return InvalidArgument("the graph has a cycle that goes through no NextIteration: ", text,
                           shown == 8 ? " <- ..." : "");
  }

  int UnreachedSource(int node) const {
    for (const Value& input : program_.nodes[node].inputs) {
      if (!input.is_feed() && !IsBackEdge(program_, input.node, node) &&
          tree_.frame_of[input.node] == -1) {
        return input.node;
      }
    }
    for (const int before : program_.nodes[node].control_inputs) {
      if (tree_.frame_of[before] == -1) return before;
    }
    return node;
  }

  Status CheckBackEdges() const {
    for (int i = 0; i < static_cast<int>(program_.nodes.size()); ++i) {
      const ProgramNode& node = program_.nodes[i];
      int forward = 0;
      for (const Value& input : node.inputs) {
        if (input.is_feed()) {
          if (tree_.frame_of[i] == 0) {
            ++forward;
            continue;
          }
          return InvalidArgument(node.Label(), " lies in ", FrameText(tree_.frame_of[i]),
                                 " and reads a fed value; feed what enters the loop instead");
        }
        const ProgramNode& source = program_.nodes[input.node];
        if (source.is_free_constant() && node.control == Control::kMerge &&
            tree_.frame_of[i] != 0) {
          return InvalidArgument(node.Label(), " in ", FrameText(tree_.frame_of[i]), " reads ",
                                 source.Label(),
                                 ", which waits for nothing in that frame; give it "
                                 "a control input from the branch it belongs to");
        }
        if (source.control != Control::kNextIteration) {
          ++forward;
        } else if (node.control != Control::kMerge) {
          return InvalidArgument(node.Label(), " reads ", source.Label(),
                                 ", which may only lead to a Merge");
        } else if (tree_.frame_of[input.node] != tree_.frame_of[i]) {
          return InvalidArgument(source.Label(), " in ", FrameText(tree_.frame_of[input.node]),
                                 " leads to ", node.Label(), " in ", FrameText(tree_.frame_of[i]));
        }
      }
      if (node.control == Control::kMerge && forward == 0) {
        return InvalidArgument(node.Label(), " has no input from outside of its loop");
      }
      for (const int before : node.control_inputs) {
        if (program_.nodes[before].control == Control::kNextIteration) {
          return InvalidArgument(node.Label(), " waits for ", program_.nodes[before].Label(),
                                 ", which has an effect in the next iteration only");
        }
      }
    }
    for (const Value& fetch : program_.fetches) {
      if (fetch.is_feed() || program_.nodes[fetch.node].is_free_constant() ||
          tree_.ValueFrame(program_, fetch.node) == 0) {
        continue;
      }
      return InvalidArgument("cannot fetch ", program_.nodes[fetch.node].Label(), ": it lies in ",
                             FrameText(tree_.ValueFrame(program_, fetch.node)),
                             "; fetch what leaves the loop through an Exit");
    }
    return OkStatus();
  }

  // A vertex for each frame makes all its Enters come before all its Exits.
  Result<FrameTree> Order() {
    const int n = static_cast<int>(program_.nodes.size());
    std::vector<std::pair<int, int>> extra;
    for (size_t f = 1; f < tree_.frames.size(); ++f) {
      FrameInfo& frame = tree_.frames[f];
      for (std::vector<int>* list : {&frame.enters, &frame.exits, &frame.nexts}) {
        std::sort(list->begin(), list->end());
      }
      for (const int enter : frame.enters) extra.emplace_back(enter, n + static_cast<int>(f));
      for (const int exit : frame.exits) extra.emplace_back(n + static_cast<int>(f), exit);
    }
    const int vertices = n + static_cast<int>(tree_.frames.size());
    Readers readers(program_, extra, vertices);
    std::vector<bool> seen(static_cast<size_t>(vertices));
    readers.InOrder([&](int v) {
      seen[v] = true;
      if (v < n) tree_.order.push_back(v);
    });
    for (size_t f = 1; f < tree_.frames.size(); ++f) {
      if (seen[n + f]) continue;
      return InvalidArgument("an Exit of ", FrameText(static_cast<int>(f)),
                             " leads back into an Enter of the same frame");
    }
    return std::move(tree_);
  }

  const Program& program_;
  FrameTree tree_;
  std::map<std::pair<int, std::string>, int> by_name_;
};

}  // namespace

uint64_t FrameTag(uint64_t parent, std::string_view name) {
  // FNV-1a.
  uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&](uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3u; };
  for (int i = 0; i < 8; ++i) mix(static_cast<uint8_t>(parent >> (8 * i)));
  for (const char c : name) mix(static_cast<uint8_t>(c));
  return (hash ^ (hash << 32)) & 0xffffffff00000000u;
}

Result<FrameTree> AssignFrames(const Program& program) { return FrameAssigner(program).Run(); }

}  // namespace thalweg
