#include <mezzo/ops/float32_math.hpp>

#include <utility>

#include <doctest/doctest.h>

#include <mezzo/executor/host.hpp>

namespace {

using mezzo::Float32Math;

TEST_CASE("is_exact_unless_asked_and_belongs_to_one_workspace") {
  mezzo::Workspace first{mezzo::HostExecutor{}, 0}, second{mezzo::HostExecutor{}, 0};
  CHECK(mezzo::float32_math(first) == Float32Math::ieee);
  mezzo::set_float32_math(first, Float32Math::tf32);
  CHECK(mezzo::float32_math(first) == Float32Math::tf32);
  CHECK(mezzo::float32_math(second) == Float32Math::ieee);
  mezzo::Workspace moved{std::move(first)};
  CHECK(mezzo::float32_math(moved) == Float32Math::tf32);
  mezzo::set_float32_math(moved, Float32Math::ieee);
  CHECK(mezzo::float32_math(moved) == Float32Math::ieee);
}

}  // namespace
