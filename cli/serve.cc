// SPDX-License-Identifier: Apache-2.0
// `thalweg serve`: a server process. Standard output gets one line, when it is ready; standard
// error what the server does, whenever SIGUSR1 comes.
#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cli/server_def.h"
#include "cluster_text.h"
#include "commands.h"
#include "thalweg/tensor.h"

namespace cli {
namespace {

std::string Environment(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

ServerTask Read(const ServeArgs& args) {
  ServerTask task;
  std::string text = args.cluster.empty() ? Environment("THALWEG_CLUSTER") : args.cluster;
  if (text.empty()) text = Environment("TF_CONFIG");
  if (!text.empty()) {
    const nlohmann::json parsed = ReadClusterText(text);
    task.jobs = JobsOf(parsed);
    if (parsed.contains("task")) {
      task.job = parsed.at("task").value("type", "");
      task.number = parsed.at("task").value("index", 0);
    }
  }
  if (!args.job.empty()) task.job = args.job;
  if (args.task >= 0) task.number = args.task;
  task.collective_leader = args.collective_leader;
  if (!task.jobs.empty() && task.job.empty()) {
    throw std::runtime_error("a cluster is given, but not which task this is: --job and --task");
  }
  return task;
}

struct FreeServer {
  void operator()(TwServer* server) const { tw_server_free(server); }
};
std::string DumpOf(TwServer* server) {
  const tw::internal::StatusHolder status;
  tw::Result<std::string> json = tw::internal::TextOf(tw_server_dump(server, status.c), status);
  return json.ok() ? std::move(json.value()) : "{}";
}

}  // namespace

void Serve(const ServeArgs& args) {
  std::string def;
  try {
    def = ServerDefBytes(Read(args));
  } catch (const nlohmann::json::exception& e) {
    throw std::runtime_error(std::string("the cluster is not what was expected: ") + e.what());
  }
  // Threads of the server inherit the mask: signals come here alone.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGUSR1);  // asks for a dump
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  TwServerOptions options;
  tw_server_options_init(&options);
  options.insecure = args.insecure ? 1 : 0;
  options.threads = args.threads;
  options.listen = args.listen.c_str();
  options.tls_cert = args.tls_cert.c_str();
  options.tls_key = args.tls_key.c_str();
  options.tls_ca = args.tls_ca.c_str();
  options.message_limit = args.max_message_bytes;
  options.graph_limit = args.max_graph_bytes;
  options.node_limit = args.max_graph_nodes;
  options.session_limit = args.max_sessions;
  options.call_limit = args.max_calls;
  options.memory_limit = args.memory_limit;
  options.channels = args.channels.c_str();
  options.metrics = args.metrics.c_str();
  options.lost_after_ms = static_cast<int64_t>(args.lost_after * 1000);
  options.stuck_after_ms = static_cast<int64_t>(args.stuck_after * 1000);
  const tw::internal::StatusHolder status;
  const std::unique_ptr<TwServer, FreeServer> server(
      tw_server_new(def.data(), def.size(), &options, status.c));
  if (server == nullptr) throw std::runtime_error(tw_status_message(status.c));
  std::printf("ready %s", tw_server_target(server.get()));
  if (const std::string metrics = tw_server_metrics_address(server.get()); !metrics.empty())
    std::printf(" metrics http://%s/metrics", metrics.c_str());
  std::puts("");
  std::fflush(stdout);
  for (int signal = 0; sigwait(&ends, &signal) == 0 && signal == SIGUSR1;) {
    std::fputs(DumpText(DumpOf(server.get())).c_str(), stderr);
    std::fflush(stderr);
  }
  tw_server_stop(server.get(), nullptr);
}

}  // namespace cli
