// SPDX-License-Identifier: Apache-2.0
// `thalweg events`: runs, tags and scalars of event files.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <memory>

#include "file_commands.h"
#include "file_work.h"

namespace cli {
namespace {

struct EventsArgs {
  std::string path, run, tag;
  bool json = false, csv = false, plot = false;
};

Json ReadTags(const EventsArgs& args, bool scalars) {
  return FileWork("reading").Get([&](TwProgress tell, void* context, TwStatus* status) {
    return tw_events_read(args.path.c_str(), scalars ? 1 : 0, args.run.c_str(), args.tag.c_str(),
                          tell, context, status);
  });
}

// A file that still grows is no damage.
void TellProblems(const Json& tags) {
  uint64_t damages = 0;
  std::fflush(stdout);
  for (const Json& problem : tags.at("problems")) {
    const bool is_growing = problem.at("growing").get<bool>();
    std::fprintf(stderr, "thalweg: %s%s\n", problem.at("message").get<std::string>().c_str(),
                 is_growing ? " (perhaps it is still written)" : "");
    damages += is_growing ? 0 : 1;
  }
  if (damages > 0) {
    throw WorkError("damaged: " + Count(damages, "file") + "; what is before the damage was read");
  }
}

std::string TimeText(double seconds) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm local{};
  char text[64] = "?";
  if (localtime_r(&whole, &local) != nullptr) {
    std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  }
  return text;
}

void ListTags(const EventsArgs& args) {
  const Json tags = ReadTags(args, false);
  if (args.json) {
    PrintJson(tags);
    TellProblems(tags);
    return;
  }
  TextTable table({"run", "tag", "kind", "values", "steps", "last", "from", "to"});
  for (const Json& run : tags.at("runs")) {
    for (const Json& tag : run.at("tags")) {
      const std::string plugin = tag.value("plugin", "");
      const bool is_named = tag.at("kind") != "tensor" || plugin.empty();
      table.Add({run.at("run"), tag.at("tag"),
                 is_named ? tag.at("kind").get<std::string>() : plugin, NumberText(tag.at("count")),
                 NumberText(tag.at("min_step")) + ".." + NumberText(tag.at("max_step")),
                 tag.contains("last") ? NumberText(tag.at("last")) : "-",
                 TimeText(tag.at("first_time")), TimeText(tag.at("last_time"))});
    }
  }
  std::printf("%s: %s, %s, %s\n", args.path.c_str(), Count(tags.at("runs").size(), "run").c_str(),
              Count(tags.at("files").size(), "file").c_str(),
              BytesText(tags.at("bytes").get<double>()).c_str());
  if (!table.empty()) std::fputs(table.Text().c_str(), stdout);
  TellProblems(tags);
}

std::string CsvText(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

double NumberOf(const Json& number) {
  if (number.is_number()) return number.get<double>();
  const std::string name = number.get<std::string>();
  return name == "NaN" ? NAN : name == "Infinity" ? INFINITY : -INFINITY;
}

// One letter for each of at most 60 stretches of the values, by their mean.
std::string PlotText(const Json& points) {
  constexpr size_t kColumns = 60;
  constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const size_t columns = std::min(points.size(), kColumns);
  std::vector<double> means(columns, NAN);
  for (size_t c = 0; c < columns; ++c) {
    const size_t begin = c * points.size() / columns, end = (c + 1) * points.size() / columns;
    double sum = 0, n = 0;
    for (size_t i = begin; i < end; ++i) {
      const double value = NumberOf(points[i][2]);
      if (std::isfinite(value)) {
        sum += value;
        ++n;
      }
    }
    if (n > 0) means[c] = sum / n;
  }
  double low = INFINITY, high = -INFINITY;
  for (const double mean : means) {
    if (std::isnan(mean)) continue;
    low = std::min(low, mean);
    high = std::max(high, mean);
  }
  std::string plot;
  for (const double mean : means) {
    if (std::isnan(mean)) {
      plot += "?";
      continue;
    }
    const double share = high > low ? (mean - low) / (high - low) : 0.5;
    plot += kBars[static_cast<size_t>(std::min(share * 8, 7.0))];
  }
  return plot + "  " + NumberText(low) + " to " + NumberText(high) + ", last " +
         NumberText(points.back()[2]);
}

void ShowScalars(const EventsArgs& args) {
  const Json tags = ReadTags(args, true);
  size_t shown = 0;
  if (args.csv) std::printf("run,tag,step,wall_time,value\n");
  for (const Json& run : tags.at("runs")) {
    for (const Json& tag : run.at("tags")) {
      if (!tag.contains("points")) continue;
      ++shown;
      if (args.json) continue;
      const std::string of = run.at("run"), name = tag.at("tag");
      const Json& points = tag.at("points");
      if (args.plot) {
        std::printf("%s %s  steps %s to %s\n  %s\n", of.c_str(), name.c_str(),
                    NumberText(tag.at("min_step")).c_str(), NumberText(tag.at("max_step")).c_str(),
                    PlotText(points).c_str());
        continue;
      }
      if (args.csv) {
        for (const Json& point : points) {
          std::printf(
              "%s,%s,%s,%s,%s\n", CsvText(of).c_str(), CsvText(name).c_str(),
              point[0].dump().c_str(), point[1].dump().c_str(),
              point[2].is_number() ? point[2].dump().c_str() : point[2].get<std::string>().c_str());
        }
        continue;
      }
      std::printf("%s %s\n", of.c_str(), name.c_str());
      TextTable table({"step", "time", "value"});
      for (const Json& point : points) {
        table.Add({NumberText(point[0]), TimeText(NumberOf(point[1])), NumberText(point[2])});
      }
      std::fputs(table.Text().c_str(), stdout);
    }
  }
  if (args.json) PrintJson(tags);
  TellProblems(tags);
  if (shown == 0 && !args.json) {
    throw WorkError(args.path + ": there are no such scalars; `thalweg events ls " + args.path +
                    "` lists what there is");
  }
}

void VerifyEvents(const EventsArgs& args) {
  const Json audit =
      FileWork("verifying").Get([&](TwProgress tell, void* context, TwStatus* status) {
        return tw_events_verify(args.path.c_str(), tell, context, status);
      });
  PrintAudit(audit, args.json, "event");
}

}  // namespace

void AddEvents(CLI::App& app) {
  const auto args = std::make_shared<EventsArgs>();
  CLI::App* const all = app.add_subcommand("events", "What is in event files, as TensorBoard's");
  all->require_subcommand(1);
  const auto add = [&](const char* name, const std::string& does) {
    CLI::App* const verb = all->add_subcommand(name, does);
    verb->add_option("PATH", args->path, "A folder with runs, or an event file")->required();
    verb->add_flag("--json", args->json, "For programs");
    return verb;
  };
  const auto add_filter = [&](CLI::App* verb) {
    verb->add_option("--run", args->run, "Only runs that match: train*");
    verb->add_option("--tag", args->tag, "Only tags that match: loss/*");
  };
  CLI::App* const ls = add("ls", "Lists runs and tags: kind, number of values, steps, last value");
  add_filter(ls);
  ls->callback([args] { ListTags(*args); });
  CLI::App* const show = add("show", "Shows scalars, as a table");
  add_filter(show);
  show->add_flag("--csv", args->csv, "run,tag,step,wall_time,value")->excludes("--json");
  show->add_flag("--plot", args->plot, "One line for each tag")
      ->excludes("--json")
      ->excludes("--csv");
  show->callback([args] { ShowScalars(*args); });
  add("verify", "Checks every checksum. Status 1 where there is damage")->callback([args] {
    VerifyEvents(*args);
  });
}

}  // namespace cli
