#pragma once
// A gradient read as if it were unscaled.

#include <mezzo/numeric/convert.hpp>

namespace mezzo {

/// Reads a gradient divided by the loss scale: `view[i]` is what the update rule will see before clipping.
///
/// A plain value for host code (host executor) or device code; valid from the optimizer's check (`unscale`, `clip_grad_norm`
/// or `step`) until the gradient is overwritten.
template <Element Low>
class GradientView {
 public:
  GradientView() = default;
  MEZZO_HOST_DEVICE GradientView(const void* data, stdlib::uint64_t size, ElementType type, const float* inverse)
      : data_(data), size_(size), inverse_(inverse), type_(type) {}

  [[nodiscard]] MEZZO_HOST_DEVICE stdlib::uint64_t size() const { return size_; }
  [[nodiscard]] MEZZO_HOST_DEVICE float operator[](stdlib::uint64_t i) const {
    const float value = type_ == ElementType::f32 ? static_cast<const float*>(data_)[i] : convert<float>(static_cast<const Low*>(data_)[i]);
    return exact::mul(value, *inverse_);
  }

 private:
  const void* data_ = nullptr;
  stdlib::uint64_t size_ = 0;
  const float* inverse_ = nullptr;
  ElementType type_ = element_type_of<Low>;
};

}  // namespace mezzo
