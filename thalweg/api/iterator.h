// SPDX-License-Identifier: Apache-2.0
// Thalweg's input pipelines for C++: places in a dataset. A part of dataset.h, which programs
// include.
//
//   tw::Iterator rows = dataset.MakeInitializableIterator();
//   tw::Outputs row = rows.GetNext();  // inputs of a model
//   session.Run({}, {}, {rows.initializer()}).OrThrow();
//   std::string place = rows.Save(session).OrThrow();
//   rows.Restore(session, place).OrThrow();  // goes on where it stood
//   for (const tw::Tensors& element : dataset.Elements()) Use(element[0].scalar<int64_t>());
//
// Ownership: an Iterator is a handle: copies are the same place. The graph must outlive it.
// Threads: as of Graph: one at a time builds; any number of steps share an iterator.
// Errors: GetNext and Elements throw tw::Error where they cannot be built; an element that cannot
// be made is the error of the step that asked for it, and thrown in a loop over Elements. Behind
// the last element steps end with OUT_OF_RANGE, loops just end.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/thalweg.h"

namespace tw {

// The line of the program that calls, for errors: file and number.
struct Site {
  std::string text;
  static Site Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {std::string(file) + ":" + std::to_string(line)};
  }
};

namespace internal {

// While it lives, nodes of the graph say that they were made there. Check throws the graph's error,
// of the stage of that name.
class AtSite {
 public:
  AtSite(Graph& graph, std::string stage, const Site& site)
      : graph_(graph), stage_(std::move(stage)), site_(site.text), outer_(graph.site()) {
    graph.SetSite(site_);
  }
  AtSite(const AtSite&) = delete;
  AtSite& operator=(const AtSite&) = delete;
  ~AtSite() { graph_.SetSite(outer_); }
  void Check() const {
    const Status& status = graph_.status();
    if (!status.ok()) Fail(status.code(), status.message());
  }
  [[noreturn]] void Fail(TwCode code, const std::string& why) const {
    const bool is_said = why.find(site_) != std::string::npos;
    throw Error(code, stage_ + ": " + why + (is_said ? "" : " (created at " + site_ + ")"));
  }

 private:
  Graph& graph_;
  const std::string stage_;
  const std::string site_;
  const std::string outer_;
};

inline Graph& GraphOf(const Output& output) {
  if (output.graph() == nullptr) throw Error(kInvalidArgument, "an input belongs to no graph");
  return *output.graph();
}

// The attributes that most operations on elements have.
inline std::vector<Attr> WithSpecs(std::vector<Attr> attrs, const std::vector<TensorSpec>& specs) {
  attrs.push_back(Attr::Types("output_types", specs));
  attrs.push_back(Attr::Shapes("output_shapes", specs));
  return attrs;
}

}  // namespace internal

class Iterator {
 public:
  // An iterator for datasets of such elements; MakeInitializer gives it one. Steps of a server that
  // name the same `shared_name` share it.
  static Iterator FromStructure(Graph& graph, const std::vector<TensorSpec>& elements,
                                const std::string& shared_name = "",
                                const Site& site = Site::Here()) {
    const internal::AtSite at(graph, "Iterator", site);
    const Output handle =
        graph.Op("IteratorV2", {},
                 internal::WithSpecs({{"shared_name", shared_name}, {"container", ""}}, elements));
    at.Check();
    return {handle, nullptr, elements};
  }
  // The iterator whose StringHandle() this is: a string scalar, mostly a placeholder.
  static Iterator FromStringHandle(const Output& text, const std::vector<TensorSpec>& elements,
                                   const Site& site = Site::Here()) {
    const internal::AtSite at(internal::GraphOf(text), "Iterator", site);
    const Output handle =
        text.graph()->Op("IteratorFromStringHandleV2", {text}, internal::WithSpecs({}, elements));
    at.Check();
    return {handle, nullptr, elements};
  }
  // Another operation made the handle.
  Iterator(const Output& handle, Node initializer, std::vector<TensorSpec> elements)
      : handle_(handle), initializer_(initializer), elements_(std::move(elements)) {}

  const std::vector<TensorSpec>& elements() const { return elements_; }
  const Output& handle() const { return handle_; }
  // Lets it begin, with what is fed then; null for one that begins by itself or with several.
  Node initializer() const { return initializer_; }
  // Lets it begin with the dataset whose variant this is (Dataset::variant).
  Node MakeInitializer(const Output& dataset, const Site& site = Site::Here()) const {
    const internal::AtSite at(graph(), "MakeInitializer", site);
    const Node node = graph().AddNode("MakeIterator", {dataset, handle_});
    at.Check();
    return node;
  }

  // The components of the next element: of one and the same in each step that fetches or uses any
  // of them.
  Outputs GetNext(const Site& site = Site::Here()) const {
    const internal::AtSite at(graph(), "GetNext", site);
    const Node node =
        graph().AddNode("IteratorGetNext", {handle_}, internal::WithSpecs({}, elements_));
    at.Check();
    Outputs next;
    for (size_t i = 0; i < elements_.size(); ++i) {
      next.push_back({&graph(), {node, static_cast<int32_t>(i)}});
    }
    return next;
  }
  // A string that names the iterator, to be fed to another's FromStringHandle.
  Output StringHandle() const { return graph().Op("IteratorToStringHandle", {handle_}); }

  // Where the iterator stands, as bytes: Restore in this process or another one, of an iterator of
  // the same dataset that has begun, goes on there.
  Result<std::string> Save(Session& session) const {
    if (saving_->state.empty()) saving_->state = graph().Op("SerializeIterator", {handle_});
    if (!graph().status().ok()) return graph().status();
    Result<Tensors> state = session.Run({}, {saving_->state});
    if (!state.ok()) return state.status();
    internal::StatusHolder status;
    return internal::TextOf(tw_tensor_to_proto(state.value()[0].c(), status.c), status);
  }
  Status Restore(Session& session, const std::string& bytes) const {
    if (saving_->given.empty()) {
      saving_->given = graph().Op("Placeholder", {}, {{"dtype", kVariant}});
      saving_->restore = graph().AddNode("DeserializeIterator", {handle_, saving_->given});
    }
    if (!graph().status().ok()) return graph().status();
    internal::StatusHolder status;
    TwTensor* const state = tw_tensor_from_proto(bytes.data(), bytes.size(), status.c);
    if (state == nullptr) return status.Take();
    return session.Run({{saving_->given, Tensor(state)}}, {}, {saving_->restore}).status();
  }

 private:
  // Nodes that are made when they are first needed.
  struct Saving {
    Output state, given;
    Node restore = nullptr;
  };
  Graph& graph() const { return *handle_.graph(); }

  Output handle_;
  Node initializer_;
  std::vector<TensorSpec> elements_;
  std::shared_ptr<Saving> saving_ = std::make_shared<Saving>();
};

// What a loop goes over: the elements of an iterator, each time from the beginning; of one that
// begins by itself, what is left.
class Elements {
 public:
  class Position {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Tensors;
    using difference_type = std::ptrdiff_t;
    using pointer = const Tensors*;
    using reference = const Tensors&;
    Position() = default;
    reference operator*() const { return element_; }
    pointer operator->() const { return &element_; }
    Position& operator++() {
      Result<Tensors> next = of_->next_.Run({});
      if (next.ok()) {
        element_ = std::move(next.value());
      } else {
        if (next.status().code() != kOutOfRange) next.status().OrThrow();
        of_ = nullptr;
      }
      return *this;
    }
    // Whether both are behind the last element, or neither is.
    friend bool operator==(const Position& a, const Position& b) {
      return (a.of_ == nullptr) == (b.of_ == nullptr);
    }
    friend bool operator!=(const Position& a, const Position& b) { return !(a == b); }

   private:
    friend class Elements;
    const Elements* of_ = nullptr;
    Tensors element_;
  };

  // In a session of their own.
  explicit Elements(const Iterator& iterator, const Site& site = Site::Here())
      : Elements(iterator, std::make_shared<Session>(SessionOf(iterator)), {}, site) {}
  // In the program's session, which outlives them and has what the dataset depends on; `feeds` are
  // those of the initializer.
  Elements(const Iterator& iterator, Session& session, Feeds feeds, const Site& site = Site::Here())
      : Elements(iterator, std::shared_ptr<Session>(&session, [](Session*) {}), std::move(feeds),
                 site) {}

  Position begin() const {
    if (initializer_ != nullptr) session_->Run(feeds_, {}, {initializer_}).OrThrow();
    Position position;
    position.of_ = this;
    return ++position;
  }
  static Position end() { return {}; }

 private:
  Elements(const Iterator& iterator, std::shared_ptr<Session> session, Feeds feeds,
           const Site& site)
      : session_(std::move(session)),
        feeds_(std::move(feeds)),
        initializer_(iterator.initializer()),
        next_(session_->MakeCallable({}, iterator.GetNext(site)).OrThrow()) {}
  static Session SessionOf(const Iterator& iterator) {
    return Session::Create(*iterator.handle().graph()).OrThrow();
  }

  std::shared_ptr<Session> session_;
  Feeds feeds_;
  Node initializer_;
  Callable next_;
};

}  // namespace tw
