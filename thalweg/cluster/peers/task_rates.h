// SPDX-License-Identifier: Apache-2.0
// TaskRates: what a task of ours tells, when a master that places nodes by cost asks, of what its
// devices and its links to other tasks can do. It rides in GetStatus, in a field that TensorFlow's
// tasks do not know, and skip: of those nothing is known.
//
//   RETURN_IF_ERROR(AskForRates({"/job:ps/replica:0/task:0"}, &request));  // the master
//   if (const auto asked = RatesAsked(request); asked.has_value()) {        // the task
//     RETURN_IF_ERROR(AddRates({.devices = measured, .links = {}}, &response));
//   }
//   ASSIGN_OR_RETURN(const TaskRates rates, FindRates(response));
//
// Ownership: values; what is added to a message it owns.
// Threads: any, on distinct messages.
// Errors: InvalidArgument for what cannot be read, or is too much.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/placement/measured_rates.h"
#include "thalweg/proto/message.h"

namespace thalweg {

struct TaskRates {
  // Of its devices; MeasuredRates::tasks is not told.
  MeasuredRates devices;
  std::map<std::string, LinkModel, std::less<>> links;  // by the other task
};

// `tasks`: to which its links are of interest.
Status AskForRates(const std::vector<std::string>& tasks, Message* request);
// Nothing where nobody asks.
std::optional<std::vector<std::string>> RatesAsked(const Message& request);
Status AddRates(const TaskRates& rates, Message* response);
Result<TaskRates> FindRates(const Message& response);

}  // namespace thalweg
