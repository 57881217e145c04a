#pragma once
// A parameter of a model as an optimizer sees it: the model's values and their gradient, in the user's memory.

#include <concepts>
#include <string_view>

#include <mezzo/core/span.hpp>
#include <mezzo/numeric/traits.hpp>

namespace mezzo {

/// Elements of the model's low type or of float, the type kept as a value. Made from any contiguous range of either, or from a
/// pointer and a size.
template <Element Low>
class ParameterSpan {
 public:
  ParameterSpan() noexcept = default;  // said aloud: g++ 12 fails where it must work it out in a class of the user's
  template <class Range>
    requires(!std::same_as<std::remove_cvref_t<Range>, ParameterSpan> && ContiguousRange<std::remove_reference_t<Range>>)
  ParameterSpan(Range&& range) {  // NOLINT: implicit on purpose, so that a parameter is written {weights, gradients}
    using T = detail::range_element_t<Range>;
    static_assert(!std::is_const_v<T>,
                  "Parameter: model and gradient must be writable; a range of const elements cannot be updated or zeroed "
                  "(optim/parameter.hpp).");
    static_assert(std::is_same_v<T, Low> || std::is_same_v<T, float>,
                  "Parameter: elements must be of the optimizer's low type or float. Name the model's type as the low type, "
                  "MasterOptimizer<Rule, Low>, or keep this parameter in float (optim/parameter.hpp).");
    static_assert(std::is_lvalue_reference_v<Range> || !detail::owns_elements<std::remove_cvref_t<Range>>,
                  "Parameter: a temporary container is gone before the first step. Pass a container that outlives the optimizer, or "
                  "a span of its elements (optim/parameter.hpp).");
    const auto elements = as_span(range);
    data_ = elements.data();
    size_ = elements.size();
    type_ = element_type_of<std::remove_const_t<T>>;
  }

  /// `{pointer, size}`.
  template <class T, std::integral Size>
  ParameterSpan(T* data, Size size) : ParameterSpan(Span<T>(data, static_cast<std::size_t>(size))) {}

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] ElementType type() const noexcept { return type_; }

  /// The elements as `T`, which must be their type.
  template <Element T>
  [[nodiscard]] Span<T> as() const noexcept {
    return type_ == element_type_of<T> ? Span<T>(static_cast<T*>(data_), size_) : Span<T>();
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
  ElementType type_ = element_type_of<Low>;
};

/// One parameter: `{weights, gradients}`, or with named fields `{.model = w, .gradient = g, .name = "conv1"}`.
///
/// All spans have the same length (0 is allowed) and stay the user's; they must outlive the optimizer.
template <Element Low>
struct BasicParameter {
  ParameterSpan<Low> model = {};     ///< [n] of the low type or float: what the forward pass reads; written by every step
  ParameterSpan<Low> gradient = {};  ///< [n] of the low type or float: what the backward pass fills
  ParameterSpan<float> master = {};  ///< [n] the user's float32 weights, read as they are; empty: the optimizer keeps its own
  std::string_view name = {};        ///< for messages and reports; the optimizer keeps a copy
  std::uint32_t group = 0;      ///< index into the optimizer's list of options
};

}  // namespace mezzo
