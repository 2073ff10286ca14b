// SPDX-License-Identifier: Apache-2.0
// TopTable: what `thalweg top` shows of a cluster: a line a task, then what the oldest steps wait
// for and which tasks are gone.
//
//   std::fputs(TopTable(watch.Report(now)).c_str(), stdout);
//
// Ownership: the text is the caller's.
// Threads: any.
// Errors: Json::exception for a report that is none of ClusterWatch's; a task whose answer has
// numbers of another form is a line that says so.
#pragma once

#include <string>

#include "file_work.h"

namespace cli {

std::string TopTable(const Json& report);
// "/job:worker/replica:0/task:1" -> "/job:worker/task:1".
std::string ShortTask(const std::string& task);
// Its lines as far as they fit.
std::string CutToScreen(const std::string& text, size_t columns, size_t lines);

}  // namespace cli
