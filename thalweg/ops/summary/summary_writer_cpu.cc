// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/arithmetic.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/summary/event_writer.h"
#include "thalweg/ops/summary/summary_parts.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

namespace value = pb::Summary::Value;

Result<std::string_view> Text(const Tensor& tensor, std::string_view what) {
  if (tensor.rank() == 0) return std::string_view(tensor.scalar<std::string>());
  return InvalidArgument(what, " must be a scalar, got shape ", tensor.shape());
}

class WriterHandle : public Kernel {
 public:
  explicit WriterHandle(Tensor handle) : handle_(std::move(handle)) {}
  // The file is another operation's to open: the handle names it.
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ResourceHandle::Place place;
    place.device = c.device().full_name();
    place.type_name = "tensorflow::SummaryWriterInterface";
    ASSIGN_OR_RETURN(place.container, c.Attr<std::string>("container"));
    ASSIGN_OR_RETURN(place.name, c.Attr<std::string>("shared_name"));
    if (place.container.empty()) place.container = ResourceManager::kDefaultContainer;
    if (place.name.empty()) place.name = c.node().name();
    return std::unique_ptr<Kernel>(
        std::make_unique<WriterHandle>(Tensor::Scalar(ResourceHandle(std::move(place), {}))));
  }
  Status Compute(Context& ctx) override {
    ctx.set_output(0, handle_);
    return OkStatus();
  }

 private:
  const Tensor handle_;
};

Result<const ResourceHandle::Place*> PlaceOf(const Tensor& handle) {
  if (handle.dtype() == DType::kResource && handle.rank() == 0) {
    if (const auto* place = handle.scalar<ResourceHandle>().place(); place != nullptr) return place;
  }
  return InvalidArgument("writer must be a handle to a summary writer, got ", handle.dtype(),
                         handle.shape());
}

Status OpenFile(Context& ctx) {
  ASSIGN_OR_RETURN(const auto* place, PlaceOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const std::string_view directory, Text(ctx.input(1), "logdir"));
  EventWriter::Options options;
  ASSIGN_OR_RETURN(options.max_queue, IntScalar(ctx.input(2), "max_queue"));
  ASSIGN_OR_RETURN(options.flush_millis, IntScalar(ctx.input(3), "flush_millis"));
  ASSIGN_OR_RETURN(const std::string_view suffix, Text(ctx.input(4), "filename_suffix"));
  options.suffix = suffix;
  if (suffix.find('/') != std::string_view::npos) {
    return InvalidArgument("filename_suffix must not name another directory, got '", suffix, "'");
  }
  return ctx.step()
      .resources
      ->LookupOrCreate<EventWriter>(
          place->container, place->name,
          [&] { return EventWriter::Make(std::string(directory), options); })
      .status();
}

Status RefuseDatabase(Context& /*ctx*/) {
  return Unimplemented(
      "CreateSummaryDbWriter: nothing reads the database that it would write; "
      "CreateSummaryFileWriter writes event files");
}

Result<RefPtr<EventWriter>> WriterOf(Context& ctx) {
  ASSIGN_OR_RETURN(const auto* place, PlaceOf(ctx.input(0)));
  return ctx.step().resources->Lookup<EventWriter>(place->container, place->name);
}

Status FlushFile(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<EventWriter> writer, WriterOf(ctx));
  return writer->Flush();
}

Status CloseFile(Context& ctx) {
  ASSIGN_OR_RETURN(const auto* place, PlaceOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const RefPtr<EventWriter> writer, WriterOf(ctx));
  RETURN_IF_ERROR(writer->Flush());
  return ctx.step().resources->Delete<EventWriter>(place->container, place->name);
}

// Fills the event; input 1 has given its step.
using Fill = Status (*)(Context& ctx, Message& event);

template <Fill kFill>
Status WriteEvent(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<EventWriter> writer, WriterOf(ctx));
  ASSIGN_OR_RETURN(const int64_t step, IntScalar(ctx.input(1), "step"));
  OwnedMessage event(pb::Event::Descriptor());
  event->SetInt(pb::Event::kStep, step);
  RETURN_IF_ERROR(kFill(ctx, *event));
  return writer->Write(*event);
}

Status FillScalar(Context& ctx, Message& event) {
  ASSIGN_OR_RETURN(const std::string_view tag, SummaryTag(ctx.input(2)));
  const Tensor& number = ctx.input(3);
  if (number.rank() != 0) {
    return InvalidArgument("value must be a scalar, got shape ", number.shape());
  }
  Message* one = event.Mutable(pb::Event::kSummary)->Add(pb::Summary::kValue);
  one->SetString(value::kTag, tag);
  return compute::WithType<RealTypes>(number.dtype(), "a summary", [&]<class T>() {
    one->SetFloat(value::kSimpleValue, static_cast<float>(compute::ValueOf(number.scalar<T>())));
    return OkStatus();
  });
}

Status FillTensor(Context& ctx, Message& event) {
  ASSIGN_OR_RETURN(const std::string_view tag, SummaryTag(ctx.input(3)));
  ASSIGN_OR_RETURN(const std::string_view metadata, Text(ctx.input(4), "summary_metadata"));
  Message* one = event.Mutable(pb::Event::kSummary)->Add(pb::Summary::kValue);
  one->SetString(value::kTag, tag);
  RETURN_IF_ERROR(MergeFromBytes(*one->Mutable(value::kMetadata), metadata));
  return TensorToProto(ctx.input(2), one->Mutable(value::kTensor), {.borrow = true});
}

// What cannot be parsed is lost data.
Status Parsed(const Status& status) {
  return status.ok() ? status : Status(Code::kDataLoss, std::string(status.message()));
}

Status FillSummary(Context& ctx, Message& event) {
  ASSIGN_OR_RETURN(const std::string_view bytes, Text(ctx.input(2), "tensor"));
  return Parsed(MergeFromBytes(*event.Mutable(pb::Event::kSummary), bytes));
}

// Checked to be a graph, since nobody could read it otherwise.
Status FillGraph(Context& ctx, Message& event) {
  ASSIGN_OR_RETURN(const std::string_view bytes, Text(ctx.input(2), "tensor"));
  RETURN_IF_ERROR(Parsed(ParseMessage(pb::GraphDef::Descriptor(), bytes).status()));
  event.SetString(pb::Event::kGraphDef, bytes);
  return OkStatus();
}

Status Import(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<EventWriter> writer, WriterOf(ctx));
  ASSIGN_OR_RETURN(const std::string_view bytes, Text(ctx.input(1), "event"));
  ASSIGN_OR_RETURN(OwnedMessage event, ParseMessage(pb::Event::Descriptor(), bytes));
  return writer->Write(*event);
}

// What inputs 0 to 2 ask for: an event of a writer, a step and a tag.
struct TaggedEvent {
  static Result<TaggedEvent> Of(Context& ctx) {
    ASSIGN_OR_RETURN(RefPtr<EventWriter> writer, WriterOf(ctx));
    ASSIGN_OR_RETURN(const int64_t step, IntScalar(ctx.input(1), "step"));
    ASSIGN_OR_RETURN(const std::string_view tag, SummaryTag(ctx.input(2)));
    TaggedEvent tagged{std::move(writer), tag, OwnedMessage(pb::Event::Descriptor())};
    tagged.event->SetInt(pb::Event::kStep, step);
    return tagged;
  }
  Message& summary() { return *event->Mutable(pb::Event::kSummary); }
  Status Write() const { return writer->Write(*event); }

  RefPtr<EventWriter> writer;
  std::string_view tag;  // of the input
  OwnedMessage event;
};

class WriteHistogram : public Kernel {
 public:
  explicit WriteHistogram(std::string name) : name_(std::move(name)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return std::unique_ptr<Kernel>(std::make_unique<WriteHistogram>(std::string(c.node().name())));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(TaggedEvent tagged, TaggedEvent::Of(ctx));
    RETURN_IF_ERROR(AddHistogram(ctx.work(), tagged.summary(), tagged.tag, ctx.input(3), name_));
    return tagged.Write();
  }

 private:
  const std::string name_;
};

// Images, or sounds: at most so many of a batch.
class WriteMedia : public Kernel {
 public:
  WriteMedia(int64_t most, bool images) : most_(most), images_(images) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    const bool images = c.node().op_name() == "WriteImageSummary";
    ASSIGN_OR_RETURN(const int64_t most, Int32Attr(c, images ? "max_images" : "max_outputs"));
    return std::unique_ptr<Kernel>(std::make_unique<WriteMedia>(most, images));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(TaggedEvent tagged, TaggedEvent::Of(ctx));
    if (images_) {
      RETURN_IF_ERROR(AddImages(tagged.summary(), tagged.tag, ctx.input(3), ctx.input(4), most_));
    } else {
      if (ctx.input(4).rank() != 0) {
        return InvalidArgument("sample_rate must be a scalar, got shape ", ctx.input(4).shape());
      }
      RETURN_IF_ERROR(AddSounds(tagged.summary(), tagged.tag, ctx.input(3),
                                ctx.input(4).scalar<float>(), most_));
    }
    return tagged.Write();
  }

 private:
  const int64_t most_;
  const bool images_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(summary_writer, cpu) {
  registry.Add<WriterHandle>("SummaryWriter", kCpu);
  registry.AddFunction<OpenFile>("CreateSummaryFileWriter", kCpu);
  registry.AddFunction<RefuseDatabase>("CreateSummaryDbWriter", kCpu);
  registry.AddFunction<FlushFile>("FlushSummaryWriter", kCpu);
  registry.AddFunction<CloseFile>("CloseSummaryWriter", kCpu);
  registry.AddFunction<Import>("ImportEvent", kCpu);
  registry.AddFunction<WriteEvent<FillScalar>>("WriteScalarSummary", kCpu);
  registry.AddFunction<WriteEvent<FillTensor>>("WriteSummary", kCpu);
  registry.AddFunction<WriteEvent<FillSummary>>("WriteRawProtoSummary", kCpu);
  registry.AddFunction<WriteEvent<FillGraph>>("WriteGraphSummary", kCpu);
  registry.Add<WriteHistogram>("WriteHistogramSummary", kCpu);
  registry.Add<WriteMedia>("WriteAudioSummary", kCpu);
  registry.Add<WriteMedia>("WriteImageSummary", kCpu);
}
