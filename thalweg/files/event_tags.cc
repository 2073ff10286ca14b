// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/event_tags.h"

#include <fnmatch.h>

#include <algorithm>

#include "thalweg/proto/json_writer.h"

namespace thalweg {
namespace {

bool NameFits(const std::string& name, const std::string& pattern) {
  return pattern.empty() || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// What the plugins of 2.x call what 1.x has a kind for.
EventKind KindOfPlugin(std::string_view plugin) {
  if (plugin == "scalars") return EventKind::kScalar;
  if (plugin == "images") return EventKind::kImage;
  if (plugin == "histograms") return EventKind::kHistogram;
  if (plugin == "audio") return EventKind::kAudio;
  return EventKind::kTensor;
}

class TagCollector {
 public:
  TagCollector(std::map<std::string, EventTag, std::less<>>& tags, const EventTagsOptions& options)
      : tags_(tags), options_(options) {}

  void Add(const EventValue& value) {
    EventTag* const tag = Find(value);
    if (tag == nullptr) return;
    double scalar = value.scalar;
    if (value.kind == EventKind::kTensor) {
      if (!value.plugin.empty() && tag->plugin != value.plugin) {
        tag->plugin = value.plugin;
        tag->kind = KindOfPlugin(value.plugin);
      }
      if (tag->kind == EventKind::kScalar && !ScalarOfTensor(value.tensor, &scalar)) return;
    } else {
      tag->kind = value.kind;
    }
    if (tag->count++ == 0) {
      tag->min_step = tag->max_step = value.step;
      tag->first_time = value.wall_time;
    }
    tag->min_step = std::min(tag->min_step, value.step);
    tag->max_step = std::max(tag->max_step, value.step);
    tag->last_time = value.wall_time;
    tag->last = scalar;
    if (options_.scalars && tag->kind == EventKind::kScalar) {
      tag->points.push_back({value.step, value.wall_time, scalar});
    }
  }

 private:
  EventTag* Find(const EventValue& value) {
    const std::string_view name = value.tag;
    if (name.empty()) {
      if (options_.scalars) return nullptr;
      return &tags_[StrCat("[", EventKindName(value.kind), "]")];
    }
    // Mostly the tag that followed the last one's before.
    Seen* seen = last_ != nullptr ? last_->next : nullptr;
    if (seen == nullptr || *seen->name != name) seen = See(name);
    if (last_ != nullptr) last_->next = seen;
    last_ = seen;
    return seen->tag;
  }

  struct Seen {
    const std::string* name = nullptr;
    EventTag* tag = nullptr;  // null: it does not fit the pattern
    Seen* next = nullptr;     // what came after it the last time
  };
  Seen* See(std::string_view name) {
    const auto at = seen_.find(name);
    if (at != seen_.end()) return &at->second;
    const auto [place, is_new] = seen_.emplace(name, Seen());
    place->second.name = &place->first;
    if (NameFits(place->first, options_.tag)) place->second.tag = &tags_[place->first];
    return &place->second;
  }

  std::map<std::string, EventTag, std::less<>>& tags_;
  const EventTagsOptions& options_;
  std::map<std::string, Seen, std::less<>> seen_;
  Seen* last_ = nullptr;
};

}  // namespace

Result<EventTags> ReadEventTags(FileSystem& fs, const std::string& path,
                                const EventTagsOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<EventFile> files, FindEventFiles(fs, path));
  uint64_t total = 0;
  for (const EventFile& file : files) total += NameFits(file.run, options.run) ? file.bytes : 0;
  Progress progress(options.progress, total);
  EventTags tags;
  for (const EventFile& file : files) {
    if (!NameFits(file.run, options.run)) continue;
    auto& of_run = tags.runs[file.run];
    TagCollector collector(of_run, options);
    EventProblem problem;
    RETURN_IF_ERROR(ReadEvents(fs, file.path, progress, &problem,
                               [&](const EventValue& value) { collector.Add(value); }));
    if (!problem.message.empty()) tags.problems.push_back(std::move(problem));
    tags.files.push_back(file.path);
    tags.bytes += file.bytes;
    if (options.scalars) {
      std::erase_if(of_run, [](const auto& tag) { return tag.second.kind != EventKind::kScalar; });
    }
  }
  return tags;
}

std::string EventTagsJson(const EventTags& tags) {
  JsonWriter json;
  json.BeginObject().Key("files").BeginList();
  for (const std::string& file : tags.files) json.Text(file);
  json.EndList().Key("bytes").Number(tags.bytes).Key("runs").BeginList();
  for (const auto& [run, of_run] : tags.runs) {
    json.BeginObject().Key("run").Text(run).Key("tags").BeginList();
    for (const auto& [name, tag] : of_run) {
      json.BeginObject().Key("tag").Text(name).Key("kind").Text(EventKindName(tag.kind));
      if (!tag.plugin.empty()) json.Key("plugin").Text(tag.plugin);
      json.Key("count").Number(tag.count);
      json.Key("min_step").Number(tag.min_step).Key("max_step").Number(tag.max_step);
      json.Key("first_time").Number(tag.first_time).Key("last_time").Number(tag.last_time);
      if (tag.kind == EventKind::kScalar) json.Key("last").Number(tag.last);
      if (!tag.points.empty()) {
        json.Key("points").BeginList();
        for (const ScalarPoint& point : tag.points) {
          json.BeginList().Number(point.step).Number(point.wall_time).Number(point.value).EndList();
        }
        json.EndList();
      }
      json.EndObject();
    }
    json.EndList().EndObject();
  }
  json.EndList().Key("problems").BeginList();
  for (const EventProblem& problem : tags.problems) {
    json.BeginObject().Key("message").Text(problem.message);
    json.Key("growing").Bool(problem.is_growing).EndObject();
  }
  json.EndList().EndObject();
  return json.Take();
}

}  // namespace thalweg
