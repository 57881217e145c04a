// Properties: statements about any input, tried on thousands. RapidCheck finds a small input that breaks one.
#pragma once

#include <sstream>
#include <utility>

#include <doctest/doctest.h>
#include <rapidcheck.h>

namespace mezzo::test {

/// Fewer cases where a sanitizer makes each ten times as slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int property_cases = 500;
#else
inline constexpr int property_cases = 10'000;
#endif

/// Tries `property` on `property_cases` inputs, the same in every run; fails the test case with the smallest input that breaks it.
template <class Property>
void holds_for_all(Property&& property) {
  rc::detail::TestParams params;
  params.seed = 20'261'130;
  params.maxSuccess = property_cases;
  params.maxSize = 40;
  const auto result = rc::detail::checkTestable(std::forward<Property>(property), rc::detail::TestMetadata{}, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  CHECK_MESSAGE(result.template is<rc::detail::SuccessResult>(), text.str());
}

}  // namespace mezzo::test
