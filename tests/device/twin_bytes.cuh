#pragma once
// Memory that exists twice: what the host executor does to one copy the device must do to the other.

#include <utility>

#include "device/device.cuh"

namespace mezzo::test {

/// Bytes with the same layout on host and device, so that spans at one offset have one alignment on both.
class TwinBytes {
 public:
  explicit TwinBytes(std::size_t bytes) : host_((bytes + sizeof(Line) - 1) / sizeof(Line)), device_(host_.size()) {
    std::memset(host_.data(), 0xa5, host_.size() * sizeof(Line));
  }
  [[nodiscard]] std::byte* host() noexcept { return reinterpret_cast<std::byte*>(host_.data()); }
  [[nodiscard]] std::byte* device() const noexcept { return reinterpret_cast<std::byte*>(device_.data()); }
  void upload() const { device_.write(host_); }
  /// Whether every byte agrees: spans, and what lies between them. Not compared are `ignored` ranges, offset and length.
  [[nodiscard]] bool same(const std::vector<std::pair<std::size_t, std::size_t>>& ignored = {}) const {
    std::vector<Line> on_host = host_, on_device = device_.read();
    for (const auto& [at, size] : ignored) {
      for (std::vector<Line>* lines : {&on_host, &on_device}) std::memset(reinterpret_cast<std::byte*>(lines->data()) + at, 0, size);
    }
    return same_bytes(on_host, on_device);
  }

 private:
  struct alignas(256) Line {
    std::byte bytes[256];
  };
  std::vector<Line> host_;
  DeviceArray<Line> device_;
};

}  // namespace mezzo::test
