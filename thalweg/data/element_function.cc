// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/element_function.h"

#include <algorithm>
#include <span>

#include "thalweg/data/state.h"
#include "thalweg/kernel/caught_exception.h"

namespace thalweg {
namespace {

// A name, such as that of a file, is shown as it is; what is longer, or no text, is cut.
std::string ComponentText(const Tensor& component) {
  constexpr size_t kMostShown = 200;
  if (component.empty() || component.dtype() != DType::kString || component.rank() != 0) {
    return component.ToString();
  }
  const std::string& text = component.scalar<std::string>();
  const bool is_shown =
      text.size() <= kMostShown && std::all_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) >= ' ' && c != 0x7f;
      });
  return is_shown ? StrCat("'", text, "'") : StrCat("a string of ", text.size(), " bytes");
}

int64_t BytesOf(const Element& element) {
  size_t bytes = 0;
  for (const Tensor& tensor : element) bytes += tensor.bytes();
  return static_cast<int64_t>(bytes);
}

// An error of a function, with the element it was called with and the stage that did.
Status OfElement(const Status& error, const ElementFunction& function,
                 std::span<const Tensor> element) {
  if (function.stage.empty() || error.code() == Code::kCancelled) return error;
  constexpr size_t kMostComponents = 4;
  std::string text = StrCat(error.message(), kPlaceLine, function.stage, "; element: ");
  for (size_t i = 0; i < element.size() && i < kMostComponents; ++i) {
    text += StrCat(i == 0 ? "" : ", ", ComponentText(element[i]));
  }
  if (element.size() > kMostComponents) {
    text += StrCat(", ... (", element.size(), " components)");
  }
  text += "]]";
  if (!function.site.empty()) text += StrCat(" (created at ", function.site, ")");
  return Status(error.code(), std::move(text));
}

}  // namespace

std::vector<Tensor> ElementCall::Arguments() const {
  std::vector<Tensor> arguments = element_;
  arguments.insert(arguments.end(), function_->captured.begin(), function_->captured.end());
  return arguments;
}

void ElementCall::Begin() {
  if (claimed_.load(std::memory_order_relaxed)) return;
  if (!function_->function->never_waits()) {
    if (Claim()) Start();
    return;
  }
  if (pipeline_->queue == nullptr) return;
  ScheduleClosure(*pipeline_->queue, [call = shared_from_this()] { call->TryRunHere(); });
}

void ElementCall::BeginTogether(std::vector<std::shared_ptr<ElementCall>> calls, WorkQueue& queue,
                                const CallPacePtr& pace) {
  pace->TaskBegins();
  ScheduleClosure(queue, [calls = std::move(calls), pace] {
    for (const std::shared_ptr<ElementCall>& call : calls) call->TryRunHere();
    pace->TaskEnds();
  });
}

bool ElementCall::TryRunHere() {
  if (!Claim()) return false;
  RunHere();
  return true;
}

Result<Poll> ElementCall::Get(const Poller& poller, Element* out) {
  if (Claim()) {
    function_->function->never_waits() ? RunHere() : Start();
  }
  MutexLock lock(mutex_);
  if (!ended_) {
    waits_ = poller.actor();
    return Poll::kPending;
  }
  if (!result_.ok()) return result_.status();
  *out = std::move(*result_);
  return Poll::kElement;
}

bool ElementCall::ended() {
  MutexLock lock(mutex_);
  return ended_;
}

// On a thread of the session nobody else would catch what is thrown where there is no memory.
void ElementCall::RunHere() {
  if (is_timed()) begun_ = SystemClock().Now();
  Element results;
  Status status;
  try {
    status = function_->function->Run(Arguments(), &pipeline_->cancellation, &results);
  } catch (...) {
    status = CaughtException();
  }
  if (status.ok()) return End(std::move(results));
  End(std::move(status));
}

void ElementCall::Start() {
  if (is_timed()) begun_ = SystemClock().Now();
  function_->function->Start(
      Arguments(), &pipeline_->cancellation,
      [call = shared_from_this()](Result<Element> results) { call->End(std::move(results)); });
}

void ElementCall::End(Result<Element> result) {
  if (is_timed()) {
    const auto time = SystemClock().Now() - begun_;
    const int64_t bytes = result.ok() ? BytesOf(*result) : 0;
    if (tuned_ != nullptr) tuned_->Took(time, bytes);
    if (pace_ != nullptr) pace_->Took(time, bytes);
  }
  if (!result.ok()) result = OfElement(result.status(), *function_, element_);
  std::shared_ptr<Actor> waits;
  {
    MutexLock lock(mutex_);
    ended_ = true;
    result_ = std::move(result);
    waits = waits_.lock();
  }
  if (waits != nullptr) waits->Wake();
}

void CallInTurn::Begin(const Poller& poller, Element&& element) {
  is_open_ = true;
  if (function_->function->never_waits()) return element_.swap(element);
  call_ = std::make_shared<ElementCall>(function_, std::move(element), poller.pipeline());
}

Result<Poll> CallInTurn::Get(const Poller& poller, Element* out) {
  Result<Poll> poll = Poll::kElement;
  if (call_ != nullptr) {
    poll = call_->Get(poller, out);
    if (poll.ok() && *poll == Poll::kPending) return poll;
    call_ = nullptr;
  } else if (Status status = Run(poller, out); !status.ok()) {
    poll = std::move(status);
  }
  is_open_ = false;
  return poll;
}

void CallInTurn::Save(StateWriter& writer) const {
  writer.Add(open() ? 1 : 0);
  if (open()) writer.Add(element());
}

Status CallInTurn::Restore(const Poller& poller, StateReader& reader) {
  int64_t open = 0;
  RETURN_IF_ERROR(reader.Read(&open));
  if (open == 0) return OkStatus();
  Element element;
  RETURN_IF_ERROR(reader.Read(&element));
  Begin(poller, std::move(element));
  return OkStatus();
}

Status CallInTurn::Run(const Poller& poller, Element* out) {
  if (repeated_ == nullptr) {
    pipeline_ = poller.pipeline();
    repeated_ = function_->function->Repeat(&pipeline_->cancellation);
  }
  const size_t size = element_.size();
  if (arguments_.size() != size + function_->captured.size()) {
    arguments_.resize(size);
    arguments_.insert(arguments_.end(), function_->captured.begin(), function_->captured.end());
  }
  std::move(element_.begin(), element_.end(), arguments_.begin());
  element_.clear();
  Status status;
  try {
    status = repeated_->Run(arguments_, out);
  } catch (...) {
    status = CaughtException();
  }
  const std::span<Tensor> element = std::span(arguments_).first(size);
  if (!status.ok()) status = OfElement(status, *function_, element);
  for (Tensor& component : element) component = Tensor();
  return status;
}

}  // namespace thalweg
