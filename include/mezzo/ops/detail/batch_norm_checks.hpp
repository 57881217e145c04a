#pragma once
// Checks that the batch norms share.

#include <cstddef>

#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/named_spans.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/policy/op/pass_through.hpp>

namespace mezzo::detail {

inline void check_options(const OpSite& site, const BatchNormOptions& options) {
  require(options.epsilon > 0, site.where, site.op, "epsilon must be positive", options.epsilon);
  require(options.momentum >= 0 && options.momentum <= 1, site.where, site.op, "momentum must be in [0, 1]", options.momentum);
}

inline std::size_t channels_of(const ImageShape& shape) { return static_cast<std::size_t>(shape.channels); }

template <class T>
void check_channels(const OpSite& site, const ImageShape& shape, const BatchNormWeights<T>& weights) {
  check_size(site, "gamma", weights.gamma, channels_of(shape));
  check_size(site, "beta", weights.beta, channels_of(shape));
}

template <class T>
void check_channels(const OpSite& site, const ImageShape& shape, const BatchNormRunning<T>& running) {
  check_size(site, "running.mean", running.mean, channels_of(shape));
  check_size(site, "running.variance", running.variance, channels_of(shape));
}

/// Whether the forward pass keeps running statistics.
template <class T>
bool is_kept(const BatchNormRunning<T>& running) {
  return running.mean.size() != 0 || running.variance.size() != 0;
}

template <class T>
void check_channels(const OpSite& site, const ImageShape& shape, const BatchNormSaved<T>& saved) {
  check_size(site, "saved.mean", saved.mean, channels_of(shape));
  check_size(site, "saved.inv_std", saved.inv_std, channels_of(shape));
}

template <class T>
void check_channels(const OpSite& site, const ImageShape& shape, const BatchNormGradients<T>& gradients) {
  check_size(site, "gradients.gamma", gradients.gamma, channels_of(shape));
  check_size(site, "gradients.beta", gradients.beta, channels_of(shape));
}

/// An operand that is data, with the name that messages give it.
template <class T>
struct Named {
  const char* name;
  Span<T> span;
  bool may_be_empty = false;
};
template <class T>
Named(const char*, Span<T>) -> Named<T>;
template <class T>
Named(const char*, Span<T>, bool) -> Named<T>;

template <class Out, class In>
void check_apart(const OpSite& site, const Named<Out>& out, const Named<In>& in) {
  check_apart(site, out.name, out.span, in.name, in.span);
}
template <class Out, class In>
void check_apart_or_same(const OpSite& site, const Named<Out>& out, const Named<In>& in) {
  check_apart_or_same(site, out.name, out.span, in.name, in.span);
}

/// What a forward pass writes must not overlap what it reads, `y` over the data aside, which each op decides for itself.
template <class T, class Y, class... Data>
void check_forward_apart(const OpSite& site, const Named<Y>& y, const BatchNormWeights<T>& weights,
                         const BatchNormRunning<T>& running, const BatchNormSaved<T>& saved, const Named<Data>&... data) {
  const Extent outputs[] = {Extent("running.mean", running.mean), Extent("running.variance", running.variance),
                            Extent("saved.mean", saved.mean), Extent("saved.inv_std", saved.inv_std)};
  const Extent inputs[] = {Extent("gamma", weights.gamma), Extent("beta", weights.beta), Extent(y.name, y.span),
                           Extent(data.name, data.span)...};
  check_all_apart(site, outputs, inputs);
  check_apart(site, Extent(y.name, y.span), Extent("gamma", weights.gamma));
  check_apart(site, Extent(y.name, y.span), Extent("beta", weights.beta));
}

template <class T, class Y>
void check_inference_apart(const OpSite& site, const Named<Y>& y, const BatchNormWeights<T>& weights,
                           const BatchNormRunning<const T>& running) {
  const Extent outputs[] = {Extent(y.name, y.span)};
  const Extent inputs[] = {Extent("gamma", weights.gamma), Extent("beta", weights.beta), Extent("running.mean", running.mean),
                           Extent("running.variance", running.variance)};
  check_all_apart(site, outputs, inputs);
}

/// The same for a backward pass, `dx` over the data aside.
template <class T, class DX, class... Data>
void check_backward_apart(const OpSite& site, const Named<DX>& dx, const BatchNormGradients<T>& gradients,
                          const BatchNormWeights<T>& weights, const BatchNormSaved<const T>& saved, const Named<Data>&... data) {
  const Extent outputs[] = {Extent(dx.name, dx.span), Extent("gradients.gamma", gradients.gamma),
                            Extent("gradients.beta", gradients.beta)};
  const Extent inputs[] = {Extent("gamma", weights.gamma), Extent("beta", weights.beta), Extent("saved.mean", saved.mean),
                           Extent("saved.inv_std", saved.inv_std)};
  check_all_apart(site, outputs, inputs);
  const Extent read[] = {Extent(dx.name, dx.span), Extent(data.name, data.span)...};
  for (const Extent& each : read) {
    check_apart(site, outputs[1], each);
    check_apart(site, outputs[2], each);
  }
}

/// Checks the data of a batch norm that other ops join: all of one type, the policy's, and of the shape's size; gives its elements.
template <class Policy, class T, class... Others>
std::size_t check_norm_relu(const OpSite& site, const ImageShape& shape, const Named<T>& x, const Named<Others>&... others) {
  using TX = std::remove_const_t<T>;
  static_assert((OpElement<TX> && ... && OpElement<std::remove_const_t<Others>>),
                "batch_norm_relu: operands must hold element types (float16, bfloat16, float, double). Convert integers and "
                "8-bit data first.");
  static_assert(
      reads_as_is<Policy, op::batch_norm, TX, accumulation_t<TX>> && reads_as_is<Policy, op::relu, TX> &&
          (std::is_same_v<std::remove_const_t<Others>, TX> && ...),
      "batch_norm_relu: x, y, the shortcut and the gradients must have one element type, the one that the policy reads "
      "(argument_type_t<Policy, op::batch_norm, X, float>). Statistics, gamma and beta are float whatever the data is.");
  const std::size_t count = check_shape(site, shape);
  const auto check = [&](const auto& operand) {
    if (!operand.may_be_empty || operand.span.size() != 0) check_size(site, operand.name, operand.span, count);
  };
  check(x), (check(others), ...);
  return count;
}

}  // namespace mezzo::detail
