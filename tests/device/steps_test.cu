// Scaler and optimizers leave the host's bits on the device: over awkward spans, mixed types, overflows and clipping.
#include <random>

#include <mezzo/mezzo.cuh>

#include "device/twin_bytes.cuh"

namespace {

using namespace mezzo;
using namespace mezzo::test;

using Random = std::mt19937_64;

/// A parameter of the test: its length, how far its spans stand from an aligned address, in elements, and its types.
struct Shape {
  std::uint64_t size;
  unsigned model_offset, gradient_offset;
  bool float_model, float_gradient, given_master;
};

/// All lengths 0 to 17 at all offsets 0 to 7, and the lengths around where work is cut, over all mixes of types.
std::vector<Shape> awkward_shapes() {
  std::vector<std::pair<std::uint64_t, unsigned>> spans;
  for (std::uint64_t size = 0; size <= 17; ++size) {
    for (unsigned offset = 0; offset < 8; ++offset) spans.emplace_back(size, offset);
  }
  const multi_tensor::PlanOptions plan;
  const std::uint64_t tiny = plan.tiny_size, chunk = plan.chunk_size;
  for (const std::uint64_t size : {tiny - 1, tiny, tiny + 1, chunk - 1, chunk, chunk + 1, 2 * chunk + 5}) {
    for (const unsigned offset : {0U, 1U, 4U, 7U}) spans.emplace_back(size, offset);
  }
  spans.emplace_back(0, 3);  // an empty span last
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const auto [size, offset] = spans[i];
    const auto k = static_cast<unsigned>(i);
    // The two offsets agree for half of the spans, where all accesses are wide, and differ for the others.
    shapes.push_back({size, offset, k % 2 == 0 ? offset : (offset + 1 + k / 2 % 7) % 8, k / 3 % 3 == 1, k / 5 % 2 == 1, k % 7 == 2});
  }
  return shapes;
}

/// A finite float of any magnitude that training sees, subnormals and both zeros included.
float any_float(Random& random, int lowest, int highest) {
  if (random() % 16 == 0) return random() % 2 == 0 ? 0.f : -0.f;
  const float value = std::ldexp(1.f + static_cast<float>(random() % 0x800000) * 0x1p-23f,
                                 lowest + static_cast<int>(random() % static_cast<unsigned>(highest - lowest + 1)));
  return random() % 2 == 0 ? value : -value;
}

/// The same bits, or a NaN both: its payload is not kept.
template <Element T>
bool same_number(T a, T b) {
  return is_nan(a) ? is_nan(b) : to_bits(a) == to_bits(b);
}
template <Element T>
bool same_numbers(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_number<T>);
}

template <Element T>
void put(std::byte* at, std::uint64_t i, float value) {
  const T element = convert<T>(value);
  std::memcpy(at + i * sizeof(T), &element, sizeof(T));
}

/// One optimizer on each executor over the same bytes, driven by the same calls.
template <UpdateRule Rule, Element Low, MasterStorage Storage = Float32Master, Element Moment = float>
class Twins {
 public:
  using Optimizer = MasterOptimizer<Rule, Low, Storage, Moment>;
  using Options = typename Rule::Options;

  Twins(const std::vector<Shape>& shapes, const std::vector<Options>& groups, const LearningRateSchedule& schedule, std::uint64_t seed)
      : random_(seed), layout_(lay_out(shapes)), state_(state_bytes_), gradients_(gradient_bytes_), executor_(stream_) {
    for (const Place& p : layout_) {
      for (std::uint64_t i = 0; i < p.shape.size; ++i) {
        const float weight = any_float(random_, -20, 4);
        if (p.is_float(p.shape.float_model)) {
          put<float>(state_.host() + p.model, i, weight);
        } else {
          put<Low>(state_.host() + p.model, i, weight);
        }
        if (p.has_master) put<float>(state_.host() + p.master, i, weight);
      }
    }
    state_.upload();
    new_gradients(1.f, 0);
    host_.emplace(make(host_executor_, state_.host(), gradients_.host(), groups));
    device_.emplace(make(executor_, state_.device(), gradients_.device(), groups));
    host_->set_schedule(schedule);
    device_->set_schedule(schedule);
  }

  /// `steps` iterations, a quarter of them with a value that is not finite, each with or without unscale and clipping.
  template <LossScaler Scaler>
  void train(int steps) {
    Scaler on_host{host_executor_}, on_device{executor_};
    int overflows = 0;
    for (int step = 0; step < steps; ++step) {
      CAPTURE(step);
      const bool overflow = step != 1 && random_() % 4 == 0;
      overflows += overflow ? 1 : 0;
      new_gradients(on_host.state().scale, overflow ? 1 + static_cast<int>(random_() % 3) : 0);
      const std::uint64_t form = random_();
      const float max_norm = (form & 4) != 0 ? 1e-3f : 1e30f;
      const auto iterate = [&](Scaler& scaler, Optimizer& optimizer) {
        if ((form & 1) != 0) scaler.unscale(optimizer);
        if ((form & 2) != 0) clip_grad_norm(scaler, optimizer, max_norm);
        scaler.step(optimizer);
        scaler.update();
      };
      iterate(on_host, *host_);
      iterate(on_device, *device_);
      REQUIRE(on_device.state() == on_host.state());
      const OptimizerState wanted = host_->state(), got = device_->state();
      REQUIRE(got.applied_steps == wanted.applied_steps);
      REQUIRE(got.skipped_steps == wanted.skipped_steps);
      REQUIRE(same_number(got.gradient_norm, wanted.gradient_norm));
      REQUIRE(to_bits(got.clip_factor) == to_bits(wanted.clip_factor));
      REQUIRE(gradients_.same(not_finite_));
      REQUIRE(state_.same());
      if (step % 5 == 4) {
        host_->zero_grad();
        device_->zero_grad();
        executor_.wait();
        REQUIRE(gradients_.same());
      }
    }
    CHECK(overflows > 0);
    CHECK(host_->state().applied_steps > 0);
    check_own_memory();
  }

 private:
  struct Place {
    Shape shape;
    std::size_t model = 0, gradient = 0, master = 0;
    bool has_master = false;
    [[nodiscard]] static bool is_float(bool chosen) { return chosen || std::is_same_v<Low, float>; }
  };

  std::vector<Place> lay_out(const std::vector<Shape>& shapes) {
    std::vector<Place> places;
    const auto take = [](std::size_t& used, std::uint64_t size, unsigned offset, std::size_t width) {
      const std::size_t start = (used + 255) / 256 * 256 + 64 + offset * width;  // guard bytes before and after
      used = start + size * width + 64;
      return start;
    };
    for (const Shape& shape : shapes) {
      Place p{.shape = shape};
      const bool wide = Place::is_float(shape.float_model);
      p.model = take(state_bytes_, shape.size, shape.model_offset, wide ? 4 : sizeof(Low));
      p.gradient = take(gradient_bytes_, shape.size, shape.gradient_offset, Place::is_float(shape.float_gradient) ? 4 : sizeof(Low));
      p.has_master = shape.given_master && shape.size != 0 && !wide && Storage::keeps_master;
      if (p.has_master) p.master = take(state_bytes_, shape.size, shape.gradient_offset % 4, 4);
      places.push_back(p);
    }
    return places;
  }

  std::vector<typename Optimizer::Parameter> parameters(std::byte* state, std::byte* gradients) const {
    std::vector<typename Optimizer::Parameter> all;
    for (const Place& p : layout_) {
      typename Optimizer::Parameter parameter;
      const auto low = [&](std::byte* at) { return Span<Low>(reinterpret_cast<Low*>(at), p.shape.size); };
      const auto wide = [&](std::byte* at) { return Span<float>(reinterpret_cast<float*>(at), p.shape.size); };
      if (p.is_float(p.shape.float_model)) parameter.model = wide(state + p.model);
      else parameter.model = low(state + p.model);
      if (p.is_float(p.shape.float_gradient)) parameter.gradient = wide(gradients + p.gradient);
      else parameter.gradient = low(gradients + p.gradient);
      if (p.has_master) parameter.master = wide(state + p.master);
      parameter.group = all.size() % 2 == 0 ? 0 : 1;
      all.push_back(parameter);
    }
    return all;
  }

  template <Executor E>
  Optimizer make(const E& executor, std::byte* state, std::byte* gradients, const std::vector<Options>& groups) const {
    return Optimizer{executor, parameters(state, gradients), {groups[0], groups[1]}};
  }

  /// New gradients times `scale` in both memories; `bad` of them not finite.
  void new_gradients(float scale, int bad) {
    for (const Place& p : layout_) {
      for (std::uint64_t i = 0; i < p.shape.size; ++i) set_gradient(p, i, scale, random_() % 64 == 0 ? -149 : -30);
    }
    not_finite_.clear();
    for (int b = 0; b < bad;) {
      const Place& p = layout_[random_() % layout_.size()];
      if (p.shape.size == 0) continue;
      const std::size_t width = p.is_float(p.shape.float_gradient) ? 4 : sizeof(Low);
      const std::uint64_t i = random_() % 2 == 0 ? p.shape.size - 1 : random_() % p.shape.size;
      constexpr float values[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN()};
      const float value = values[random_() % 3];
      if (p.is_float(p.shape.float_gradient)) put<float>(gradients_.host() + p.gradient, i, value);
      else put<Low>(gradients_.host() + p.gradient, i, value);
      not_finite_.emplace_back(p.gradient + i * width, width);
      ++b;
    }
    gradients_.upload();
  }

  void set_gradient(const Place& p, std::uint64_t i, float scale, int lowest) {
    const float value = any_float(random_, lowest, -3);
    // The product may leave the float16 range here and there would then be an overflow that nobody asked for.
    const float scaled = std::min(std::max(value * scale, -60000.f), 60000.f);
    if (p.is_float(p.shape.float_gradient)) put<float>(gradients_.host() + p.gradient, i, scaled);
    else put<Low>(gradients_.host() + p.gradient, i, scaled);
  }

  /// Masters and moments that the optimizers keep themselves.
  void check_own_memory() {
    std::size_t differ = 0;
    const auto compare = [&](const void* on_host, const void* on_device, std::size_t bytes) {
      std::vector<std::byte> got(bytes);
      executor_.copy(got.data(), on_device, bytes);
      executor_.wait();
      if (bytes != 0 && std::memcmp(got.data(), on_host, bytes) != 0) ++differ;
    };
    for (std::size_t i = 0; i < layout_.size(); ++i) {
      CHECK(device_->master(i).size() == host_->master(i).size());
      compare(host_->master(i).data(), device_->master(i).data(), host_->master(i).size() * sizeof(float));
      for (int which = 0; which < Rule::moments; ++which) {
        const auto moment = host_->moment(i, which);
        compare(moment.data(), device_->moment(i, which).data(), moment.size() * sizeof(Moment));
      }
    }
    CHECK(differ == 0);
  }

  Random random_;
  std::size_t state_bytes_ = 0, gradient_bytes_ = 0;
  std::vector<Place> layout_;
  TwinBytes state_, gradients_;
  std::vector<std::pair<std::size_t, std::size_t>> not_finite_;  // where: a NaN that was multiplied has any payload
  Stream stream_;
  HostExecutor host_executor_;
  CudaExecutor executor_;
  std::optional<Optimizer> host_, device_;
};

// Factors that are no powers of two: every product is rounded.
constexpr LossScaleConfig uneven{.init_scale = 1000.f, .growth_factor = 1.7f, .backoff_factor = .3f, .growth_interval = 2};
constexpr LossScaleConfig patient{.init_scale = 0x1p10f, .growth_interval = 1, .hysteresis = 2, .hysteresis_reset = HysteresisReset::growth};
constexpr LossScaleConfig largest{.init_scale = 0x1p126f, .growth_interval = 1};

TEST_CASE("adamw_with_float16_leaves_the_hosts_bits") {
  MEZZO_NEEDS_DEVICE();
  const AdamW::Options decay{.lr = 3e-3f, .weight_decay = .1f}, none{.lr = 1e-2f, .beta1 = 0.f, .beta2 = .99f, .weight_decay = 0.f};
  Twins<AdamW, float16>(awkward_shapes(), {decay, none}, cosine_schedule(15, 4), 1).template train<DynamicLossScaler<uneven>>(20);
  Twins<AdamW, float16>(awkward_shapes(), {none, decay}, linear_schedule(30, 0, .1), 2).template train<DynamicLossScaler<patient>>(20);
}

TEST_CASE("sgd_with_bfloat16_leaves_the_hosts_bits") {
  MEZZO_NEEDS_DEVICE();
  const Sgd::Options nesterov{.lr = .1f, .momentum = .9f, .weight_decay = 1e-3f, .nesterov = true}, plain{.lr = .03f};
  const Sgd::Options dampened{.lr = .03f, .momentum = .8f, .dampening = .3f, .weight_decay = .01f};
  Twins<Sgd, bfloat16>(awkward_shapes(), {nesterov, plain}, constant_schedule(), 3).template train<DynamicLossScaler<uneven>>(20);
  Twins<Sgd, bfloat16>(awkward_shapes(), {dampened, nesterov}, constant_schedule(5), 4).template train<StaticLossScaler<128.f>>(20);
}

TEST_CASE("sgd_without_a_master_and_with_bfloat16_momentum_leaves_the_hosts_bits") {
  MEZZO_NEEDS_DEVICE();
  const Sgd::Options options{.lr = 1e-2f, .momentum = .9f, .weight_decay = .01f};
  Twins<Sgd, float16, NoMaster, bfloat16>(awkward_shapes(), {options, options}, constant_schedule(), 5)
      .template train<NoLossScaler::with<Check::skip_nonfinite>>(20);
}

TEST_CASE("sgd_with_float_parameters_leaves_the_hosts_bits_at_the_largest_scale") {
  MEZZO_NEEDS_DEVICE();
  const Sgd::Options options{.lr = .1f, .momentum = .9f};
  // 1 / 2^126 is the smallest normal float and quotients are subnormal: a build that flushes them to zero would show here.
  Twins<Sgd, float>(awkward_shapes(), {options, options}, constant_schedule(), 6).template train<DynamicLossScaler<largest>>(20);
}

TEST_CASE("scaling_and_unscaling_spans_of_every_type_leaves_the_hosts_bits") {
  MEZZO_NEEDS_DEVICE();
  const HostExecutor host;
  const CudaExecutor device{cudaStream_t{nullptr}};
  DynamicLossScaler<uneven> on_host{host}, on_device{device};
  Random random(7);
  std::vector<float> in(10'007);
  for (float& x : in) x = any_float(random, random() % 8 == 0 ? -149 : -20, 5);
  const DeviceArray<float> device_in(in);
  const auto both = [&]<class T>(T) {
    std::vector<T> scaled(in.size());
    const DeviceArray<T> device_scaled(in.size());
    on_host.scale(in, scaled);
    on_device.scale(device_in, device_scaled);
    CHECK(same_numbers(device_scaled.read(), scaled));
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    std::vector<Wide> back(in.size());
    const DeviceArray<Wide> device_back(in.size());
    on_host.unscale(scaled, back);
    on_device.unscale(device_scaled, device_back);
    CHECK(same_numbers(device_back.read(), back));
    on_host.update();
    on_device.update();
    CHECK(on_device.state() == on_host.state());
  };
  both(float16{});
  both(bfloat16{});
  both(float8_e4m3{});
  both(float8_e5m2{});
  both(float{});
  both(double{});
}

TEST_CASE("this_build_uses_the_default_stream_that_it_was_compiled_for") {
  MEZZO_NEEDS_DEVICE();
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  CHECK(CudaExecutor{cudaStream_t{nullptr}}.stream() == cudaStreamPerThread);
#else
  CHECK(CudaExecutor{cudaStream_t{nullptr}}.stream() == cudaStreamLegacy);
#endif
}

}  // namespace
