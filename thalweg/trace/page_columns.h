// SPDX-License-Identifier: Apache-2.0
// PageColumns: the rows, names, spans and transfers of a trace as elements of an HTML page.
//
//   std::string page;
//   AppendPageColumns(trace, &page);
//
// Spans are in order of device, lane and start: their place. Columns of numbers are varints in
// base64, a megabyte or so an element, each of whole numbers; page/columns.js says what each one
// holds. Names are JSON without a '<', so that none is ever markup.
// Ownership: none.
// Threads: any.
// Errors: none.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/trace/trace.h"

namespace thalweg {

void AppendPageColumns(const Trace& trace, std::string* page);
// An element of that id that holds JSON.
void AppendPageJson(std::string_view id, std::string_view json, std::string* page);

}  // namespace thalweg
