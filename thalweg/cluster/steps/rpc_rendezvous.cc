// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/steps/rpc_rendezvous.h"

#include <array>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include "thalweg/base/entropy.h"
#include "thalweg/base/first_error.h"
#include "thalweg/cluster/transport/message.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

// Sessions whose steps are one to their collective operations may begin them so far apart.
constexpr std::chrono::hours kSessionsMeet{1};
constexpr size_t kMostOpenSteps = 100'000;
// Ends of steps are remembered, so that a late message finds an ended step: so many of one session,
// and so long.
constexpr size_t kRememberedSteps = 4096;
constexpr std::chrono::minutes kRememberedFor{10};

template <class T>
bool ReadNumber(std::string_view text, int base, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Result<Delivery> DeliveryFrom(const Message& response, Allocator* allocator) {
  namespace Response = pb::RecvTensorResponse;
  if (response.GetBool(Response::kIsDead)) return Delivery{.tensor = Tensor(), .dead = true};
  ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(response.GetMessage(Response::kTensor),
                                                  {.allocator = allocator}));
  return Delivery{.tensor = std::move(tensor), .dead = false};
}

// The pieces of a buffer, one after the other.
Result<Delivery> BufferFrom(const Message& response, DType dtype, int64_t elements,
                            Allocator* allocator) {
  namespace Response = pb::RecvBufResponse;
  if (response.GetBool(Response::kIsDead)) return Delivery{.tensor = Tensor(), .dead = true};
  const Message& options = response.GetMessage(Response::kTransportOptions);
  ASSIGN_OR_RETURN(const OwnedMessage extra,
                   ParseMessage(pb::RecvBufRespExtra::Descriptor(),
                                options.GetString(pb::Any::kValue), {.borrow = true}));
  ASSIGN_OR_RETURN(Tensor buffer, Tensor::Allocate(*allocator, dtype, Shape{elements}));
  auto* const data = static_cast<char*>(buffer.mutable_raw_data());
  size_t found = 0;
  for (const std::string_view piece :
       extra->Repeated<std::string_view>(pb::RecvBufRespExtra::kTensorContent)) {
    if (found + piece.size() <= buffer.bytes()) {
      std::memcpy(data + found, piece.data(), piece.size());
    }
    found += piece.size();
  }
  if (found == buffer.bytes()) return Delivery{.tensor = std::move(buffer), .dead = false};
  return Internal("a buffer of a collective operation has ", found, " bytes, not the ",
                  buffer.bytes(), " that were asked for: from '",
                  options.GetString(pb::Any::kTypeUrl), "'");
}

}  // namespace

Result<PeerKey> ParsePeerKey(std::string_view text) {
  std::array<std::string_view, 5> parts;
  std::string_view rest = text;
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t end = i + 1 < parts.size() ? rest.find(';') : rest.size();
    if (end == std::string_view::npos) return InvalidArgument("'", text, "' is no rendezvous key");
    parts[i] = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  PeerKey parsed;
  RendezvousKey& key = parsed.key;
  key.source = parts[0];
  key.destination = parts[2];
  key.edge = parts[3];
  const size_t colon = parts[4].find(':');
  uint64_t frame = 0;
  uint64_t iteration = 0;
  if (!ReadNumber(parts[1], 16, &key.incarnation) || colon == std::string_view::npos ||
      !ReadNumber(parts[4].substr(0, colon), 10, &frame) ||
      !ReadNumber(parts[4].substr(colon + 1), 10, &iteration) || iteration > UINT32_MAX) {
    return InvalidArgument("'", text, "' is no rendezvous key");
  }
  // TensorFlow's numbers have 64 bits, ours the upper half of a tag.
  if (frame > UINT32_MAX) {
    parsed.foreign_frame = frame;
    frame = 0;
  }
  key.tag = frame << 32 | iteration;
  return parsed;
}

Result<RendezvousKey> ParseRendezvousKey(std::string_view text) {
  ASSIGN_OR_RETURN(PeerKey parsed, ParsePeerKey(text));
  if (parsed.foreign_frame == 0) return std::move(parsed.key);
  return InvalidArgument("'", text, "' is in a loop: a client's tensors are not");
}

struct RpcStepRendezvous::Asked {
  Mutex mutex;
  std::map<std::string, int> open GUARDED_BY(mutex);  // "EDGE of TASK"
  uint64_t events GUARDED_BY(mutex) = 0;

  void Begin(const std::string& what) EXCLUDES(mutex) {
    MutexLock lock(mutex);
    ++open[what];
    ++events;
  }
  void End(const std::string& what) EXCLUDES(mutex) {
    MutexLock lock(mutex);
    ++events;
    if (--open[what] == 0) open.erase(what);
  }
};

std::string RpcStepRendezvous::PlaceOfBuffer(const RendezvousKey& key) {
  return StrCat(key.edge, " ", key.destination);
}

RpcStepRendezvous::RpcStepRendezvous(int64_t id, WorkerClients& peers, AllocatorPtr allocator,
                                     TransferLog& transfers, Clock::TimePoint made,
                                     CollectiveRendezvous* collectives)
    : StepCollectives(collectives, StrCat("calls:", id)),
      id_(id),
      peers_(&peers),
      allocator_(std::move(allocator)),
      transfers_(transfers),
      made_(made),
      asked_(std::make_shared<Asked>()) {}

void RpcStepRendezvous::Begin(const std::string& session, std::shared_ptr<SessionCluster> cluster) {
  MutexLock lock(mutex_);
  if (!begun_ && cluster != nullptr) {
    peers_ = &cluster->peers;
    cluster_ = std::move(cluster);
  }
  begun_ = true;
  session_ = session;
}

void RpcStepRendezvous::Join(Context& ctx, CollectiveCall call, double timeout_seconds, Done done) {
  if (cluster_ == nullptr) {
    return StepCollectives::Join(ctx, std::move(call), timeout_seconds, std::move(done));
  }
  std::move(done)(
      Unimplemented("a collective operation whose members are in several tasks, in a session that "
                    "brings its own cluster (ConfigProto.cluster_def)"));
}

uint32_t RpcStepRendezvous::master() { return MasterOfSession(NumberOfHandle(session())); }

void RpcStepRendezvous::AppendAsked(StepSnapshot* snapshot) const {
  MutexLock lock(asked_->mutex);
  snapshot->events += asked_->events;
  for (const auto& [what, count] : asked_->open) snapshot->asked.push_back(what);
}

void RpcStepRendezvous::Recv(const RendezvousKey& key, RecvDone done) {
  const std::string_view task = TaskOf(key.source);
  if (task == peers_->self()) return here_.Recv(key, std::move(done));
  if (key.tag == 0) return RecvFromTask(key, key.ToString(), std::move(done));
  // Answered by the callback of a call to the task, or at once: the step lives until then.
  peers_->FindVersion(task, key.incarnation, &cancellation_,
                      [this, key, done = std::move(done)](Result<PeerVersion> version) mutable {
                        if (!version.ok()) return done(version.status());
                        Result<std::string> text = KeyFor(*version, key);
                        if (!text.ok()) return done(text.status());
                        RecvFromTask(key, *text, std::move(done));
                      });
}

Result<std::string> RpcStepRendezvous::KeyFor(PeerVersion version, const RendezvousKey& key) {
  std::string text = key.ToString();
  if (version == PeerVersion::kThalweg) return text;
  std::optional<uint64_t> id;
  {
    MutexLock lock(mutex_);
    id = frames_.Find(version, key.tag);
  }
  if (!id.has_value()) return Internal("the loop of '", text, "' is not open");
  return StrCat(text.substr(0, text.rfind(';') + 1), *id, ":", key.tag & 0xffffffffu);
}

void RpcStepRendezvous::RecvFromTask(const RendezvousKey& key, const std::string& text,
                                     RecvDone done) {
  namespace Request = pb::RecvTensorRequest;
  OwnedMessage request(Request::Descriptor());
  request->SetInt(Request::kStepId, id_);
  request->SetString(Request::kRendezvousKey, text);
  request->SetInt(Request::kRequestId, static_cast<int64_t>(RandomSeed() | 1));
  if (transfers_.Keeps(id_)) done = transfers_.Noted(id_, key, std::move(done));
  std::string what = StrCat(key.edge, " of ", key.source);
  asked_->Begin(what);
  peers_->Call(TaskOf(key.source), "RecvTensor", *request, pb::RecvTensorResponse::Descriptor(),
               {.cancellation = &cancellation_},
               [done = std::move(done), allocator = allocator_, asked = asked_,
                what = std::move(what)](Result<OwnedMessage> response) {
                 asked->End(what);
                 if (!response.ok()) return done(response.status());
                 done(DeliveryFrom(**response, allocator.get()));
               });
}

void RpcStepRendezvous::SendBuffer(const RendezvousKey& key, Tensor value, Taken taken) {
  const std::string place = PlaceOfBuffer(key);
  {
    MutexLock lock(mutex_);
    if (aborted_.ok()) untaken_[place] = std::exchange(taken, nullptr);
  }
  if (taken) return taken(Aborted("step ", id_, " has ended"));
  if (Status sent = here_.Send(key, {std::move(value), false}); !sent.ok()) TakeOut(place, sent);
}

void RpcStepRendezvous::TakeOut(const std::string& place, const Status& status) {
  Taken taken;
  {
    MutexLock lock(mutex_);
    const auto found = untaken_.find(place);
    if (found == untaken_.end()) return;
    taken = std::move(found->second);
    untaken_.erase(found);
  }
  taken(status);
}

void RpcStepRendezvous::RecvBufferForPeer(const RendezvousKey& key, RecvDone done) {
  {
    MutexLock lock(mutex_);
    waits_for_sessions_ = true;
  }
  here_.Recv(key, [self = shared_from_this(), place = PlaceOfBuffer(key),
                   done = std::move(done)](Result<Delivery> got) {
    const Status status = got.status();
    if (status.ok() || !self->Hold(done, status)) done(std::move(got));
    self->TakeOut(place, status);
  });
}

// True: LetGo answers.
bool RpcStepRendezvous::Hold(const RecvDone& done, const Status& status) {
  Status why;
  {
    MutexLock lock(mutex_);
    if (!is_shared_ || aborted_.ok()) return false;
    if (!has_let_go_) {
      held_.emplace_back(done, status);
      return true;
    }
    why = let_go_.ok() ? status : let_go_;
  }
  done(why);
  return true;
}

void RpcStepRendezvous::LetGo(const Status& why) {
  std::vector<std::pair<RecvDone, Status>> held;
  {
    MutexLock lock(mutex_);
    if (std::exchange(has_let_go_, true)) return;
    let_go_ = why;
    held.swap(held_);
  }
  for (const auto& [done, status] : held) done(why.ok() ? status : why);
}

std::vector<SharedSteps::Debt> RpcStepRendezvous::Owed() {
  std::vector<SharedSteps::Debt> debts;
  {
    MutexLock lock(asked_->mutex);
    for (const auto& [what, count] : asked_->open) {
      const size_t of = what.rfind(" of ");
      debts.push_back({std::string(TaskOf(what.substr(of + 4))), what.substr(0, of)});
    }
  }
  MutexLock lock(mutex_);
  for (const auto& [place, taken] : untaken_) {
    const size_t to = place.rfind(' ');
    std::string task(TaskOf(place.substr(to + 1)));
    if (task == peers_->self()) continue;
    debts.push_back({std::move(task), StrCat("that it takes ", place.substr(0, to))});
  }
  return debts;
}

std::shared_ptr<BufferTransport> RpcStepRendezvous::buffers() {
  MutexLock lock(mutex_);
  return exchanges_buffers_ ? shared_from_this() : nullptr;
}

void RpcStepRendezvous::RecvBuffer(const RendezvousKey& key, DType dtype, int64_t elements,
                                   RecvDone done) {
  if (TaskOf(key.source) == peers_->self()) return RecvBufferForPeer(key, std::move(done));
  namespace Request = pb::RecvBufRequest;
  const int64_t bytes = elements * static_cast<int64_t>(DTypeSize(dtype));
  OwnedMessage request(Request::Descriptor());
  request->SetInt(Request::kStepId, id_);
  request->SetString(Request::kBufRendezvousKey, key.edge.substr(kBufferEdge.size()));
  request->SetInt(Request::kNumBytes, bytes);
  request->SetString(Request::kSrcDevice, key.source);
  request->SetString(Request::kDstDevice, key.destination);
  request->SetUint(Request::kSrcIncarnation, key.incarnation);
  request->SetInt(Request::kRequestId, static_cast<int64_t>(RandomSeed() | 1));
  request->Mutable(Request::kClientLocality);
  request->Mutable(Request::kServerLocality);
  const std::string what = StrCat(key.edge, " of ", key.source);
  asked_->Begin(what);
  peers_->Call(TaskOf(key.source), "RecvBuf", *request, pb::RecvBufResponse::Descriptor(),
               {.cancellation = &cancellation_},
               [self = shared_from_this(), done = std::move(done), dtype, elements,
                what](const Result<OwnedMessage>& response) {
                 self->asked_->End(what);
                 if (!response.ok()) return done(response.status());
                 done(BufferFrom(**response, dtype, elements, self->allocator_.get()));
               });
}

bool RpcStepRendezvous::IsNewRequest(int64_t id) {
  if (id == 0) return true;
  MutexLock lock(mutex_);
  return requests_.insert(id).second;
}

void RpcStepRendezvous::RecvForPeer(PeerKey key, RecvDone done) {
  if (key.foreign_frame != 0) {
    MutexLock lock(mutex_);
    if (const std::optional<uint64_t> tag = frames_.TagOf(key.foreign_frame)) {
      key.key.tag += *tag;
    } else if (aborted_.ok()) {
      parked_.emplace(key.foreign_frame, Parked{std::move(key.key), std::move(done)});
      return;
    }
  }
  here_.Recv(key.key, std::move(done));  // tells a step that has ended
}

void RpcStepRendezvous::OnFrame(uint64_t tag, uint64_t parent, std::string_view name) {
  std::vector<Parked> found;
  {
    MutexLock lock(mutex_);
    frames_.Open(tag, parent, name);
    if (parked_.empty()) return;
    for (const PeerVersion version : {PeerVersion::k1_15, PeerVersion::k2_21}) {
      const auto [begin, end] = parked_.equal_range(*frames_.Find(version, tag));
      for (auto at = begin; at != end; ++at) found.push_back(std::move(at->second));
      parked_.erase(begin, end);
    }
  }
  for (Parked& parked : found) {
    parked.key.tag += tag;
    here_.Recv(parked.key, std::move(parked.done));
  }
}

std::shared_ptr<RpcStepRendezvous::Part> RpcStepRendezvous::FindPart(const std::string& graph,
                                                                     bool* is_new) {
  MutexLock lock(mutex_);
  std::shared_ptr<Part>& part = parts_[graph];
  *is_new = part == nullptr;
  if (*is_new) part = std::make_shared<Part>();
  return part;
}

void RpcStepRendezvous::Abort(Status reason) {
  std::unordered_multimap<uint64_t, Parked> parked;
  std::map<std::string, Taken> untaken;
  {
    MutexLock lock(mutex_);
    KeepFirstError(reason, &aborted_);
    parked.swap(parked_);
    untaken.swap(untaken_);
  }
  here_.Abort(reason);
  for (auto& [frame, waits] : parked) waits.done(reason);
  for (auto& [place, taken] : untaken) taken(reason);
  cancellation_.Cancel(std::move(reason));
}

Result<std::shared_ptr<RpcStepRendezvous>> RpcStepTable::FindLocked(int64_t id) {
  if (const auto found = steps_.find(id); found != steps_.end()) return found->second;
  if (const auto found = ended_.find(id); found != ended_.end()) {
    if (!found->second.ok()) return found->second;
    return Aborted("step ", id, " has ended on ", peers_.self());
  }
  if (steps_.size() >= kMostOpenSteps) {
    return ResourceExhausted(peers_.self(), " has ", steps_.size(),
                             " open steps, and takes no more");
  }
  auto step = std::make_shared<RpcStepRendezvous>(id, peers_, allocator_, transfers_, clock_.Now(),
                                                  collectives_);
  return steps_.emplace(id, std::move(step)).first->second;
}

Result<std::shared_ptr<RpcStepRendezvous>> RpcStepTable::Find(int64_t id) {
  MutexLock lock(mutex_);
  return FindLocked(id);
}

Result<std::shared_ptr<RpcStepRendezvous>> RpcStepTable::Begin(
    int64_t id, const std::string& session, std::shared_ptr<SessionCluster> cluster) {
  MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(std::shared_ptr<RpcStepRendezvous> step, FindLocked(id));
  step->Begin(session, std::move(cluster));
  return step;
}

void RpcStepTable::MarkEnded(int64_t id, const std::string& session, Status why) {
  if (!ended_.try_emplace(id, std::move(why)).second) return;
  std::deque<Ended>& ended = ended_of_[session];
  ended.push_back({id, clock_.Now()});
  if (ended.size() <= kRememberedSteps) return;
  ended_.erase(ended.front().id);
  ended.pop_front();
}

void RpcStepTable::Erase(int64_t id, Status reason, Status why) {
  transfers_.Disable(id);  // where its master has not said so
  std::shared_ptr<RpcStepRendezvous> step;
  {
    MutexLock lock(mutex_);
    const auto found = steps_.find(id);
    MarkEnded(id, found == steps_.end() ? "" : found->second->session(), why);
    if (found == steps_.end()) return;
    step = std::move(found->second);
    steps_.erase(found);
  }
  step->Abort(std::move(reason));
  step->LetGo(why);
}

bool RpcStepTable::Fail(int64_t id, const Status& why) {
  std::shared_ptr<RpcStepRendezvous> step;
  bool has_begun = false;
  {
    MutexLock lock(mutex_);
    if (ended_.contains(id)) return false;
    const auto found = steps_.find(id);
    if (found != steps_.end()) step = found->second;
    has_begun = step != nullptr && step->begun();
    if (!has_begun) MarkEnded(id, "", why);
    if (!has_begun && step != nullptr) steps_.erase(found);
  }
  if (step == nullptr) return true;
  step->NoteTold();
  step->cancellation().Cancel(
      why);  // first: it is the reason of whoever runs the step, and erases it
  step->Abort(why);
  step->LetGo(why);
  return !has_begun;
}

StepReply RpcStepTable::StateOf(int64_t id) {
  MutexLock lock(mutex_);
  if (const auto found = steps_.find(id); found != steps_.end()) {
    return {.begun = found->second->begun(), .failed = OkStatus()};
  }
  const auto found = ended_.find(id);
  if (found == ended_.end()) return {};
  return {.begun = true, .failed = found->second};
}

void RpcStepTable::EraseAll(const Status& reason) {
  for (const std::shared_ptr<RpcStepRendezvous>& step : List()) Erase(step->id(), reason);
}

void RpcStepTable::EraseSession(const std::string& session, const Status& reason) {
  for (const std::shared_ptr<RpcStepRendezvous>& step : List()) {
    if (step->session() == session) Erase(step->id(), reason);
  }
}

void RpcStepTable::Expire(std::chrono::nanoseconds early_for) {
  const Clock::TimePoint now = clock_.Now();
  for (const std::shared_ptr<RpcStepRendezvous>& step : List()) {
    const auto patience = step->waits_for_sessions()
                              ? std::max<std::chrono::nanoseconds>(early_for, kSessionsMeet)
                              : early_for;
    if (step->begun() || now - step->made() < patience) continue;
    Erase(step->id(),
          Aborted("a value of step ", step->id(),
                  " was asked for, and no part of the step began on ", peers_.self(), " within ",
                  std::chrono::duration<double>(patience).count(), " s; has its master ended?"));
  }
  MutexLock lock(mutex_);
  for (auto at = ended_of_.begin(); at != ended_of_.end();) {
    std::deque<Ended>& ended = at->second;
    while (!ended.empty() && now - ended.front().time >= kRememberedFor) {
      ended_.erase(ended.front().id);
      ended.pop_front();
    }
    at = ended.empty() ? ended_of_.erase(at) : std::next(at);
  }
}

std::vector<std::shared_ptr<RpcStepRendezvous>> RpcStepTable::List() {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<RpcStepRendezvous>> steps;
  for (const auto& [id, step] : steps_) steps.push_back(step);
  return steps;
}

}  // namespace thalweg
