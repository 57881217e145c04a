#pragma once
// What a policy does with every op, as data and as text.

#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <mezzo/policy/cast_types.hpp>
#include <mezzo/policy/detail/type_name.hpp>
#include <mezzo/policy/ops.hpp>

namespace mezzo {

/// One op, called with one argument of one type.
struct CastReportRow {
  std::string_view op;
  CastRule rule;             ///< the rule under this policy, overrides included
  std::string_view given;    ///< type of the argument: float16
  std::string_view argument; ///< type it is read as; empty where the call is refused
  std::string_view compute;  ///< type of the arithmetic; empty where the call is refused
  std::string_view result;   ///< type of what is returned; empty where the call is refused
  bool refused;              ///< the policy does not compile this call

  friend bool operator==(const CastReportRow&, const CastReportRow&) = default;
};

/// The rows of all ops, op by op. Prints as a table.
struct CastReport {
  std::vector<CastReportRow> rows;

  /// The rows of one op; empty for an unknown name.
  [[nodiscard]] std::vector<CastReportRow> of(std::string_view op) const {
    std::vector<CastReportRow> found;
    for (const CastReportRow& row : rows) {
      if (row.op == op) found.push_back(row);
    }
    return found;
  }
  /// The table as text, one line a row: `matmul  lower_precision  float32  float16  float16  float16`.
  [[nodiscard]] std::string text() const;
};

inline std::ostream& operator<<(std::ostream& out, const CastReport& report) {
  std::size_t width = 2;
  for (const CastReportRow& row : report.rows) width = row.op.size() > width ? row.op.size() : width;
  std::ostringstream table;  // the caller's stream keeps its format flags
  table << std::left;
  const auto line = [&](auto op, auto rule, auto given, auto argument, auto compute, auto result) {
    table << std::setw(static_cast<int>(width) + 2) << op << std::setw(17) << rule << std::setw(13) << given << std::setw(13)
          << argument << std::setw(13) << compute << result << '\n';
  };
  line("op", "rule", "given", "read as", "computed in", "result");
  for (const CastReportRow& row : report.rows) {
    if (row.refused) {
      line(row.op, name_of(row.rule), row.given, std::string_view("refused"), std::string_view(), std::string_view());
    } else {
      line(row.op, name_of(row.rule), row.given, row.argument, row.compute, row.result);
    }
  }
  return out << table.str();
}

inline std::string CastReport::text() const {
  std::ostringstream out;
  out << *this;
  return out.str();
}

namespace detail {

template <class Policy, class Op, class Given>
CastReportRow cast_report_row() {
  using Low = typename Policy::low_type;
  constexpr bool banned = !stdlib::is_same_v<Low, float> && Policy::template rule<Op> == CastRule::banned;
  constexpr bool refused = Policy::is_enabled && (banned || (EightBit<Low> && !op_is_gemm<Op>()));
  const auto rule = Policy::is_enabled ? Policy::template rule<Op> : CastRule::pass_through;
  if constexpr (refused) {
    return {Op::name, rule, type_name<Given>(), "", "", "", true};
  } else {
    return {Op::name, rule, type_name<Given>(), type_name<argument_type_t<Policy, Op, Given>>(),
            type_name<compute_type_t<Policy, Op, Given>>(), type_name<result_type_t<Policy, Op, Given>>(), false};
  }
}

template <class Policy, class List>
struct CastReporter {
  static_assert(sizeof(List) == 0, "cast_report<Policy, Ops>: Ops must be a list of op tags: OpList<op::softmax, my_norm>.");
  template <class...>
  static CastReport make() {
    return {};
  }
};
template <class Policy, class... Ops>
struct CastReporter<Policy, OpList<Ops...>> {
  template <class... Given>
  static CastReport make() {
    CastReport report;
    report.rows.reserve(sizeof...(Ops) * sizeof...(Given));
    (add<Ops, Given...>(report), ...);
    return report;
  }
  template <class Op, class... Given>
  static void add(CastReport& report) {
    (report.rows.push_back(cast_report_row<Policy, Op, Given>()), ...);
  }
};

}  // namespace detail

/// What `Policy` does with the ops of `Ops` when called with one argument of float16, bfloat16, float and double each.
///
///     std::cout << cast_report<Policy>();                                  // all of mezzo's tags
///     std::cout << cast_report<Policy, OpList<op::softmax, my_norm>>();    // these two
template <class Policy, class Ops = all_ops>
[[nodiscard]] CastReport cast_report() {
  static_assert(AutocastPolicy<Policy>, "cast_report<Policy>: Policy must be a policy, such as Autocast<float16>.");
  if constexpr (AutocastPolicy<Policy>) {
    return detail::CastReporter<Policy, Ops>::template make<float16, bfloat16, float, double>();
  } else {
    return {};
  }
}

}  // namespace mezzo
