#pragma once
// A policy that counts: which op really ran, in which types.

#include <atomic>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <mezzo/policy/call.hpp>
#include <mezzo/policy/detail/type_name.hpp>

namespace mezzo {

/// One kind of call that ran under a traced policy.
struct TracedCall {
  std::string_view op;
  CastRule rule;                           ///< the rule at work: pass_through in a disabled region
  std::vector<std::string_view> given;     ///< element types of the arguments as given, in order
  std::vector<std::string_view> read_as;   ///< and as the op received them
  std::string_view compute;
  std::string_view result;
  std::uint64_t count;                     ///< calls since the start or the last clear_trace()
};

namespace detail {

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

template <class Call, class Op, class List>
struct TraceOf;
template <class Call, class Op, class... Elements>
struct TraceOf<Call, Op, TypeList<Elements...>> {
  static void describe(TracedCall& call) {
    call = {Op::name, Call::rule, {type_name<Elements>()...}, {type_name<typename Call::template argument<Elements>>()...},
            type_name<typename Call::compute_type>(), type_name<typename Call::result_type>(), 0};
  }
  static TraceNode& node() {
    static TraceNode one{&describe};
    return one;
  }
};

}  // namespace detail

/// `P` with counting: put `Traced<Policy>` where `Policy` stood and every autocast call and every op of mezzo is counted.
///
/// Types and results are those of `P`; regions and overrides made from it are traced too. Counting happens on the host, one
/// relaxed atomic add a call, from any number of threads; calls in device code and in constant expressions are not counted.
/// A policy that is not traced costs nothing: no code is there to be switched off.
template <class P>
struct Traced {
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

  /// Called by the library for each call that runs.
  template <class Op, class... Args>
  static void ran() {
    detail::TraceOf<detail::call_t<P, Op, Args...>, Op, detail::elements_of_all_t<Args...>>::node().hit();
  }
};

static_assert(AutocastPolicy<Traced<Autocast<float16>>>);

/// The calls counted so far, of all traced policies and threads, in no particular order. Kinds with count 0 are left out.
[[nodiscard]] inline std::vector<TracedCall> traced_calls() {
  std::vector<TracedCall> calls;
  for (auto* node = detail::TraceNode::head().load(std::memory_order_acquire); node != nullptr; node = node->next) {
    const std::uint64_t count = node->count.load(std::memory_order_relaxed);
    if (count == 0) continue;
    node->describe(calls.emplace_back());
    calls.back().count = count;
  }
  return calls;
}

/// Sets every count to zero. Calls that run meanwhile on other threads are counted before or after.
inline void clear_trace() {
  for (auto* node = detail::TraceNode::head().load(std::memory_order_acquire); node != nullptr; node = node->next) {
    node->count.store(0, std::memory_order_relaxed);
  }
}

/// The counted calls as text, one line each: `12 x matmul (lower_precision): float32, float32 -> float16, float16 -> float16`.
[[nodiscard]] inline std::string trace_text() {
  std::ostringstream out;
  const auto list = [&out](const std::vector<std::string_view>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) out << (i == 0 ? "" : ", ") << names[i];
  };
  for (const TracedCall& call : traced_calls()) {
    out << call.count << " x " << call.op << " (" << name_of(call.rule) << "): ";
    list(call.given);
    out << " -> ";
    list(call.read_as);
    out << " -> " << call.result << '\n';
  }
  return out.str();
}

}  // namespace mezzo
