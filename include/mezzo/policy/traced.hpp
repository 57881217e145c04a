#pragma once
// A policy that counts: which op really ran, in which types.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <mezzo/policy/call.hpp>
#include <mezzo/policy/detail/type_name.hpp>

namespace mezzo {

/// One kind of call that ran under a traced policy.
struct TracedCall {
  std::string_view op;                     ///< name of the tag: a global average pool is an adaptive_avg_pool2d
  TracedPass pass;
  CastRule rule;                           ///< the rule at work: pass_through in a disabled region
  std::vector<std::string_view> given;     ///< element types of the arguments as given, in order
  std::vector<std::string_view> read_as;   ///< and as the op received them
  std::string_view compute;
  std::string_view result;
  std::uint64_t count;                     ///< calls since the start or the last clear_trace()
};

namespace detail {

/// Whether two calls are of one kind, whatever their counts.
inline bool same_kind(const TracedCall& a, const TracedCall& b) {
  return a.op == b.op && a.pass == b.pass && a.rule == b.rule && a.given == b.given && a.read_as == b.read_as &&
         a.compute == b.compute && a.result == b.result;
}

/// One kind of call; lives for ever and is linked into the list of all when it first runs.
struct TraceNode {
  void (*describe)(TracedCall&);
  std::atomic<std::uint64_t> count{0};
  std::atomic<bool> linked{false};
  TraceNode* next = nullptr;

  static std::atomic<TraceNode*>& head() {
    static std::atomic<TraceNode*> first{nullptr};
    return first;
  }
  void hit() {
    count.fetch_add(1, std::memory_order_relaxed);
    if (linked.load(std::memory_order_relaxed) || linked.exchange(true, std::memory_order_relaxed)) return;
    next = head().load(std::memory_order_relaxed);
    while (!head().compare_exchange_weak(next, this, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
};

/// @tparam Result what the op wrote; void for what its rule returns.
template <class Call, class Op, TracedPass Pass, class Result, class List>
struct TraceOf;
template <class Call, class Op, TracedPass Pass, class Result, class... Elements>
struct TraceOf<Call, Op, Pass, Result, TypeList<Elements...>> {
  static void describe(TracedCall& call) {
    using Returned = stdlib::conditional_t<stdlib::is_void_v<Result>, typename Call::result_type, Result>;
    call = {Op::name, Pass, Call::rule, {type_name<Elements>()...}, {type_name<typename Call::template argument<Elements>>()...},
            type_name<typename Call::compute_type>(), type_name<Returned>(), 0};
  }
  static TraceNode& node() {
    static TraceNode one{&describe};
    return one;
  }
};

}  // namespace detail

/// `P` with counting: put `Traced<Policy>` where `Policy` stood and every autocast call and every op of mezzo is counted.
///
///     train_step<Traced<Autocast<float16>>>(model);
///     std::cout << trace_text();      // 20 x conv2d (lower_precision): float16, float16 -> float16, float16 -> float16
///
/// mezzo's ops (mezzo/ops/) are counted when they have run, forward and backward apart, with the type that they wrote: float
/// where a product was kept unrounded. A fused op counts as the ops that it is made of, alike on every executor; a call that
/// had nothing to do (batch 0) or threw is not counted. Ops of your own that do not go through `autocast` say `trace_call`.
/// Types and results are those of `P`; regions and overrides made from it are traced too. Counting happens on the host, one
/// relaxed atomic add a call, from any number of threads; calls in device code and in constant expressions are not counted.
/// A policy that is not traced costs nothing: no code is there to be switched off.
template <class P>
struct Traced {
  static_assert(AutocastPolicy<P>,
    "Traced<P>: P must be a policy, such as Autocast<float16>. Put Traced around the policy, not around its low type.");

  using low_type = typename P::low_type;
  static constexpr bool is_enabled = P::is_enabled;
  template <class Op>
  static constexpr CastRule rule = P::template rule<Op>;
  template <class Op, CastRule Rule>
  using with = Traced<typename P::template with<Op, Rule>>;
  template <CastRule Rule, class... Ops>
  using with_each = Traced<typename P::template with_each<Rule, Ops...>>;
  template <CastRule From, CastRule To>
  using with_rule = Traced<typename P::template with_rule<From, To>>;
  template <class OtherLow>
  using with_low = Traced<typename P::template with_low<OtherLow>>;
  using disabled = Traced<typename P::disabled>;
  using enabled = Traced<typename P::enabled>;

  /// Called by `trace_call` for each call that runs.
  template <class Op, TracedPass Pass, class Result, class... Args>
  static void ran() {
    detail::TraceOf<detail::call_t<P, Op, Args...>, Op, Pass, Result, detail::elements_of_all_t<Args...>>::node().hit();
  }
};

static_assert(AutocastPolicy<Traced<Autocast<float16>>>);

/// The calls counted so far, of all traced policies and threads, in the order in which their kinds first ran in this program.
/// Kinds with count 0 are left out; kinds that agree in all that is said of them are one, whatever their policies.
[[nodiscard]] inline std::vector<TracedCall> traced_calls() {
  std::vector<TracedCall> all, calls;
  for (auto* node = detail::TraceNode::head().load(std::memory_order_acquire); node != nullptr; node = node->next) {
    const std::uint64_t count = node->count.load(std::memory_order_relaxed);
    if (count == 0) continue;
    node->describe(all.emplace_back());
    all.back().count = count;
  }
  for (auto call = all.rbegin(); call != all.rend(); ++call) {  // the list has the newest first
    const auto known = std::find_if(calls.begin(), calls.end(), [&](const TracedCall& other) { return detail::same_kind(other, *call); });
    if (known == calls.end()) {
      calls.push_back(*call);
    } else {
      known->count += call->count;
    }
  }
  return calls;
}

/// Sets every count to zero. Calls that run meanwhile on other threads are counted before or after.
inline void clear_trace() {
  for (auto* node = detail::TraceNode::head().load(std::memory_order_acquire); node != nullptr; node = node->next) {
    node->count.store(0, std::memory_order_relaxed);
  }
}

/// The counted calls as text, one line each:
/// `12 x matmul (lower_precision): float32, float32 -> float16, float16 -> float16`, or `6 x conv2d weight_gradient (...): ...`.
[[nodiscard]] inline std::string trace_text() {
  static constexpr std::string_view passes[] = {"", " backward", " data_gradient", " weight_gradient", " bias_gradient"};
  std::string text;
  const auto list = [&text](const std::vector<std::string_view>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) text.append(i == 0 ? "" : ", ").append(names[i]);
    text.append(" -> ");
  };
  for (const TracedCall& call : traced_calls()) {
    text.append(std::to_string(call.count)).append(" x ").append(call.op).append(passes[static_cast<std::size_t>(call.pass)]);
    text.append(" (").append(name_of(call.rule)).append("): ");
    list(call.given);
    list(call.read_as);
    text.append(call.result).append("\n");
  }
  return text;
}

}  // namespace mezzo
