// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/codec/gif_component.h"

#include <gif_lib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "thalweg/compute/codec/picture_limits.h"

namespace {

struct Gif {
  GifFileType* gif = nullptr;
  const ThalwegFile* file = nullptr;
  size_t at = 0;
  int transparent = NO_TRANSPARENT_COLOR;  // of the next frame
  bool has_control = false;
  GifPixelType line[1 << 16];  // no frame is wider
};

int Fetch(GifFileType* gif, GifByteType* to, int count) {
  Gif& g = *static_cast<Gif*>(gif->UserData);
  const size_t step = std::min(static_cast<size_t>(count), g.file->size - g.at);
  if (step > 0) std::memcpy(to, g.file->bytes + g.at, step);
  g.at += step;
  return static_cast<int>(step);
}

void Say(char* why, const char* what, int error, const Gif& g) {
  const char* const text = GifErrorString(error);
  std::snprintf(why, THALWEG_WHY_BYTES, "%s: %.100s, at byte %zu of %zu", what,
                text == nullptr ? "damaged" : text, g.at, g.file->size);
}

bool Open(Gif& g, char* why) {
  g.at = 0;
  int error = 0;
  g.gif = DGifOpen(&g, Fetch, &error);
  if (g.gif == nullptr) Say(why, "failed to open gif file", error, g);
  return g.gif != nullptr;
}

void Close(Gif& g) {
  if (g.gif != nullptr) DGifCloseFile(g.gif, nullptr);
  g.gif = nullptr;
}

// The first of the control blocks before a frame counts.
bool ReadExtension(Gif& g) {
  int code = 0;
  GifByteType* block = nullptr;
  if (DGifGetExtension(g.gif, &code, &block) == GIF_ERROR) return false;
  GraphicsControlBlock control;
  if (code == GRAPHICS_EXT_FUNC_CODE && block != nullptr && !g.has_control &&
      DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
    g.transparent = control.TransparentColor;
    g.has_control = true;
  }
  while (block != nullptr) {
    if (DGifGetExtensionNext(g.gif, &block) == GIF_ERROR) return false;
  }
  return true;
}

// To the next frame: 1, or 0 at the end, -1 where the file is damaged.
int NextFrame(Gif& g) {
  g.transparent = NO_TRANSPARENT_COLOR;
  g.has_control = false;
  for (;;) {
    GifRecordType type;
    if (DGifGetRecordType(g.gif, &type) == GIF_ERROR) return -1;
    if (type == TERMINATE_RECORD_TYPE) return 0;
    if (type == IMAGE_DESC_RECORD_TYPE) return DGifGetImageDesc(g.gif) == GIF_ERROR ? -1 : 1;
    if (type == EXTENSION_RECORD_TYPE && !ReadExtension(g)) return -1;
  }
}

// giflib keeps a description of every frame, which nobody here reads: it goes at once.
void ForgetFrame(GifFileType* gif) {
  for (int i = 0; i < gif->ImageCount; ++i) {
    GifFreeMapObject(gif->SavedImages[i].ImageDesc.ColorMap);
  }
  std::free(gif->SavedImages);
  gif->SavedImages = nullptr;
  gif->ImageCount = 0;
}

bool SkipPixels(GifFileType* gif) {
  int size = 0;
  GifByteType* block = nullptr;
  if (DGifGetCode(gif, &size, &block) == GIF_ERROR) return false;
  while (block != nullptr) {
    if (DGifGetCodeNext(gif, &block) == GIF_ERROR) return false;
  }
  return true;
}

// Counts up to `most` whole frames; the picture is as large as the largest of them.
int Measure(Gif& g, int64_t most, ThalwegPictureSize& size, char* why) {
  if (!Open(g, why)) return kThalwegBadFile;
  size = {0, 0, 0, 3};
  int next = 1;
  while (size.frames < most && (next = NextFrame(g)) == 1) {
    const GifImageDesc frame = g.gif->Image;
    ForgetFrame(g.gif);
    if (!SkipPixels(g.gif)) {
      next = -1;
      break;
    }
    size.rows = std::max<int64_t>(size.rows, frame.Height);
    size.columns = std::max<int64_t>(size.columns, frame.Width);
    ++size.frames;
  }
  if (size.frames == 0) {
    if (next == 0) {
      std::snprintf(why, THALWEG_WHY_BYTES, "gif file does not contain any image");
    } else {
      Say(why, "failed to slurp gif file", g.gif->Error, g);
    }
    return kThalwegBadFile;
  }
  if (size.rows * size.columns >= thalweg::kMostPixels || size.rows * size.columns == 0) {
    std::snprintf(
        why, THALWEG_WHY_BYTES,
        "the file claims %lld rows of %lld pixels: there must be some, and less than %lld",
        static_cast<long long>(size.rows), static_cast<long long>(size.columns),
        static_cast<long long>(thalweg::kMostPixels));
    return kThalwegBadFile;
  }
  return kThalwegDone;
}

// One line of a frame onto the picture, where it lies within.
bool PaintLine(const Gif& g, const GifImageDesc& frame, const ColorMapObject* colors,
               const ThalwegPictureSize& size, uint8_t* row) {
  const int64_t end = std::min<int64_t>(frame.Width, size.columns - frame.Left);
  for (int64_t x = 0; x < end; ++x) {
    const int color = g.line[x];
    if (color == g.transparent) continue;
    if (color >= colors->ColorCount) return false;
    const GifColorType& c = colors->Colors[color];
    uint8_t* const to = row + 3 * (frame.Left + x);
    to[0] = c.Red;
    to[1] = c.Green;
    to[2] = c.Blue;
  }
  return true;
}

// Frame upon what was there before. Its lines come in up to four passes.
bool PaintFrame(Gif& g, const ThalwegPictureSize& size, uint8_t* pixels) {
  const GifImageDesc frame = g.gif->Image;
  const ColorMapObject* const colors =
      frame.ColorMap != nullptr ? frame.ColorMap : g.gif->SColorMap;
  if (colors == nullptr) return false;
  constexpr int kFirst[] = {0, 4, 2, 1}, kStep[] = {8, 8, 4, 2};
  for (int pass = 0; pass < (frame.Interlace ? 4 : 1); ++pass) {
    const int step = frame.Interlace ? kStep[pass] : 1;
    for (int y = frame.Interlace ? kFirst[pass] : 0; y < frame.Height; y += step) {
      if (DGifGetLine(g.gif, g.line, frame.Width) == GIF_ERROR) return false;
      const int64_t at = frame.Top + y;
      if (at < size.rows && !PaintLine(g, frame, colors, size, pixels + at * size.columns * 3)) {
        return false;
      }
    }
  }
  return true;
}

// The number of frames that were whole.
int64_t Paint(Gif& g, const ThalwegPictureSize& size, const ThalwegHost* host, uint8_t* pixels,
              char* why) {
  if (!Open(g, why)) return 0;
  const int64_t bytes = size.rows * size.columns * 3;
  for (int64_t k = 0; k < size.frames; ++k) {
    if (host->cancelled(host->self) != 0) return -1;
    uint8_t* const to = pixels + k * bytes;
    if (k == 0) {
      std::memset(to, 0, static_cast<size_t>(bytes));
    } else {
      std::memcpy(to, to - bytes, static_cast<size_t>(bytes));
    }
    if (NextFrame(g) != 1 || !PaintFrame(g, size, to)) {
      Say(why, "failed to slurp gif file", g.gif->Error, g);
      return k;
    }
    ForgetFrame(g.gif);
  }
  return size.frames;
}

int Decode(Gif& g, int64_t most, const ThalwegHost* host, char* why) {
  for (;;) {
    ThalwegPictureSize size;
    const int code = Measure(g, most, size, why);
    Close(g);
    if (code != kThalwegDone) return code;
    auto* const pixels = static_cast<uint8_t*>(host->room(host->self, &size));
    if (pixels == nullptr) return kThalwegEnded;
    const int64_t whole = Paint(g, size, host, pixels, why);
    Close(g);
    if (whole < 0) return kThalwegEnded;
    if (whole == size.frames) return kThalwegDone;
    if (whole == 0) return kThalwegBadFile;
    most = whole;  // again, without the damaged frame and what follows
  }
}

}  // namespace

int ThalwegReadGif(const ThalwegFile* file, int first_only, const ThalwegHost* host, char* why) {
  auto* const g = static_cast<Gif*>(std::calloc(1, sizeof(Gif)));
  if (g == nullptr) return kThalwegEnded;
  g->file = file;
  const int code = Decode(*g, first_only != 0 ? 1 : INT64_MAX, host, why);
  Close(*g);
  std::free(g);
  return code;
}
