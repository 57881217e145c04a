#pragma once
// The network: its layers, their memory, and the forward and the backward pass written out.
//
// A stem convolution, stages of basic blocks, a global mean and a linear classifier. The shortcut of a block that changes
// the shape is a 1 x 1 convolution with batch norm.
// Source: He, Zhang, Ren, Sun, Deep Residual Learning for Image Recognition, 2016.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <mezzo/core/nvtx.hpp>
#include <mezzo/executor/host.hpp>
#include <mezzo/numeric/traits.hpp>
#include <mezzo/ops/batch_norm_relu.hpp>
#include <mezzo/ops/float32_math.hpp>
#include <mezzo/ops/ops.hpp>
#include <mezzo/optim/parameter.hpp>
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/policy.hpp>

#include "dataset.hpp"
#include "memory.hpp"
#include "random.hpp"

namespace cifar10 {

using mezzo::Accumulate;
using mezzo::Span;
namespace op = mezzo::op;

/// Channels and number of blocks of each stage; all but the first stage halve height and width.
struct Architecture {
  std::vector<std::int64_t> channels, blocks;
};

/// @param depth 8 or 20, the paper's networks for CIFAR-10; 18, its ImageNet network with a 3 x 3 stem.
inline Architecture architecture(int depth) {
  if (depth == 18) return {{64, 128, 256, 512}, {2, 2, 2, 2}};
  const std::int64_t blocks = (depth - 2) / 6;
  return {{16, 32, 64}, {blocks, blocks, blocks}};
}

/// Does nothing with the gradients that ResNet::backward shows it.
struct Unobserved {
  template <class T>
  void operator()(Span<T>) const {}
};

/// "conv2d float16" on the profiler's time line as long as the result lives: the op, and the type it reads.
///
/// @tparam Direction distinguishes the passes of an op: "conv2d weight gradient float16".
enum class Pass { forward, backward, data_gradient, weight_gradient };
template <class Op, class T, Pass Direction = Pass::forward>
mezzo::NvtxRange profiled() {
  static constexpr const char* passes[] = {" ", " backward ", " data gradient ", " weight gradient "};
  static const std::string name = std::string(Op::name) + passes[static_cast<int>(Direction)] + mezzo::element_traits<T>::name;
  return mezzo::NvtxRange(name.c_str());
}

/// The type of weights and activations under a policy: float16 under Autocast<float16>, `Wide` when autocast is off.
template <class Policy, class Wide = float>
using low_t = mezzo::argument_type_t<Policy, op::conv2d, Wide>;

/// A residual network and all its memory, for one batch size.
///
/// @tparam Gradient of the weights: the low type, or Wide, in which several backward passes add up without loss.
/// @tparam Wide     of batch norm's parameters, bias and loss: float; double for checking gradients.
template <class Policy, mezzo::Executor Where = mezzo::HostExecutor, class Gradient = low_t<Policy>, class Wide = float>
class ResNet {
 public:
  using Low = low_t<Policy, Wide>;
  using Parameter = mezzo::BasicParameter<Low>;

  /// @param storage        owns and counts the memory; must outlive the network.
  /// @param image_channels what an image has in memory, at least 3; those from the fourth on must be zeros. 8 make 16-bit
  ///                       pixels that tensor cores can load.
  /// @param math           of float32 products. @throws mezzo::OutOfMemory
  ResNet(const Where& executor, Storage& storage, const Architecture& shape, std::size_t batch,
         std::int64_t image_channels = channels, mezzo::Float32Math math = mezzo::Float32Math::ieee)
      : storage_(storage), batch_(static_cast<std::int64_t>(batch)), image_channels_(image_channels), workspace_(executor, 0) {
    images_ = storage.take<Low>(Use::activations, batch * side * side * static_cast<std::size_t>(image_channels));
    labels_ = storage.take<std::int32_t>(Use::activations, batch);

    std::int64_t height = side, in = image_channels;
    stem_ = add_convolution("stem", height, in, shape.channels[0], 3, 1, channels);
    stem_out_ = storage.take<Low>(Use::activations, stem_.convolved.size());
    in = shape.channels[0];
    for (std::size_t stage = 0; stage < shape.channels.size(); ++stage)
      for (std::int64_t i = 0; i < shape.blocks[stage]; ++i) {
        const std::string name = "stage" + std::to_string(stage + 1) + ".block" + std::to_string(i + 1);
        const std::int64_t out = shape.channels[stage], stride = stage > 0 && i == 0 ? 2 : 1;
        Block& block = blocks_.emplace_back();
        block.first = add_convolution(name + ".first", height, in, out, 3, stride);
        block.second = add_convolution(name + ".second", height / stride, out, out, 3, 1);
        if (stride != 1 || in != out) block.shortcut = add_convolution(name + ".shortcut", height, in, out, 1, stride);
        block.middle = storage.take<Low>(Use::activations, block.first.convolved.size());
        block.out = storage.take<Low>(Use::activations, block.second.convolved.size());
        height /= stride;
        in = out;
      }

    last_ = {.batch = batch_, .height = height, .width = height, .channels = in};
    classifier_ = {.batch = batch_, .in_features = in, .out_features = classes};
    const auto features = static_cast<std::size_t>(in);
    pooled_ = storage.take<Low>(Use::activations, batch * features);
    logits_ = storage.take<Low>(Use::activations, batch * classes);
    loss_ = storage.take<Wide>(Use::activations, 1);
    correct_ = storage.take<std::int32_t>(Use::activations, 1);
    weight_ = add_weights("classifier.weight", classes * features, 1.f / std::sqrt(static_cast<float>(features)));
    bias_ = add_wide("classifier.bias", classes, 0.f);

    logits_gradient_ = storage.take<Low>(Use::activation_gradients, logits_.size());
    pooled_gradient_ = storage.take<Low>(Use::activation_gradients, pooled_.size());
    std::size_t largest = stem_out_.size();
    for (const Block& block : blocks_) largest = std::max({largest, block.middle.size(), block.out.size()});
    for (auto& buffer : buffers_) buffer = storage.take<Low>(Use::activation_gradients, largest);

    workspace_ = mezzo::Workspace<Where>(executor, storage.take<std::byte>(Use::workspace, workspace_bytes(executor)));
    mezzo::set_float32_math(workspace_, math);
    prepare();
  }
  ResNet(const ResNet&) = delete;   // two networks would share one memory
  ResNet& operator=(const ResNet&) = delete;

  Span<Low> images() const { return images_; }             // [N, 32, 32, image_channels]
  Span<std::int32_t> labels() const { return labels_; }    // [N]
  Span<Low> logits() const { return logits_; }             // [N, 10]
  Span<Wide> loss() const { return loss_; }                // [1] of the passes since the last that did not accumulate
  Span<std::int32_t> correct() const { return correct_; }  // [1] images whose largest logit is the label's
  std::int64_t batch() const { return batch_; }

  /// Convolutions and the classifier's weights are in group 0; batch norm and bias, which do not decay, in group 1.
  const std::vector<Parameter>& parameters() const { return parameters_; }

  /// First values of parameter i: weights uniform in +-bound (He et al., 2015), the others constant. The same for any number
  /// of image_channels: weights of those beyond the third are zero, and stay so.
  std::vector<Wide> initial_values(std::size_t i, std::uint64_t seed) const {
    const auto& [constant, bound] = initial_[i];
    std::vector<Wide> values(parameters_[i].model.size(), constant);
    if (bound == 0.f) return values;
    const auto stored = static_cast<std::size_t>(i == 0 ? image_channels_ : 1), used = i == 0 ? channels : 1;
    for (std::size_t j = 0; j < values.size(); ++j) {
      const std::size_t channel = j % stored, draw = j / stored * used + channel;
      values[j] = channel < used ? bound * symmetric(random_bits(seed, Purpose::weights, i, draw)) : 0.f;
    }
    return values;
  }

  /// Logits of the images. Training normalises with the batch's own statistics and keeps what `backward` needs.
  void forward(bool training) {
    convolve(stem_, images_);                                                // [N, 32, 32, C]
    normalise_relu(stem_, stem_out_, training);
    Span<Low> x = stem_out_;
    for (const Block& block : blocks_) {
      Span<const Low> shortcut = x;                                          // [N, h, w, c]
      if (block.shortcut) {
        const Span<Low> projected = buffers_[0].first(block.out.size());     // free until backward
        convolve(*block.shortcut, x);
        normalise(*block.shortcut, projected, training);
        shortcut = projected;
      }
      convolve(block.first, x);
      normalise_relu(block.first, block.middle, training);
      convolve(block.second, block.middle);
      normalise_add_relu(block.second, shortcut, block.out, training);
      x = block.out;
    }
    {
      const auto range = profiled<op::adaptive_avg_pool2d, Low>();
      mezzo::global_avg_pool2d<Policy>(workspace_, last_, x, pooled_);       // [N, C]
    }
    const auto range = profiled<op::linear, Low>();
    mezzo::linear<Policy>(workspace_, classifier_, pooled_, weight_.model, bias_.model, logits_);   // [N, 10]
  }

  /// The mean loss, and its gradient by the logits times `scale`.
  ///
  /// @param scale     a scaler's device_view(), or a number
  /// @param mean_over images that the mean is taken over: those of all passes whose gradients add up
  template <class Scale>
  void compute_loss(const Scale& scale, std::int64_t mean_over, Accumulate accumulate = Accumulate::no) {
    const auto range = profiled<op::cross_entropy, Low>();
    mezzo::softmax_cross_entropy<Policy>(workspace_, {.batch = batch_, .classes = classes, .mean_over = mean_over}, logits_,
                                         labels_, scale, {loss_, correct_}, logits_gradient_, accumulate);
  }

  /// Mean loss and right answers of the first `n` images of the batch, without a gradient.
  void evaluate(std::size_t n, Accumulate accumulate) {
    mezzo::cross_entropy<Policy>(workspace_, {.batch = static_cast<std::int64_t>(n), .classes = classes},
                                 logits_.first(n * classes), labels_.first(n), {loss_, correct_}, accumulate);
  }

  /// From the logits' gradient to the gradient of every parameter.
  ///
  /// @param accumulate yes: added to the parameters' gradients of the passes before
  /// @param observe    called with the gradient by the logits, by the pooled features, by the weights of the classifier and of
  ///                   every convolution, by every convolution's result, by every ReLU's result in a block, and with the
  ///                   summand of the gradient by a block's input that its first convolution gives, each as soon as it is
  ///                   complete. Not with those of bias, gamma and beta, nor with what a shortcut adds to a block's input.
  template <class Observer = Unobserved>
  void backward(Accumulate accumulate = Accumulate::no, const Observer& observe = {}) {
    {
      const auto range = profiled<op::linear, Low, Pass::backward>();
      mezzo::linear_weight_gradient<Policy>(workspace_, classifier_, pooled_, logits_gradient_, weight_.gradient, accumulate);
      mezzo::linear_bias_gradient<Policy>(workspace_, classifier_, logits_gradient_, bias_.gradient, accumulate);
      mezzo::linear_data_gradient<Policy>(workspace_, classifier_, logits_gradient_, weight_.model, pooled_gradient_);
    }
    observe(logits_gradient_), observe(weight_.gradient), observe(pooled_gradient_);

    // Three buffers. Into a block comes the gradient by its output, in two summands, since the output goes two ways: what came
    // back through the next block's convolutions is in `incoming`, what came past them in `shortcut`; the last block has the
    // first alone. Out go the two summands for the block before. Each block turns the buffers by one.
    Span<Low> incoming = buffers_[0], scratch = buffers_[1], shortcut = buffers_[2];
    {
      const auto range = profiled<op::adaptive_avg_pool2d, Low, Pass::backward>();
      mezzo::global_avg_pool2d_backward<Policy>(workspace_, last_, pooled_gradient_, incoming.first(blocks_.back().out.size()));
    }
    for (std::size_t i = blocks_.size(); i-- > 0;) {
      const Block& block = blocks_[i];
      const Span<Low> x = i > 0 ? blocks_[i - 1].out : stem_out_;            // [N, h, w, c]
      const std::size_t outputs = block.out.size();

      // Back through the last ReLU: `dy` becomes the gradient by its argument, and so by each of the two that were added there.
      const Span<Low> dy = incoming.first(outputs);
      const Span<const Low> other = i + 1 < blocks_.size() ? shortcut.first(outputs) : Span<Low>{};
      const Span<Low> second = scratch.first(outputs);                       // by what block.second convolved
      {
        const auto range = profiled<op::batch_norm, Low, Pass::backward>();
        mezzo::batch_norm_add_relu_backward<Policy>(workspace_, block.second.out_shape, block.second.convolved, block.out, dy,
                                                    other, block.second.parameters(), block.second.saved(), second, dy,
                                                    block.second.gradients(), accumulate);
      }
      observe(dy);
      weight_gradient(block.second, block.middle, second, accumulate, observe);

      const Span<Low> middle = shortcut.first(block.middle.size());          // what came in there is used up
      data_gradient(block.second, second, middle);
      observe(middle);
      {
        const auto range = profiled<op::batch_norm, Low, Pass::backward>();
        mezzo::batch_norm_relu_backward<Policy>(workspace_, block.first.out_shape, block.first.convolved, block.middle, middle,
                                                block.first.parameters(), block.first.saved(), middle, block.first.gradients(),
                                                accumulate);
      }
      weight_gradient(block.first, x, middle, accumulate, observe);
      const Span<Low> dx = scratch.first(x.size());
      data_gradient(block.first, middle, dx);
      observe(dx);

      if (block.shortcut) {                                                  // else `dy` itself is the other summand
        const ConvolutionNorm& layer = *block.shortcut;
        const Span<Low> projected = shortcut.first(outputs);
        {
          const auto range = profiled<op::batch_norm, Low, Pass::backward>();
          mezzo::batch_norm_backward<Policy>(workspace_, layer.out_shape, layer.convolved, dy, layer.parameters(), layer.saved(),
                                             projected, layer.gradients(), accumulate);
        }
        weight_gradient(layer, x, projected, accumulate, observe);
        data_gradient(layer, projected, incoming.first(x.size()));
      }
      const Span<Low> used = shortcut;
      shortcut = incoming, incoming = scratch, scratch = used;
    }

    const Span<Low> dy = incoming.first(stem_out_.size());
    mezzo::add<Policy>(workspace_, dy, shortcut.first(dy.size()), dy);
    {
      const auto range = profiled<op::batch_norm, Low, Pass::backward>();
      mezzo::batch_norm_relu_backward<Policy>(workspace_, stem_.out_shape, stem_.convolved, stem_out_, dy, stem_.parameters(),
                                              stem_.saved(), dy, stem_.gradients(), accumulate);
    }
    weight_gradient(stem_, images_, dy, accumulate, observe);                // nobody needs the gradient by the images
  }

 private:
  template <class T, class G>
  struct Weights {
    Span<T> model;
    Span<G> gradient;
  };
  struct ConvolutionNorm {                                 // convolution and batch norm
    mezzo::Conv2dShape shape;
    mezzo::ImageShape out_shape;
    Weights<Low, Gradient> weight;                         // [out, kernel, kernel, in]
    Weights<Wide, Wide> gamma, beta;                       // [out] and all below
    Span<Wide> running_mean, running_variance, mean, inverse_deviation;
    Span<Low> convolved;                                   // [N, h, w, out] what batch norm reads, in both directions

    mezzo::BatchNormWeights<Wide> parameters() const { return {gamma.model, beta.model}; }
    mezzo::BatchNormSaved<Wide> to_save() const { return {mean, inverse_deviation}; }
    mezzo::BatchNormSaved<const Wide> saved() const { return {mean, inverse_deviation}; }
    mezzo::BatchNormGradients<Wide> gradients() const { return {gamma.gradient, beta.gradient}; }
    mezzo::BatchNormRunning<Wide> running() const { return {running_mean, running_variance}; }
  };
  struct Block {
    ConvolutionNorm first, second;
    std::optional<ConvolutionNorm> shortcut;
    Span<Low> middle, out;                                 // after the first ReLU, after the second
  };

  void convolve(const ConvolutionNorm& layer, Span<const Low> x) {
    const auto range = profiled<op::conv2d, Low>();
    mezzo::conv2d<Policy>(workspace_, layer.shape, x, layer.weight.model, layer.convolved);
  }
  void normalise(const ConvolutionNorm& layer, Span<Low> y, bool training) {
    const auto range = profiled<op::batch_norm, Low>();
    if (training)
      mezzo::batch_norm<Policy>(workspace_, layer.out_shape, layer.convolved, layer.parameters(), layer.running(), layer.to_save(), y);
    else
      mezzo::batch_norm_inference<Policy>(workspace_, layer.out_shape, layer.convolved, layer.parameters(),
                                          {layer.running_mean, layer.running_variance}, y);
  }
  void normalise_relu(const ConvolutionNorm& layer, Span<Low> y, bool training) {
    const auto range = profiled<op::batch_norm, Low>();
    if (training)
      mezzo::batch_norm_relu<Policy>(workspace_, layer.out_shape, layer.convolved, layer.parameters(), layer.running(),
                                     layer.to_save(), y);
    else
      mezzo::batch_norm_relu_inference<Policy>(workspace_, layer.out_shape, layer.convolved, layer.parameters(),
                                               {layer.running_mean, layer.running_variance}, y);
  }
  void normalise_add_relu(const ConvolutionNorm& layer, Span<const Low> shortcut, Span<Low> y, bool training) {
    const auto range = profiled<op::batch_norm, Low>();
    if (training)
      mezzo::batch_norm_add_relu<Policy>(workspace_, layer.out_shape, layer.convolved, shortcut, layer.parameters(),
                                         layer.running(), layer.to_save(), y);
    else
      mezzo::batch_norm_add_relu_inference<Policy>(workspace_, layer.out_shape, layer.convolved, shortcut, layer.parameters(),
                                                   {layer.running_mean, layer.running_variance}, y);
  }

  /// The weights' gradient of a convolution from `dy`, the complete gradient by its result; both are shown to `observe`.
  template <class Observer>
  void weight_gradient(const ConvolutionNorm& layer, Span<const Low> x, Span<Low> dy, Accumulate accumulate,
                       const Observer& observe) {
    const auto range = profiled<op::conv2d, Low, Pass::weight_gradient>();
    mezzo::conv2d_weight_gradient<Policy>(workspace_, layer.shape, x, dy, layer.weight.gradient, accumulate);
    observe(dy), observe(layer.weight.gradient);
  }
  void data_gradient(const ConvolutionNorm& layer, Span<const Low> dy, Span<Low> dx) {
    const auto range = profiled<op::conv2d, Low, Pass::data_gradient>();
    mezzo::conv2d_data_gradient<Policy>(workspace_, layer.shape, dy, layer.weight.model, dx);
  }

  // -- memory ----------------------------------------------------------------------------------------------------------
  ConvolutionNorm add_convolution(const std::string& name, std::int64_t height, std::int64_t in, std::int64_t out,
                                  std::int64_t kernel, std::int64_t stride, std::int64_t used_channels = 0) {
    ConvolutionNorm layer;
    layer.shape = {.batch = batch_, .height = height, .width = height, .in_channels = in, .out_channels = out,
                   .kernel = kernel, .stride = stride, .padding = kernel / 2};
    layer.out_shape = {.batch = batch_, .height = layer.shape.out_height(), .width = layer.shape.out_width(), .channels = out};
    const auto n = static_cast<std::size_t>(out), weights = static_cast<std::size_t>(kernel * kernel * in);
    const auto fan_in = static_cast<float>(kernel * kernel * (used_channels != 0 ? used_channels : in));
    layer.weight = add_weights(name + ".convolution", n * weights, std::sqrt(6.f / fan_in));
    layer.gamma = add_wide(name + ".gamma", n, 1.f);
    layer.beta = add_wide(name + ".beta", n, 0.f);
    layer.running_mean = storage_.take<Wide>(Use::weights, n);
    layer.running_variance = storage_.take<Wide>(Use::weights, n);
    const std::vector<Wide> ones(n, Wide{1});
    storage_.executor().copy(layer.running_variance.data(), ones.data(), n * sizeof(Wide));
    storage_.executor().wait();
    layer.mean = storage_.take<Wide>(Use::activations, n);
    layer.inverse_deviation = storage_.take<Wide>(Use::activations, n);
    layer.convolved = storage_.take<Low>(Use::activations, static_cast<std::size_t>(batch_ * layer.out_shape.height *
                                                                                   layer.out_shape.width) * n);
    return layer;
  }
  Weights<Low, Gradient> add_weights(const std::string& name, std::size_t size, float bound) {
    return add_parameter<Low, Gradient>(name, size, 0, {0.f, bound});
  }
  Weights<Wide, Wide> add_wide(const std::string& name, std::size_t size, float constant) {
    return add_parameter<Wide, Wide>(name, size, 1, {constant, 0.f});
  }
  struct Initial {
    float constant, bound;
  };
  template <class T, class G>
  Weights<T, G> add_parameter(const std::string& name, std::size_t size, std::uint32_t group, Initial initial) {
    const Weights<T, G> weights{storage_.take<T>(Use::weights, size), storage_.take<G>(Use::gradients, size)};
    names_.push_back(name);
    parameters_.push_back({.model = weights.model, .gradient = weights.gradient, .name = names_.back(), .group = group});
    initial_.push_back(initial);
    return weights;
  }

  /// Calls `visit` with every convolution.
  template <class Visitor>
  void for_each_convolution(const Visitor& visit) const {
    visit(stem_);
    for (const Block& block : blocks_) {
      visit(block.first), visit(block.second);
      if (block.shortcut) visit(*block.shortcut);
    }
  }
  std::size_t workspace_bytes(const Where& executor) const {
    std::size_t bytes = mezzo::linear_workspace_bytes<Low>(executor, classifier_);
    for_each_convolution([&](const ConvolutionNorm& layer) {
      bytes = std::max({bytes, mezzo::conv2d_workspace_bytes<Low>(executor, layer.shape),
                        mezzo::batch_norm_workspace_bytes<Low>(executor, layer.out_shape)});
    });
    return bytes;
  }
  void prepare() {
    mezzo::linear_prepare<Low>(workspace_, classifier_);
    for_each_convolution([&](const ConvolutionNorm& layer) {
      mezzo::conv2d_prepare<Low>(workspace_, layer.shape);
      mezzo::batch_norm_prepare<Low>(workspace_, layer.out_shape);
    });
  }

  Storage& storage_;
  std::int64_t batch_, image_channels_;
  mezzo::Workspace<Where> workspace_;
  std::deque<std::string> names_;                          // a deque: parameters refer to its strings
  std::vector<Parameter> parameters_;
  std::vector<Initial> initial_;

  Span<Low> images_, stem_out_, pooled_, logits_;
  Span<std::int32_t> labels_;
  ConvolutionNorm stem_;
  std::vector<Block> blocks_;
  mezzo::ImageShape last_;
  mezzo::LinearShape classifier_;
  Weights<Low, Gradient> weight_;
  Weights<Wide, Wide> bias_;
  Span<Wide> loss_;
  Span<std::int32_t> correct_;
  Span<Low> logits_gradient_, pooled_gradient_, buffers_[3];
};

}  // namespace cifar10
