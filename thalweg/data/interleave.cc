// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "thalweg/data/inner_stage.h"
#include "thalweg/data/kept_elements.h"
#include "thalweg/data/mapping.h"

namespace thalweg {
namespace {

// The longest cycle: each member may hold open files.
constexpr int64_t kLongestCycle = 4096;

class Interleave : public DatasetOver {
 public:
  Interleave(DatasetPtr input, ElementFunctionPtr function, ElementSpec spec,
             const InterleaveOptions& options)
      : DatasetOver(std::move(spec), std::move(input)),
        function_(std::move(function)),
        options_(options) {}
  std::string Kind() const override {
    return options_.cycle_length == 1 && options_.buffer == 0 ? "FlatMap" : "Interleave";
  }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    InterleaveOptions options = options_;
    options.deterministic = options.deterministic.value_or(pipeline.options.deterministic);
    return StagePtr(std::make_unique<InterleaveStage>(std::move(input), function_, options, spec(),
                                                      shared_from_this()));
  }

 private:
  class InterleaveStage : public InputStage {
   public:
    InterleaveStage(StagePtr input, ElementFunctionPtr function, const InterleaveOptions& options,
                    const ElementSpec& spec, DatasetPtr owner)
        : InputStage(std::move(input)),
          options_(options),
          spec_(spec),
          owner_(std::move(owner)),
          function_(std::move(function)),
          members_(static_cast<size_t>(options.cycle_length)) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      size_t late = 0;  // members in a row that have no element yet
      while (true) {
        RETURN_IF_ERROR(poller.Look());
        OpenAhead(poller);
        if (ended_ && num_taken_ == 0) return Poll::kEnd;
        Member& member = members_[at_];
        if (!member.failure.ok()) {
          Status failure = std::move(member.failure);
          Release(&member);
          return failure;
        }
        if (member.stage.is_open()) {
          ASSIGN_OR_RETURN(const Poll poll, member.stage.Next(poller, out));
          if (poll == Poll::kElement && ++in_block_ == options_.block_length) Advance();
          if (poll == Poll::kElement) return poll;
          if (poll == Poll::kPending) {
            if (!PassOver(&late)) return poll;
            continue;
          }
          Release(&member);
          Advance();
          late = 0;  // what takes its place has not been asked
        } else if (!ended_ || member.call != nullptr) {
          ASSIGN_OR_RETURN(const Poll poll, Open(poller, &member));
          if (poll == Poll::kPending) {
            if (!PassOver(&late)) return poll;
            continue;
          }
        } else if (late > 0 && ++late >= members_.size()) {
          return Poll::kPending;
        } else {
          Advance();
        }
        if (late >= members_.size()) return Poll::kPending;
      }
    }

    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(static_cast<int64_t>(at_));
      writer.Add(in_block_);
      writer.Add(ended_ ? 1 : 0);
      for (const Member& member : members_) {
        const bool opens = member.call != nullptr;
        writer.Add(member.stage.is_open() ? 2 : opens ? 1 : 0);
        if (opens) writer.Add(member.call->element());
        if (!member.stage.is_open()) continue;
        writer.Add(member.element);
        ASSIGN_OR_RETURN(const Poll poll, member.stage.Save(poller, writer));
        if (poll != Poll::kElement) return poll;
      }
      return InputStage::Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t at = 0, ended = 0;
      RETURN_IF_ERROR(reader.Read(&at));
      RETURN_IF_ERROR(reader.Read(&in_block_));
      RETURN_IF_ERROR(reader.Read(&ended));
      if (at < 0 || at >= options_.cycle_length) {
        return InvalidArgument("the state of the iterator is none of this dataset");
      }
      at_ = static_cast<size_t>(at);
      ended_ = ended != 0;
      for (Member& member : members_) RETURN_IF_ERROR(RestoreMember(poller, reader, &member));
      return InputStage::Restore(poller, reader);
    }

   private:
    struct Member {
      std::shared_ptr<ElementCall> call;  // makes the dataset
      Element element;                    // that it is made of
      InnerStage stage;
      bool is_ahead = false;  // its elements may be made before they are asked for
      Status failure;         // why it could not be opened; told in its turn
      size_t charged = 0;     // for its element

      bool is_taken() const { return call != nullptr || stage.is_open() || !failure.ok(); }
    };
    // The next element of the input takes its place.
    void Release(Member* member) {
      charge_.Remove(member->charged);
      *member = {};
      --num_taken_;
      is_full_ = false;
    }

    // Whether the next member is asked instead of one that is late: each wakes the poller.
    bool PassOver(size_t* late) {
      if (*options_.deterministic || ++*late >= members_.size()) return false;
      Advance();
      return true;
    }
    void Advance() {
      in_block_ = 0;
      at_ = (at_ + 1) % members_.size();
    }

    // Members of which elements are made in the background begin with that as soon as they have a
    // place, and not only when it is their turn. They get the elements that they would get then:
    // places become free in the order of turns.
    void OpenAhead(const Poller& poller) {
      if (options_.buffer == 0 || poller.pipeline()->queue == nullptr || is_full_) return;
      is_full_ = true;
      for (size_t i = 0; i < members_.size(); ++i) {
        Member& member = members_[(at_ + i) % members_.size()];
        if (member.call != nullptr ? member.call->ended()
                                   : !member.is_taken() && !ended_ &&
                                         (num_taken_ == 0 || charge_.IsPaid(poller.allocator()))) {
          const Result<Poll> poll = Open(poller, &member);
          if (!poll.ok()) {
            if (!poller.Look().ok()) return;
            member.failure = poll.status();
            ++num_taken_;
          } else if (*poll == Poll::kPending && member.call == nullptr) {
            is_full_ = false;
            return;
          }
        }
        if (member.call != nullptr) is_full_ = false;
        if (!member.stage.is_open() || member.is_ahead) continue;
        member.is_ahead = true;
        member.stage.BeginAhead();
      }
    }

    // kElement: it is open. kEnd: the input has ended. An error leaves its place free.
    Result<Poll> Open(const Poller& poller, Member* member) {
      if (member->call == nullptr) {
        Element element;
        ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, &element));
        if (poll == Poll::kEnd) ended_ = true;
        if (poll != Poll::kElement) return poll;
        Call(poller, std::move(element), member);
      }
      Element results;
      Result<Poll> poll = member->call->Get(poller, &results);
      if (poll.ok() && *poll == Poll::kPending) return poll;
      const auto call = member->call;
      Release(member);
      if (!poll.ok()) return poll;
      if (results.size() != 1) {
        return InvalidArgument("the function must give one dataset, got ", results.size(),
                               " values");
      }
      ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetOf(results[0]));
      RETURN_IF_ERROR(spec_.Admits(dataset->spec()));
      // Where members are passed over, nobody makes an element of one while others have theirs.
      ASSIGN_OR_RETURN(member->stage,
                       InnerStage::Open(poller, dataset, options_.buffer, *options_.deterministic));
      Hold(poller, call->element(), member);
      member->element = call->element();
      return Poll::kElement;
    }
    // Its element counts as long as it has its place. One that finds no room goes on all the same;
    // no other begins before its turn then.
    void Hold(const Poller& poller, const Element& element, Member* member) {
      member->charged = charge_.Add(poller.allocator(), element);
      ++num_taken_;
    }

    void Call(const Poller& poller, Element element, Member* member) {
      Hold(poller, element, member);
      member->call =
          std::make_shared<ElementCall>(function_, std::move(element), poller.pipeline());
    }

    Status RestoreMember(const Poller& poller, StateReader& reader, Member* member) {
      int64_t state = 0;
      Element element;
      RETURN_IF_ERROR(reader.Read(&state));
      if (state == 0) return OkStatus();
      RETURN_IF_ERROR(reader.Read(&element));
      Call(poller, std::move(element), member);
      if (state == 1) return OkStatus();
      ASSIGN_OR_RETURN(const Poll poll, Open(poller, member));
      if (poll == Poll::kPending) {
        return Unimplemented(
            "an iterator is restored whose function waits for other steps before it gives a "
            "dataset");
      }
      return member->stage.Restore(poller, reader);
    }

    const InterleaveOptions options_;
    const ElementSpec& spec_;
    const DatasetPtr owner_;
    const ElementFunctionPtr function_;
    std::vector<Member> members_;
    size_t at_ = 0;
    int64_t in_block_ = 0;
    int64_t num_taken_ = 0;
    bool is_full_ = false;  // all members that the input has elements for are open
    OwedCharge charge_;
    bool ended_ = false;
  };

  const ElementFunctionPtr function_;
  const InterleaveOptions options_;
};

}  // namespace

Result<DatasetPtr> InterleaveDataset(DatasetPtr input, ElementFunctionPtr function,
                                     ElementSpec spec, const InterleaveOptions& options) {
  if (options.cycle_length <= 0) {
    return InvalidArgument("cycle_length must be greater than zero.");
  }
  if (options.block_length <= 0) {
    return InvalidArgument("block_length must be greater than zero.");
  }
  if (options.cycle_length > kLongestCycle) {
    return InvalidArgument("cycle_length must be at most ", kLongestCycle, ", got ",
                           options.cycle_length);
  }
  return DatasetPtr(std::make_shared<Interleave>(std::move(input), std::move(function),
                                                 std::move(spec), options));
}

}  // namespace thalweg
