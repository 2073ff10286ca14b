// SPDX-License-Identifier: Apache-2.0
// thalweg: the command. Exit status: 0 done, 1 the work failed, 2 wrong usage.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "commands.h"

namespace {

int RunMain(int argc, char** argv) {
  CLI::App app{"Runs and shows dataflow graphs."};
  app.name("thalweg");
  app.require_subcommand(1);

  cli::InspectArgs inspect;
  CLI::App* inspecting =
      app.add_subcommand("inspect", "What a graph is made of, or how it would run");
  inspecting->add_option("MODEL", inspect.model, "GraphDef: .pb, or text: .pbtxt")->required();
  CLI::Option* plan =
      inspecting->add_flag("--plan", inspect.plan,
                           "The step of the fetches before and after rewriting, and its program");
  CLI::Option* fetch = inspecting->add_option("--fetch", inspect.fetches,
                                              "What the plan computes: NAME or NAME:INDEX");
  fetch->needs(plan);
  inspecting->add_option("--target", inspect.targets, "A node that the plan runs too")->needs(plan);
  inspecting->add_option("--feed", inspect.feeds, "What it is fed; by default, all placeholders")
      ->needs(plan);
  inspecting->callback([&] {
    if (inspect.plan && inspect.fetches.empty() && inspect.targets.empty()) {
      throw CLI::RequiredError("--fetch or --target");
    }
    cli::Inspect(inspect);
  });

  cli::RunArgs run;
  CLI::App* running = app.add_subcommand("run", "Runs a graph once");
  running->add_option("MODEL", run.model, "GraphDef without uninitialised variables")->required();
  running->add_option("--feed", run.feeds, "NAME=FILE.npy");
  running->add_option("--fetch", run.fetches, "NAME or NAME:INDEX")->required();
  running->add_option("--out", run.out, "FILE.npz for the values; without it, types and shapes");
  running->add_option("--threads", run.threads, "-1: one a core; 0: none besides the caller's")
      ->check(CLI::Range(-1, 4096));
  running->callback([&] { cli::Run(run); });

  cli::ServeArgs serve;
  CLI::App* serving = app.add_subcommand("serve", "Serves one task of a cluster until SIGTERM");
  serving->add_option("--cluster", serve.cluster,
                      "JSON or a file of it: {\"ps\": [\"HOST:PORT\"], \"worker\": [...]}; by "
                      "default THALWEG_CLUSTER or TF_CONFIG, else this task alone on a free port");
  serving->add_option("--job", serve.job, "The job of this task");
  serving->add_option("--task", serve.task, "Its number in the job")->check(CLI::Range(0, 1 << 20));
  serving->add_option("--threads", serve.threads, "Of kernels; -1: one a core")
      ->check(CLI::Range(-1, 4096));
  serving->add_flag("--insecure", serve.insecure,
                    "Listen where other machines reach it, unencrypted, for anybody");
  serving->callback([&] { cli::Serve(serve); });

  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    app.exit(e);
    return 2;
  } catch (const std::exception& e) {
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
