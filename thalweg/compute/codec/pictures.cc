// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/codec/pictures.h"

#include "thalweg/base/component.h"
#include "thalweg/compute/codec/images_api.h"
#include "thalweg/tensor/heap_charge.h"

namespace thalweg::compute {
namespace {

// Open or not for the whole process, whoever asks.
Result<const ThalwegImagesApi*> ImagesApi() {
  static const ThalwegImagesApi* const api = []() -> const ThalwegImagesApi* {
    const auto entry = reinterpret_cast<ThalwegImagesEntry>(
        FindComponent("libthalweg_images.so", "thalweg_images"));
    return entry == nullptr ? nullptr : entry(THALWEG_IMAGES_VERSION);
  }();
  if (api != nullptr) return api;
  return Unimplemented(
      "JPEG, PNG and GIF files need libthalweg_images.so (and libjpeg, libpng and giflib) beside "
      "the library");
}

// What the component calls, and what became of it.
class HostCalls {
 public:
  explicit HostCalls(const PictureHost& host) : host_(host) {
    table_ = {
        .self = this,
        .room =
            [](void* self, const ThalwegPictureSize* size) {
              return static_cast<HostCalls*>(self)->Room(*size);
            },
        .charge =
            [](void* self, uint64_t bytes) {
              return static_cast<HostCalls*>(self)->Keep(
                  static_cast<HostCalls*>(self)->Charge(bytes));
            },
        .append = [](void* self, const void* bytes,
                     size_t size) { return static_cast<HostCalls*>(self)->Append(bytes, size); },
        .cancelled =
            [](void* self) {
              return static_cast<HostCalls*>(self)->host_.work.cancelled() ? 1 : 0;
            }};
  }

  const ThalwegHost* table() const { return &table_; }
  std::string& text() { return text_; }
  char* why() { return why_; }

  // `code` as a Status; `what` begins the message about a bad file.
  Status Ended(int code, std::string_view what) {
    if (code == kThalwegDone) return OkStatus();
    if (code == kThalwegBadFile) return InvalidArgument(what, ": ", why_);
    if (!refused_.ok()) return refused_;
    if (host_.work.cancelled()) return CancelledStep();
    return ResourceExhausted(what, ": no memory for the codec");
  }

 private:
  int Keep(Status status) {
    if (status.ok()) return 1;
    refused_ = std::move(status);
    return 0;
  }
  Status Charge(uint64_t bytes) { return charge_.Set(host_.allocator, bytes); }
  void* Room(const ThalwegPictureSize& size) {
    Result<void*> place = host_.room({size.frames, size.rows, size.columns, size.channels});
    if (place.ok()) return *place;
    refused_ = place.status();
    return nullptr;
  }
  int Append(const void* bytes, size_t size) {
    if (text_.size() + size > text_.capacity()) {
      // The old string and the new one are there together for a while.
      const size_t room = 2 * (text_.size() + size);
      if (Keep(text_charge_.Set(host_.allocator, room + text_.capacity())) == 0) return 0;
      text_.reserve(room);
    }
    text_.append(static_cast<const char*>(bytes), size);
    return 1;
  }

  const PictureHost& host_;
  ThalwegHost table_;
  HeapCharge charge_, text_charge_;
  std::string text_;
  Status refused_;
  char why_[THALWEG_WHY_BYTES] = "";
};

ThalwegFile FileOf(std::string_view file) {
  return {reinterpret_cast<const uint8_t*>(file.data()), file.size()};
}

std::string InvalidJpeg(std::string_view file) {
  return StrCat("jpeg::Uncompress failed. Invalid JPEG data or crop window, data size ",
                file.size());
}

}  // namespace

PictureKind KindOfPicture(std::string_view file) {
  if (file.starts_with("\xff\xd8\xff")) return PictureKind::kJpeg;
  if (file.starts_with("\x89PNG\r\n\x1a\n")) return PictureKind::kPng;
  if (file.starts_with("GIF8")) return PictureKind::kGif;
  if (file.starts_with("BM")) return PictureKind::kBmp;
  if (file.starts_with("RIFF") && file.substr(0, 12).ends_with("WEBP")) return PictureKind::kWebp;
  return PictureKind::kUnknown;
}

Result<PictureSize> JpegShape(std::string_view file) {
  ASSIGN_OR_RETURN(const ThalwegImagesApi* const api, ImagesApi());
  const ThalwegFile bytes = FileOf(file);
  ThalwegPictureSize size;
  char why[THALWEG_WHY_BYTES] = "";
  if (api->jpeg_shape(&bytes, &size, why) != kThalwegDone) {
    return InvalidArgument("Invalid JPEG data, size ", file.size(), ": ", why);
  }
  return PictureSize{size.frames, size.rows, size.columns, size.channels};
}

Status ReadJpeg(std::string_view file, const JpegReading& how, const PictureHost& host) {
  ASSIGN_OR_RETURN(const ThalwegImagesApi* const api, ImagesApi());
  const ThalwegFile bytes = FileOf(file);
  const ThalwegJpegReading reading = {.channels = how.channels,
                                      .ratio = how.ratio,
                                      .fancy_upscaling = how.fancy_upscaling,
                                      .fast_dct = how.fast_dct,
                                      .recover = how.recover,
                                      .acceptable_fraction = how.acceptable_fraction,
                                      .crop = how.crop,
                                      .top = how.top,
                                      .left = how.left,
                                      .rows = how.rows,
                                      .columns = how.columns};
  HostCalls calls(host);
  const int code = api->read_jpeg(&bytes, &reading, calls.table(), calls.why());
  return code == kThalwegDone ? OkStatus() : calls.Ended(code, InvalidJpeg(file));
}

Status ReadPng(std::string_view file, int channels, int bits, const PictureHost& host) {
  ASSIGN_OR_RETURN(const ThalwegImagesApi* const api, ImagesApi());
  const ThalwegFile bytes = FileOf(file);
  const ThalwegPngReading reading = {.channels = channels, .bits = bits};
  HostCalls calls(host);
  const int code = api->read_png(&bytes, &reading, calls.table(), calls.why());
  if (code == kThalwegDone) return OkStatus();
  return calls.Ended(code, StrCat("Invalid PNG data, size ", file.size()));
}

Status ReadGif(std::string_view file, bool first_only, const PictureHost& host) {
  ASSIGN_OR_RETURN(const ThalwegImagesApi* const api, ImagesApi());
  const ThalwegFile bytes = FileOf(file);
  HostCalls calls(host);
  const int code = api->read_gif(&bytes, first_only, calls.table(), calls.why());
  if (code == kThalwegDone) return OkStatus();
  return calls.Ended(code, StrCat("Invalid GIF data (size ", file.size(), ")"));
}

Result<std::string> WriteJpeg(const uint8_t* pixels, const PictureSize& size,
                              const JpegWriting& how, const PictureHost& host) {
  ASSIGN_OR_RETURN(const ThalwegImagesApi* const api, ImagesApi());
  const ThalwegJpegWriting writing = {.rows = size.rows,
                                      .columns = size.columns,
                                      .channels = static_cast<int>(size.channels),
                                      .quality = how.quality,
                                      .progressive = how.progressive,
                                      .optimize = how.optimize,
                                      .downsample = how.downsample,
                                      .density_unit = how.centimeters ? 2 : 1,
                                      .x_density = how.x_density,
                                      .y_density = how.y_density,
                                      .xmp = how.xmp.data(),
                                      .xmp_size = how.xmp.size()};
  HostCalls calls(host);
  const int code = api->write_jpeg(pixels, &writing, calls.table(), calls.why());
  RETURN_IF_ERROR(calls.Ended(code, "JPEG encoding failed"));
  return std::move(calls.text());
}

Result<std::string> WritePng(const void* pixels, const PictureSize& size, int bits, int compression,
                             const PictureHost& host) {
  ASSIGN_OR_RETURN(const ThalwegImagesApi* const api, ImagesApi());
  const ThalwegPngWriting writing = {.rows = size.rows,
                                     .columns = size.columns,
                                     .channels = static_cast<int>(size.channels),
                                     .bits = bits,
                                     .compression = compression};
  HostCalls calls(host);
  const int code = api->write_png(pixels, &writing, calls.table(), calls.why());
  RETURN_IF_ERROR(calls.Ended(code, "PNG encoding failed"));
  return std::move(calls.text());
}

}  // namespace thalweg::compute
