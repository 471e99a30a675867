#include <webp/decode.h>
#include <webp/demux.h>

#include <cstring>
#include <memory>

#include "vernier/data/decode.h"
#include "vernier/error.h"

namespace vernier {
namespace {

struct DeleteDecoder {
  void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
};

int orientation_of(const WebPAnimDecoder* decoder) {
  WebPChunkIterator chunk{};
  int orientation = 1;
  if (WebPDemuxGetChunk(WebPAnimDecoderGetDemuxer(decoder), "EXIF", 1, &chunk))
    orientation =
        exif_orientation(std::as_bytes(std::span(chunk.chunk.bytes, chunk.chunk.size))).value_or(1);
  WebPDemuxReleaseChunkIterator(&chunk);
  return orientation;
}

}  // namespace

Decoded decode_webp(std::span<const std::byte> bytes) {
  const WebPData data{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  WebPBitstreamFeatures features{};
  if (WebPGetFeatures(data.bytes, data.size, &features) != VP8_STATUS_OK)
    throw Error("bad or truncated WebP");
  Decoded decoded{make_claimed_image(features.width, features.height, 3)};

  // The animation decoder also reads still images, and pads a frame smaller than the canvas.
  const std::unique_ptr<WebPAnimDecoder, DeleteDecoder> decoder(WebPAnimDecoderNew(&data, nullptr));
  std::uint8_t* rgba = nullptr;
  int timestamp = 0;
  if (!decoder || !WebPAnimDecoderGetNext(decoder.get(), &rgba, &timestamp))
    throw Error("bad or truncated WebP");
  std::vector<std::uint8_t>& pixels = decoded.image.pixels;
  for (std::size_t i = 0; i < pixels.size(); i += 3, rgba += 4) std::memcpy(&pixels[i], rgba, 3);
  decoded.orientation = orientation_of(decoder.get());
  return decoded;
}

}  // namespace vernier
