// SPDX-License-Identifier: Apache-2.0
// The verbs that look into files. Each function adds its verb, with what is done when it is given,
// to the command's parser.
//
//   CLI::App app;
//   AddCheckpoint(app);
//   app.parse("checkpoint ls model-7");
//
// Ownership: the parser owns the verbs and what they are given.
// Threads: the main one.
// Errors: WorkError.
#pragma once

#include <CLI/CLI.hpp>

namespace cli {

void AddCheckpoint(CLI::App& app);
void AddRecords(CLI::App& app);
void AddEvents(CLI::App& app);
void AddTrace(CLI::App& app);

}  // namespace cli
