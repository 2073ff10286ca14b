// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/partial_run.h"

#include <algorithm>
#include <unordered_set>

#include "thalweg/passes/graph_copier.h"

namespace thalweg {

Result<std::unique_ptr<PartialRun>> PartialRun::Start(SessionCore& core,
                                                      std::span<const std::string> feeds,
                                                      std::span<const std::string> fetches,
                                                      std::span<const std::string> targets,
                                                      const RunOptions& options) {
  std::vector<Session::NamedTensor> feed_names;
  for (const std::string& feed : feeds) feed_names.emplace_back(feed, Tensor());
  ASSIGN_OR_RETURN(const Signature signature, core.Resolve({feed_names, fetches, targets}));
  auto run =
      std::make_unique<PartialRun>(*core.environment().devices().front(), options.cancellation);
  for (size_t i = 0; i < feeds.size(); ++i) {
    run->feed_of_name_[feeds[i]] = static_cast<int>(i);
  }
  for (size_t i = 0; i < fetches.size(); ++i) {
    if (!run->fetch_of_name_.emplace(fetches[i], static_cast<int>(i)).second) {
      return InvalidArgument("'", fetches[i],
                             "' is named twice among the fetches of a partial run");
    }
  }
  ASSIGN_OR_RETURN(PreparedPlan made, core.CompilePartial(signature, options));
  run->plan_ = std::move(made.plan);
  run->FindFeedsOfFetches();
  {
    MutexLock lock(run->mutex_);
    run->fed_.resize(feeds.size());
    run->fetched_.resize(fetches.size());
  }
  run->Begin(core.MakeRequest(options, made.spent));
  return run;
}

void PartialRun::Begin(StepRequest request) {
  request.cancellation = &cancellation_;
  request.feeds_and_fetches = &rendezvous_;
  is_started_ = true;
  plan_->prepared->RunAsync(request, [this](const Status& status) {
    if (!status.ok()) {
      {
        MutexLock lock(mutex_);
        step_status_ = status;
      }
      rendezvous_.Abort(status);
    }
    ended_.Notify();
  });
}

PartialRun::~PartialRun() {
  Cancel(Cancelled("the partial run was given up"));
  Join().IgnoreError();
}

Status PartialRun::Join() {
  if (is_started_) ended_.Wait();
  MutexLock lock(mutex_);
  return step_status_;
}

Status PartialRun::CheckProcess() const {
  if (owner_.IsThisProcess()) return OkStatus();
  return FailedPrecondition(
      "the partial run was set up before this process was forked, and goes on in its parent "
      "alone; set up another one here");
}

bool PartialRun::IsOver() {
  MutexLock lock(mutex_);
  if (!step_status_.ok()) return true;
  return std::find(fed_.begin(), fed_.end(), false) == fed_.end() &&
         std::find(fetched_.begin(), fetched_.end(), false) == fetched_.end();
}

// Asking for a fetch before its feeds are there would wait for ever.
void PartialRun::FindFeedsOfFetches() {
  const Signature& signature = plan_->signature;
  std::unordered_map<Output, int, OutputHash> feed_of;
  for (size_t i = 0; i < signature.feeds.size(); ++i) {
    feed_of[signature.feeds[i]] = static_cast<int>(i);
  }
  for (const Output& fetch : signature.fetches) {
    std::vector<int> needs;
    std::unordered_set<const Node*> seen;
    std::vector<const Node*> stack;
    const auto visit = [&](const Output& output) {
      const auto feed = feed_of.find(output);
      if (feed != feed_of.end()) {
        needs.push_back(feed->second);
      } else if (seen.insert(output.node).second) {
        stack.push_back(output.node);
      }
    };
    visit(fetch);
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      for (const Output& input : node->inputs()) visit(input);
      for (Node* before : node->control_inputs()) {
        if (!(IsPlaceholder(*before) && feed_of.contains({before, 0})) &&
            seen.insert(before).second) {
          stack.push_back(before);
        }
      }
    }
    needs_.push_back(std::move(needs));
  }
}

Status PartialRun::CheckCall(std::span<const Session::NamedTensor> feeds,
                             std::span<const std::string> fetches, std::vector<int>* feed_numbers,
                             std::vector<int>* fetch_numbers) {
  RETURN_IF_ERROR(step_status_);
  std::vector<bool> fed = fed_;
  std::vector<bool> fetched = fetched_;
  for (const auto& [name, value] : feeds) {
    const auto found = feed_of_name_.find(name);
    if (found == feed_of_name_.end()) {
      return InvalidArgument("The feed '", name, "' was not named in the partial run's setup.");
    }
    if (fed[found->second]) return InvalidArgument("The feed '", name, "' had already been fed.");
    fed[found->second] = true;
    StepPlan one;
    one.signature.feeds = {plan_->signature.feeds[found->second]};
    RETURN_IF_ERROR(one.CheckFeeds({&value, 1}));
    feed_numbers->push_back(found->second);
  }
  for (const std::string& name : fetches) {
    const auto found = fetch_of_name_.find(name);
    if (found == fetch_of_name_.end()) {
      return InvalidArgument("The fetch '", name, "' was not named in the partial run's setup.");
    }
    if (fetched[found->second]) {
      return InvalidArgument("The fetch '", name, "' had already been fetched.");
    }
    fetched[found->second] = true;
    for (int feed : needs_[found->second]) {
      if (fed[feed]) continue;
      return InvalidArgument("Fetch '", name, "' can't be computed from the feeds that have been ",
                             "fed so far: it needs '", plan_->signature.feeds[feed].ToString(),
                             "'");
    }
    fetch_numbers->push_back(found->second);
  }
  fed_ = std::move(fed);
  fetched_ = std::move(fetched);
  return OkStatus();
}

Status PartialRun::Continue(std::span<const Session::NamedTensor> feeds,
                            std::span<const std::string> fetches, std::vector<Tensor>* outputs) {
  std::vector<int> feed_numbers;
  std::vector<int> fetch_numbers;
  {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(CheckCall(feeds, fetches, &feed_numbers, &fetch_numbers));
  }
  for (size_t i = 0; i < feeds.size(); ++i) {
    RETURN_IF_ERROR(rendezvous_.Send(PartialKey(client_, "feed", feed_numbers[i]),
                                     {.tensor = feeds[i].second, .dead = false}));
  }
  std::vector<Tensor> values;
  Status status;
  for (size_t i = 0; i < fetches.size(); ++i) {
    Notification arrived;
    // Ends at the latest when the step does: its error aborts the rendezvous.
    rendezvous_.Recv(PartialKey(client_, "fetch", fetch_numbers[i]), [&](Result<Delivery> got) {
      if (!got.ok()) {
        status = got.status();
      } else if (got->dead) {
        status = InvalidArgument("the fetched '", fetches[i],
                                 "' is dead: it lies on a branch that was not taken");
      } else {
        values.push_back(std::move(got->tensor));
      }
      arrived.Notify();
    });
    arrived.Wait();
    RETURN_IF_ERROR(status);
  }
  if (outputs != nullptr) *outputs = std::move(values);
  return OkStatus();
}

}  // namespace thalweg
