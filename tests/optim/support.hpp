// Training runs over awkward lists of spans, for the optimizer tests.
#pragma once

#include <mezzo/loss_scale/dynamic.hpp>
#include <mezzo/optim/adamw.hpp>
#include <mezzo/optim/master_optimizer.hpp>
#include <mezzo/optim/sgd.hpp>

#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "support/executors.hpp"

namespace optim_test {

using mezzo::test::Buffer;

/// A number in (-1, 1) that follows from `i` and `salt` alone, with 20 bits.
inline float noise(std::uint64_t i, std::uint64_t salt) {
  std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL ^ (salt + 1) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return static_cast<float>(static_cast<int>(x >> 43) - (1 << 20)) / static_cast<float>(1 << 20);
}

/// One parameter: its length, how far it is off alignment, and which of its spans are float32.
struct Shape {
  std::size_t size;
  std::size_t offset = 0;
  bool wide_model = false;
  bool wide_gradient = false;
  std::uint32_t group = 0;
};

/// Lengths around vectors, warps and nothing; low and float32 models and gradients mixed.
inline std::vector<Shape> awkward() {
  std::vector<Shape> shapes;
  for (const std::size_t size : {1U, 0U, 3U, 7U, 8U, 9U, 16U, 17U, 31U, 33U, 65U, 0U, 129U, 513U, 5U, 0U}) {
    const std::size_t i = shapes.size();
    shapes.push_back({size, i * 3 % 8, i % 4 == 3, i % 3 == 1, 0});
  }
  return shapes;
}

inline std::size_t elements(const std::vector<Shape>& shapes) {
  std::size_t count = 0;
  for (const Shape& shape : shapes) count += shape.size;
  return count;
}

template <mezzo::Element T, class E>
std::vector<T> download(const E& executor, mezzo::Span<T> span) {
  std::vector<T> values(span.size());
  if (!values.empty()) executor.copy(values.data(), span.data(), values.size() * sizeof(T));
  executor.wait();
  return values;
}

/// A model of the given shapes with its optimizer. Element i of the model, counted over all spans, starts at `noise(i, 0)`.
template <class E, mezzo::UpdateRule Rule, mezzo::Element Low, class Storage = mezzo::Float32Master, mezzo::Element Moment = float>
class Training {
 public:
  using Optimizer = mezzo::MasterOptimizer<Rule, Low, Storage, Moment>;
  using Options = typename Rule::Options;
  static constexpr bool keeps_master = Storage::keeps_master;

  Training(const E& executor, const std::vector<Shape>& shapes, const Options& options) : Training(executor, shapes, options, options) {}
  Training(const E& executor, std::vector<Shape> shapes, const Options& first_group, const Options& second_group)
      : executor_(executor), shapes_(std::move(shapes)), optimizer_(executor, make_parameters(), {first_group, second_group}) {}

  [[nodiscard]] Optimizer& optimizer() { return optimizer_; }
  [[nodiscard]] const std::vector<Shape>& shapes() const { return shapes_; }

  /// Gradient of element i becomes `value(i)` in the gradient's own type.
  void set_gradients(const std::function<float(std::size_t)>& value) {
    std::size_t at = 0, low = 0, wide = 0;
    for (const Shape& shape : shapes_) {
      if (is_wide_gradient(shape)) {
        fill<float>(wide_gradients_[wide++], at, value);
      } else {
        fill<Low>(low_gradients_[low++], at, value);
      }
      at += shape.size;
    }
  }

  /// The gradients as they stand in memory, widened.
  [[nodiscard]] std::vector<float> gradients() const {
    std::vector<float> all;
    std::size_t low = 0, wide = 0;
    for (const Shape& shape : shapes_) is_wide_gradient(shape) ? append(all, wide_gradients_[wide++].read()) : append(all, low_gradients_[low++].read());
    return all;
  }
  /// What the forward pass would read, widened.
  [[nodiscard]] std::vector<float> models() const {
    std::vector<float> all;
    std::size_t low = 0, wide = 0;
    for (const Shape& shape : shapes_) is_wide_model(shape) ? append(all, wide_models_[wide++].read()) : append(all, low_models_[low++].read());
    return all;
  }
  /// The float32 weights; the models themselves where there is no master.
  [[nodiscard]] std::vector<float> masters() const {
    if constexpr (!keeps_master) return models();
    std::vector<float> all;
    for (std::size_t i = 0; i < shapes_.size(); ++i) append(all, download(executor_, optimizer_.master(i)));
    return all;
  }
  [[nodiscard]] std::vector<float> moments(int which) const {
    std::vector<float> all;
    for (std::size_t i = 0; i < shapes_.size(); ++i) append(all, download(executor_, optimizer_.moment(i, which)));
    return all;
  }
  /// Everything a step may write, as bits.
  [[nodiscard]] std::vector<std::uint32_t> bits() const {
    std::vector<float> all = models();
    append(all, masters());
    for (int which = 0; which < Rule::moments; ++which) append(all, moments(which));
    return mezzo::test::bits_of(all);
  }
  /// Puts moments of another run in place.
  void load_moments(const Training& from) {
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      for (int which = 0; which < Rule::moments; ++which) {
        const auto values = download(executor_, from.optimizer_.moment(i, which));
        if (!values.empty()) executor_.copy(optimizer_.moment(i, which).data(), values.data(), values.size() * sizeof(Moment));
        executor_.wait();
      }
      if (!keeps_master) continue;
      const auto values = download(executor_, from.optimizer_.master(i));
      if (!values.empty()) executor_.copy(optimizer_.master(i).data(), values.data(), values.size() * sizeof(float));
      executor_.wait();
    }
    if (keeps_master) {
      optimizer_.copy_masters_to_model();
      return;
    }
    for (std::size_t i = 0; i < low_models_.size(); ++i) low_models_[i].write(from.low_models_[i].read());
    for (std::size_t i = 0; i < wide_models_.size(); ++i) wide_models_[i].write(from.wide_models_[i].read());
  }

  [[nodiscard]] static bool is_wide_model(const Shape& shape) { return shape.wide_model || std::is_same_v<Low, float>; }
  [[nodiscard]] static bool is_wide_gradient(const Shape& shape) { return shape.wide_gradient || std::is_same_v<Low, float>; }

 private:
  template <class T>
  static void append(std::vector<float>& all, const std::vector<T>& values) {
    for (const T value : values) all.push_back(mezzo::convert<float>(value));
  }
  template <class T>
  void fill(Buffer<T>& buffer, std::size_t at, const std::function<float(std::size_t)>& value) {
    std::vector<T> values;
    for (std::size_t i = 0; i < buffer.size(); ++i) values.push_back(mezzo::convert<T>(value(at + i)));
    buffer.write(values);
  }
  template <class T>
  mezzo::ParameterSpan<Low> model(std::deque<Buffer<T>>& buffers, const Shape& shape, std::size_t at) {
    std::vector<T> values;
    for (std::size_t i = 0; i < shape.size; ++i) values.push_back(mezzo::convert<T>(noise(at + i, 0)));
    return buffers.emplace_back(executor_, values, shape.offset).span();
  }
  std::vector<mezzo::BasicParameter<Low>> make_parameters() {
    std::vector<mezzo::BasicParameter<Low>> parameters;
    std::size_t at = 0;
    for (const Shape& shape : shapes_) {
      mezzo::BasicParameter<Low> parameter{.group = shape.group};
      parameter.model = is_wide_model(shape) ? model(wide_models_, shape, at) : model(low_models_, shape, at);
      const std::size_t offset = (shape.offset + at) % 8;
      if (is_wide_gradient(shape)) {
        parameter.gradient = wide_gradients_.emplace_back(executor_, std::vector<float>(shape.size), offset).span();
      } else {
        parameter.gradient = low_gradients_.emplace_back(executor_, std::vector<Low>(shape.size), offset).span();
      }
      parameters.push_back(parameter);
      at += shape.size;
    }
    return parameters;
  }

  E executor_;
  std::vector<Shape> shapes_;
  std::deque<Buffer<Low>> low_models_, low_gradients_;
  std::deque<Buffer<float>> wide_models_, wide_gradients_;
  Optimizer optimizer_;
};

}  // namespace optim_test
