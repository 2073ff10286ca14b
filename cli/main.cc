// SPDX-License-Identifier: Apache-2.0
// thalweg: the command. Exit status: 0 done, 1 the work failed, 2 wrong usage.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "commands.h"
#include "file_commands.h"
#include "file_work.h"
#include "other_ways.h"
#include "thalweg/c_api.h"

namespace {

void AddServe(CLI::App& app, cli::ServeArgs& args) {
  CLI::App* serve = app.add_subcommand("serve",
                                       "Serves one task of a cluster until SIGTERM or SIGINT. "
                                       "Prints 'ready TARGET' when clients may "
                                       "come: tf.Session(TARGET).");
  serve->add_option("--cluster", args.cluster,
                    "JSON or a file of it: {\"ps\": [\"HOST:PORT\"], \"worker\": [...]}; by "
                    "default THALWEG_CLUSTER or TF_CONFIG, else this task alone on a free port");
  serve->add_option("--listen", args.listen,
                    "HOST:PORT where this task listens, in place of its own address in the "
                    "cluster; port 0: a free one");
  serve->add_option("--job", args.job, "The job of this task");
  serve->add_option("--task", args.task, "Its number in the job")->check(CLI::Range(0, 1 << 20));
  serve->add_option("--threads", args.threads, "Of kernels; -1: one a core")
      ->check(CLI::Range(-1, 4096));

  serve->add_option("--channels", args.channels,
                    "How values go to other tasks of this kind: memory, sockets, tcp, calls, or "
                    "any of them (the default), the fastest that can be had; ucx, in a build with "
                    "it, to tasks that use it too");

  serve->add_option("--metrics", args.metrics,
                    "PORT or HOST:PORT where GET /metrics tells numbers to Prometheus, "
                    "unencrypted; PORT alone: on loopback; 0: a free one, which the line 'ready' "
                    "then names");

  const std::string safety = "Who may come (beyond loopback: certificates, or --insecure)";
  const auto file = [&](const char* name, std::string* to, const char* variable, const char* what) {
    serve->add_option(name, *to, what)->envname(variable)->group(safety);
  };
  file("--tls-cert", &args.tls_cert, "THALWEG_TLS_CERT", "PEM file of this task's certificate");
  file("--tls-key", &args.tls_key, "THALWEG_TLS_KEY", "PEM file of its private key");
  file("--tls-ca", &args.tls_ca, "THALWEG_TLS_CA",
       "PEM file of who signs the certificates of clients and other tasks, which must show one");
  serve
      ->add_flag("--insecure", args.insecure,
                 "Listen where other machines reach it, unencrypted, for anybody")
      ->group(safety);

  const auto limit = [&](const char* name, auto* to, const char* what) {
    serve->add_option(name, *to, what)
        ->transform(CLI::AsSizeValue(false))
        ->group("Limits (as 1000, 64MB, 2GB)");
  };
  limit("--max-message-bytes", &args.max_message_bytes, "Of a request (half of the memory)");
  limit("--max-graph-bytes", &args.max_graph_bytes, "Of a request with a graph (as of any)");
  limit("--max-graph-nodes", &args.max_graph_nodes, "Of a session (10,000,000)");
  limit("--max-sessions", &args.max_sessions, "Open at once (10,000)");
  limit("--max-calls", &args.max_calls, "Calls that wait at once (10,000)");
  limit("--memory-limit", &args.memory_limit, "Bytes of tensors (what the machine has)");
  serve
      ->add_option("--lost-after", args.lost_after,
                   "Seconds of silence after which a task is taken for lost (3)")
      ->check(CLI::Range(0.1, 3600.0));
  serve->add_option("--stuck-after", args.stuck_after,
                    "Seconds without any progress after which a step is ended (60); -1: never");
  serve->add_option("--collective-leader", args.collective_leader,
                    "The task that leads groups of collective operations where a session names "
                    "none: /job:JOB/task:N (the first by job and number)");
  serve->callback([&args] { cli::Serve(args); });
}

constexpr const char* kModel =
    "A SavedModel's folder; a MetaGraph, its checkpoint beside it; a GraphDef: .pb, or text: "
    ".pbtxt";
constexpr const char* kTags = "Of the graph in a SavedModel that is meant (the only one, or serve)";

void AddPlacement(CLI::App& inspect, CLI::Option& plan, cli::InspectArgs& args) {
  const std::string group = "Where the nodes of a signature's step would run";
  CLI::Option* const placement =
      inspect
          .add_flag(
              "--placement", args.placement,
              "The device of each node, placed anew as where a model is loaded, and what the step "
              "would take")
          ->excludes(&plan)
          ->group(group);
  inspect
      .add_option("--node", args.nodes, "Why this node is where it is, with what others would cost")
      ->allow_extra_args(false)
      ->needs(placement)
      ->group(group);
  inspect
      .add_option("--device", args.devices,
                  "A device that nodes are placed on, whether or not it is here: /cpu:1, "
                  "/job:worker/task:1/device:CPU:0; by default, those that are here")
      ->allow_extra_args(false)
      ->needs(placement)
      ->group(group);
  inspect
      .add_option("--by", args.by,
                  "preferred, as sessions place without a word (the default), cost or search")
      ->check(CLI::IsMember({"preferred", "cost", "search"}))
      ->needs(placement)
      ->group(group);
}

void AddInspect(CLI::App& app, cli::InspectArgs& args) {
  CLI::App* const inspect =
      app.add_subcommand("inspect", "What a model is made of, or how it would run");
  inspect->add_option("MODEL", args.model, kModel)->required();
  inspect->add_option("--tags", args.tags, kTags)->delimiter(',');
  CLI::Option* const json = inspect->add_flag("--json", args.json, "For programs");
  CLI::Option* const plan =
      inspect
          ->add_flag("--plan", args.plan,
                     "The step of a signature, or of the fetches, before and after rewriting, and "
                     "its program")
          ->excludes(json);
  inspect->add_option("--signature", args.signature,
                      "That is planned, or whose costs are told (serving_default)");
  const std::string costs = "What a step of a signature costs: arithmetic and memory";
  inspect->add_option("--batch", args.batch, "For so many rows of inputs that leave it open")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->excludes(plan)
      ->group(costs);
  inspect->add_option("--shape", args.shapes, "NAME=1,224,224,3: an input's shape")
      ->excludes(plan)
      ->group(costs);
  inspect->add_option("--fetch", args.fetches, "What the plan computes: NAME or NAME:INDEX")
      ->needs(plan);
  inspect->add_option("--target", args.targets, "A node that the plan runs too")->needs(plan);
  inspect->add_option("--feed", args.feeds, "What it is fed; by default, the signature's inputs")
      ->needs(plan);
  AddPlacement(*inspect, *plan, args);
  inspect->callback([&args] { cli::Inspect(args); });
}

void AddRun(CLI::App& app, cli::RunArgs& args) {
  CLI::App* const run = app.add_subcommand("run", "Runs a model once");
  run->add_option("MODEL", args.model, kModel)->required();
  run->add_option("--tags", args.tags, kTags)->delimiter(',');
  run->add_option("--signature", args.signature, "By default serving_default, or the only one");
  run->add_option("--feed", args.feeds, "NAME=FILE.npy: an input of the signature, or a tensor");
  run->add_option("--fetch", args.fetches,
                  "An output of the signature, or a tensor; by default, all outputs");
  run->add_option("--out", args.out, "FILE.npz for the values; without it, types and shapes");
  run->add_option("--record", args.record,
                  "FILE.npz for feeds and all values that can be recorded, for `verify`")
      ->excludes("--out")
      ->excludes("--fetch");
  run->add_option("--trace", args.trace,
                  "FILE.pb, or FILE.trace, for what ran when, for `thalweg trace`")
      ->excludes("--record")
      ->excludes("--fetch");
  CLI::Option* const statistics =
      run->add_flag("--statistics", args.statistics,
                    "Bounds, mean, zeros, NaN and infinities of all tensors of the step")
          ->excludes("--out")
          ->excludes("--fetch")
          ->excludes("--record")
          ->excludes("--trace");
  run->add_flag("--json", args.json, "Statistics for programs")->needs(statistics);
  run->add_flag("--map-weights", args.map_weights,
                "Large weights are pages of their files, not read before they are used");
  run->add_option("--threads", args.threads, "-1: one a core; 0: none besides the caller's")
      ->check(CLI::Range(-1, 4096));
  run->callback([&args] { cli::Run(args); });
}

void AddConvert(CLI::App& app, cli::ConvertArgs& args) {
  CLI::App* const convert = app.add_subcommand(
      "convert", "Writes what a signature computes as a graph without variables and functions");
  convert->add_option("MODEL", args.model, kModel)->required();
  convert->add_option("OUT", args.out, "A GraphDef: .pb, or text: .pbtxt; a SavedModel's folder")
      ->required();
  convert->add_option("--tags", args.tags, kTags)->delimiter(',');
  convert->add_option("--signature", args.signature, "By default serving_default, or the only one");
  convert->add_flag("--saved-model", args.saved_model,
                    "A SavedModel, which also holds what is in tables");
  convert->add_flag("--keep-batch-norms", args.keep_batch_norms,
                    "They become no part of weights: results have the same bits");
  convert->add_flag("--force", args.force, "Replaces a file that is there");
  convert->callback([&args] { cli::Convert(args); });
}

void AddVerify(CLI::App& app, cli::VerifyArgs& args) {
  CLI::App* const verify = app.add_subcommand(
      "verify",
      "Names the first node whose value is not the recorded one, or not that of another way to "
      "run the model");
  verify->add_option("MODEL", args.model, kModel)->required();
  CLI::Option_group* const with = verify->add_option_group("With what it is compared");
  with->add_option("--reference", args.reference,
                   "FILE.npz of arrays in.NAME and out.NAME: names of the signature, or tensors");
  CLI::Option* const against = with->add_option(
      "--against", args.against,
      "threads=N, in all; device=NAME; passes=LIST, as none or -cse; build=PATH of another thalweg "
      "program or package; framework=tensorflow");
  against->check([](const std::string& text) -> std::string {
    try {
      cli::ParseOtherWay(text);
      return "";
    } catch (const cli::WorkError& e) {
      return e.what();
    }
  });
  with->require_option(1);
  verify->add_option("--python", args.python, "That has TensorFlow (python3)")->needs(against);
  verify->add_option("--feed", args.feeds, "NAME=FILE.npy, with --against; other inputs are random")
      ->needs(against);
  verify->add_option("--shape", args.shapes, "NAME=1,224,224,3: of a random input")->needs(against);
  verify->add_option("--batch", args.batch, "Dimensions of random inputs that are left open (2)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->needs(against);
  verify->add_option("--seed", args.seed, "Of random inputs (0)")->needs(against);
  verify->add_option("--tags", args.tags, kTags)->delimiter(',');
  verify->add_option("--signature", args.signature, "By default serving_default, or the only one");
  verify->add_option("--atol", args.atol, "Absolute tolerance of floating-point numbers (1e-6)")
      ->check(CLI::NonNegativeNumber);
  verify->add_option("--rtol", args.rtol, "Relative tolerance (1e-4)")
      ->check(CLI::NonNegativeNumber);
  verify->add_flag("--json", args.json, "For programs");
  verify->callback([&args] { cli::Verify(args); });
}

int RunMain(int argc, char** argv) {
  CLI::App app{"Runs and shows dataflow graphs."};
  app.name("thalweg");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("thalweg ") + tw_version());

  cli::InspectArgs inspect;
  AddInspect(app, inspect);
  cli::RunArgs run;
  AddRun(app, run);
  cli::ConvertArgs convert;
  AddConvert(app, convert);
  cli::VerifyArgs verify;
  AddVerify(app, verify);
  cli::AddCheckpoint(app);
  cli::AddRecords(app);
  cli::AddEvents(app);
  cli::AddTrace(app);

  cli::ServeArgs serve;
  AddServe(app, serve);

  cli::DoctorArgs doctor;
  CLI::App* const examining = app.add_subcommand(
      "doctor",
      "What this machine can do, and what on it makes steps slow or will stop a program, each with "
      "a remedy; status 1 for the latter");
  examining->add_flag("--json", doctor.json, "For programs");
  examining->add_flag("--quick", doctor.quick, "Measures nothing: what the system says alone");
  examining->callback([&doctor] { cli::Doctor(doctor); });

  cli::TopArgs top;
  CLI::App* const watching = app.add_subcommand(
      "top", "The tasks of a cluster, live: steps, rates, bytes, waits, memory; q ends");
  watching
      ->add_option("TARGET", top.targets,
                   "grpc://HOST:PORT of one task, which knows the others, or of several; a cluster "
                   "as `serve --cluster` takes it")
      ->required();
  watching->add_flag("--once", top.once, "One table, of one interval");
  watching->add_flag("--json", top.json, "For programs: a line an interval");
  watching->add_option("--interval", top.interval, "Seconds (1)")->check(CLI::Range(0.05, 3600.0));
  watching->add_option("--timeout", top.timeout, "Seconds that a task has to answer (2)")
      ->check(CLI::Range(0.05, 3600.0));
  watching->callback([&top] { cli::Top(top); });

  cli::DumpArgs dump;
  CLI::App* debugging = app.add_subcommand("debug", "Looks into a server that runs");
  debugging->require_subcommand(1);
  CLI::App* dumping = debugging->add_subcommand(
      "dump", "What a server does now: steps, who waits for what, calls, tasks");
  dumping->add_option("TARGET", dump.target, "grpc://HOST:PORT")->required();
  dumping->add_flag("--json", dump.json, "As the server says it");
  dumping->add_option("--timeout", dump.timeout, "Seconds")->check(CLI::Range(0.001, 86400.0));
  dumping->callback([&] { cli::Dump(dump); });

  try {
    app.parse(argc, argv);
    if (std::fflush(stdout) == 0) return 0;
    std::perror("thalweg: standard output");
    return 1;
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    app.exit(e);
    return 2;
  } catch (const std::exception& e) {
    std::fflush(stdout);  // what was found comes before why that is no success
    std::fprintf(stderr, "thalweg: %s\n", e.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return RunMain(argc, argv);
  } catch (...) {  // out of memory, while an error was told
    return 1;
  }
}
