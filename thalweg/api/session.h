// SPDX-License-Identifier: Apache-2.0
// Thalweg for C++: sessions, which run parts of a graph, and prepared runs.
// A part of thalweg.h, which programs include.
//
//   tw::Session session = tw::Session::Create(g).OrThrow();
//   std::vector<tw::Tensor> out = session.Run({{x, value}}, {y}).OrThrow();
//
// Ownership: unique; a Callable may go before or after its session.
// Threads: any, several runs at once.
// Errors: those of the graph, of the step, and of the session when it is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/c_api.h"
#include "thalweg/graph.h"
#include "thalweg/tensor.h"

namespace tw {

using Feeds = std::vector<std::pair<Output, Tensor>>;

// A prepared run: no lookup, no planning. Several threads may run one at once.
class Callable {
 public:
  explicit Callable(TwCallable* adopted, size_t num_fetches)
      : handle_(adopted), num_fetches_(num_fetches) {}
  // values[i] feeds the i-th feed that the callable was made with. `options`: a timeout, a handle
  // to cancel it.
  Result<std::vector<Tensor>> Run(const std::vector<Tensor>& values,
                                  const TwRunOptions* options = nullptr) const {
    std::vector<TwTensor*> in;
    for (const Tensor& value : values) in.push_back(value.c());
    std::vector<TwTensor*> out(num_fetches_);
    internal::StatusHolder status;
    if (tw_callable_run(handle_.get(), options, in.data(), out.data(), nullptr, status.c) !=
        TW_OK) {
      return status.Take();
    }
    return std::vector<Tensor>(out.begin(), out.end());
  }
  TwCallable* c() const { return handle_.get(); }

 private:
  internal::Handle<TwCallable, &tw_callable_free> handle_;
  size_t num_fetches_;
};

class Session {
 public:
  // The graph's first error, if building it failed. Nodes added later are seen too.
  static Result<Session> Create(const Graph& graph, const TwSessionOptions* options = nullptr) {
    if (!graph.status().ok()) return graph.status();
    internal::StatusHolder status;
    TwSession* made = tw_session_new(graph.environment().c(), graph.c(), options, status.c);
    if (made == nullptr) return status.Take();
    return Session(made);
  }
  // Values of `fetches` with the fed edges replaced; `targets` only run. `options`: a timeout, a
  // handle to cancel it, what goes to *metadata, which becomes a RunMetadata message.
  Result<std::vector<Tensor>> Run(const Feeds& feeds, const std::vector<Output>& fetches,
                                  const std::vector<Node>& targets = {},
                                  const TwRunOptions* options = nullptr,
                                  std::string* metadata = nullptr) {
    std::vector<TwOutput> fed;
    std::vector<TwTensor*> values;
    for (const auto& [edge, value] : feeds) {
      fed.push_back(edge.c());
      values.push_back(value.c());
    }
    const std::vector<TwOutput> fetched = Graph::Unwrap(fetches);
    std::vector<TwTensor*> out(fetched.size());
    TwBuffer* told = nullptr;
    internal::StatusHolder status;
    if (tw_session_run(c(), options, fed.data(), values.data(), static_cast<int32_t>(fed.size()),
                       fetched.data(), static_cast<int32_t>(fetched.size()), targets.data(),
                       static_cast<int32_t>(targets.size()), out.data(),
                       metadata == nullptr ? nullptr : &told, status.c) != TW_OK) {
      return status.Take();
    }
    std::vector<Tensor> made(out.begin(), out.end());
    if (metadata != nullptr) {
      Result<std::string> bytes = internal::TextOf(told, status);
      if (!bytes.ok()) return bytes.status();
      *metadata = std::move(bytes.value());
    }
    return made;
  }
  Result<Callable> MakeCallable(const std::vector<Output>& feeds,
                                const std::vector<Output>& fetches,
                                const std::vector<Node>& targets = {},
                                const TwRunOptions* options = nullptr) {
    const std::vector<TwOutput> fed = Graph::Unwrap(feeds), fetched = Graph::Unwrap(fetches);
    internal::StatusHolder status;
    TwCallable* made = tw_session_make_callable_within(
        c(), options, fed.data(), static_cast<int32_t>(fed.size()), fetched.data(),
        static_cast<int32_t>(fetched.size()), targets.data(), static_cast<int32_t>(targets.size()),
        status.c);
    if (made == nullptr) return status.Take();
    return Callable(made, fetched.size());
  }
  // Cancels what runs and returns when it has ended.
  Status Close() {
    internal::StatusHolder status;
    tw_session_close(c(), status.c);
    return status.Take();
  }
  TwSession* c() const { return handle_.get(); }

 private:
  explicit Session(TwSession* adopted) : handle_(adopted) {}
  internal::Handle<TwSession, &tw_session_free> handle_;
};

}  // namespace tw
