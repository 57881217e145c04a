#include <mezzo/core/error.hpp>

#include <string>
#include <type_traits>

#include <doctest/doctest.h>

namespace {

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const mezzo::Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::string line(int number) { return "error_test.cpp:" + std::to_string(number) + ": "; }

void checked(int value, std::source_location where = std::source_location::current()) {
  mezzo::require(value > 1, where, "Options", "value must exceed 1", value);
}

TEST_CASE("a_refusal_names_the_users_line_the_rule_and_the_value") {
  const int expected = __LINE__ + 1;
  CHECK(message_of([] { checked(1); }) == line(expected) + "Options: value must exceed 1, got 1");
  CHECK_NOTHROW(checked(2));
}

TEST_CASE("the_parts_of_a_rule_are_streamed_in_order") {
  const auto here = std::source_location::current();
  CHECK(message_of([&] { mezzo::fail<mezzo::StateError>(here, "step", "at most ", 31, " optimizers, scale ", .5f); }) ==
        line(static_cast<int>(here.line())) + "step: at most 31 optimizers, scale 0.5");
}

TEST_CASE("a_place_is_the_files_name_without_its_folders") {
  const std::string place = mezzo::detail::place(std::source_location::current());
  CHECK(place.find('/') == std::string::npos);
  CHECK(place.starts_with("error_test.cpp:"));
}

TEST_CASE("every_exception_can_be_caught_as_its_own_type_as_Error_and_as_runtime_error") {
  const auto here = std::source_location::current();
  CHECK_THROWS_AS(mezzo::fail<mezzo::InvalidArgument>(here, "a", "b"), mezzo::InvalidArgument);
  CHECK_THROWS_AS(mezzo::fail<mezzo::StateError>(here, "a", "b"), mezzo::StateError);
  CHECK_THROWS_AS(mezzo::fail<mezzo::OutOfMemory>(here, "a", "b"), mezzo::OutOfMemory);
  CHECK_THROWS_AS(mezzo::fail<mezzo::CudaError>(here, "a", "b"), mezzo::CudaError);
  CHECK_THROWS_AS(mezzo::fail<mezzo::StateError>(here, "a", "b"), mezzo::Error);
  CHECK_THROWS_AS(mezzo::fail<mezzo::StateError>(here, "a", "b"), std::runtime_error);
  static_assert(!std::is_base_of_v<mezzo::InvalidArgument, mezzo::StateError>);
  static_assert(!std::is_base_of_v<mezzo::StateError, mezzo::InvalidArgument>);
}

void other_handler(const char*) {}

TEST_CASE("the_handler_is_replaced_and_a_null_one_restores_the_default") {
  const mezzo::ErrorHandler standard = mezzo::set_error_handler(&other_handler);
  CHECK((mezzo::set_error_handler(nullptr) == &other_handler));
  CHECK((mezzo::set_error_handler(&other_handler) == standard));
  mezzo::set_error_handler(nullptr);
}

}  // namespace
