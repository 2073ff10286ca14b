// SPDX-License-Identifier: Apache-2.0
// InputStage: a stage over one input, whose place is part of its own. DatasetOver: a dataset over
// one input. Bases of most.
// Ownership: the stage owns its input, the dataset shares it.
// Threads: a stage one at a time, a dataset from any.
// Errors: those of the input.
#pragma once

#include <utility>

#include "thalweg/data/dataset.h"
#include "thalweg/data/state.h"

namespace thalweg {

class InputStage : public Stage {
 public:
  explicit InputStage(StagePtr input) : input_(std::move(input)) {}

  Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
    return input_->Save(poller, writer);
  }
  Status Restore(const Poller& poller, StateReader& reader) override {
    return input_->Restore(poller, reader);
  }

 protected:
  const StagePtr input_;
};

class DatasetOver : public Dataset {
 public:
  DatasetOver(ElementSpec spec, DatasetPtr input)
      : Dataset(std::move(spec), {input}), input_(std::move(input)) {}
  explicit DatasetOver(const DatasetPtr& input) : DatasetOver(input->spec(), input) {}

 protected:
  const DatasetPtr input_;
};

}  // namespace thalweg
