// SPDX-License-Identifier: Apache-2.0
// What the verbs of `thalweg` do. Each writes its result to standard output or a file.
// Ownership: arguments are read during the call.
// Threads: the main one.
// Errors: throws FileError for a file, tw::Error for what the library refuses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cli {

struct InspectArgs {
  std::string model;
  std::vector<std::string> tags;  // of a SavedModel's graph; none: the only one, or for serving
  bool json = false;
  bool plan = false;
  std::string signature;             // of the plan
  std::vector<std::string> feeds;    // of the plan; none: the signature's inputs
  std::vector<std::string> fetches;  // of the plan; none, and no targets: the signature's outputs
  std::vector<std::string> targets;  // nodes that the plan runs too
  int64_t batch = 0;                 // above 0: what a signature costs for so many rows
  std::vector<std::string> shapes;   // NAME=1,224,224,3: of inputs, for its costs
  bool placement = false;
  std::string by = "preferred";      // how nodes are placed: or cost, search
  std::vector<std::string> devices;  // that they are placed on; none: those here
  std::vector<std::string> nodes;    // whose places are explained
};
void Inspect(const InspectArgs& args);

struct RunArgs {
  std::string model;
  std::vector<std::string> tags;
  std::string signature;             // "": the default one
  std::vector<std::string> feeds;    // NAME=FILE.npy: names of its inputs, or of tensors
  std::vector<std::string> fetches;  // names of its outputs, or of tensors; none: all outputs
  std::string out;                   // FILE.npz; empty: a line for each value
  std::string record;                // FILE.npz of feeds and values, for `verify`; empty: none
  std::string trace;                 // RunMetadata of the step, for `thalweg trace`; empty: none
  bool statistics = false;           // of all tensors that can be recorded, in place of values
  bool json = false;                 // those for programs
  bool map_weights = false;
  int threads = -1;
};
void Run(const RunArgs& args);

struct ConvertArgs {
  std::string model;
  std::vector<std::string> tags;
  std::string signature;  // "": the default one
  std::string out;
  bool saved_model = false;
  bool keep_batch_norms = false;
  bool force = false;
};
void Convert(const ConvertArgs& args);

struct VerifyArgs {
  std::string model;
  std::vector<std::string> tags;
  std::string signature;
  std::string reference;           // FILE.npz: in.NAME and out.NAME; empty: recorded by `against`
  std::string against;             // threads=N, device=NAME, passes=LIST, build=PATH, framework=...
  std::string python = "python3";  // that has the framework
  std::vector<std::string> feeds;  // NAME=FILE.npy; other inputs are random
  std::vector<std::string> shapes;  // NAME=1,224,224,3: of random inputs
  int64_t batch = 2;                // rows of random inputs that leave it open
  uint64_t seed = 0;
  double atol = 1e-6;
  double rtol = 1e-4;
  bool json = false;
};
void Verify(const VerifyArgs& args);

struct ServeArgs {
  std::string cluster;  // JSON, or a file that holds it; empty: from the environment, or none
  std::string listen;   // HOST:PORT; empty: the cluster's, or a free loopback port
  std::string job;
  int task = -1;
  bool insecure = false;
  int threads = -1;
  std::string tls_cert, tls_key, tls_ca;  // PEM files; all or none
  std::string channels;                   // empty: any
  int64_t max_message_bytes = 0, max_graph_bytes = 0, max_graph_nodes = 0, memory_limit = 0;
  int max_sessions = 0, max_calls = 0;  // limits: 0 is the default
  double lost_after = 0;                // seconds; 0: the library's
  double stuck_after = 0;               // seconds; 0: the library's, below 0: never
  std::string collective_leader;        // a task; empty: the first
  std::string metrics;                  // PORT or HOST:PORT for Prometheus; empty: nowhere
};
// Returns when the process is told to end (SIGTERM, SIGINT).
void Serve(const ServeArgs& args);

struct DoctorArgs {
  bool json = false;
  bool quick = false;  // measures nothing
};
// What on this machine makes steps slow; throws where something will stop a program.
void Doctor(const DoctorArgs& args);

struct TopArgs {
  std::vector<std::string> targets;  // grpc://HOST:PORT, or clusters as `serve` takes them
  bool once = false;
  bool json = false;
  double interval = 1;  // seconds
  double timeout = 2;   // of a task's answer, in seconds
};
// Shows the tasks of a cluster until it is told to end (q, Ctrl-C, SIGTERM).
void Top(const TopArgs& args);

struct DumpArgs {
  std::string target;
  bool json = false;
  double timeout = 10;  // seconds
};
// What the server at the target does now.
void Dump(const DumpArgs& args);
// For people, of the JSON that the library makes.
std::string DumpText(const std::string& json);

}  // namespace cli
