// Results do not depend on the number of threads: work is cut by the shape alone. Needs OpenMP.
#ifdef _OPENMP
#include <omp.h>
#endif

#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace {

using namespace mezzo::test;

#ifdef _OPENMP

/// The outputs of all ops whose work is shared among threads, one after the other.
template <class T>
std::vector<typename mezzo::element_traits<T>::bits_type> results(int threads, int workspace_threads) {
  using P = policy_of<T>;
  using Sum = sum_of_t<T>;
  const mezzo::HostExecutor executor;
  const mezzo::Conv2dShape shape{.batch = 23, .height = 9, .width = 7, .in_channels = 5, .out_channels = 6, .kernel = 3, .stride = 2, .padding = 1};
  const mezzo::ImageShape image{.batch = 23, .height = 9, .width = 7, .channels = 5};
  omp_set_num_threads(workspace_threads);
  mezzo::Workspace workspace{executor, std::max(mezzo::conv2d_workspace_bytes<T>(executor, shape), mezzo::batch_norm_workspace_bytes<T>(executor, image))};
  omp_set_num_threads(threads);
  const auto x = random_values<T>(23 * 9 * 7 * 5, 1), w = random_values<T>(6 * 9 * 5, 2), dy = random_values<T>(23 * 5 * 4 * 6, 3);
  std::vector<T> y(dy.size()), dx(x.size()), dw(w.size()), normalised(x.size()), dnormalised(x.size()), pooled(23 * 5);
  std::vector<Sum> one(5, 1), mean(5), inverse(5), dgamma(5), dbeta(5);
  mezzo::conv2d<P>(workspace, shape, x, w, y);
  mezzo::conv2d_data_gradient<P>(workspace, shape, dy, w, dx);
  mezzo::conv2d_weight_gradient<P>(workspace, shape, x, dy, dw);
  mezzo::batch_norm<P>(workspace, image, x, {.gamma = one, .beta = one}, {}, {.mean = mean, .inv_std = inverse}, normalised);
  mezzo::batch_norm_backward<P>(workspace, image, x, dx, {.gamma = one, .beta = {}}, {.mean = mean, .inv_std = inverse}, dnormalised,
                                {.gamma = dgamma, .beta = dbeta});
  mezzo::global_avg_pool2d<P>(workspace, image, normalised, pooled);
  std::vector<T> all;
  for (const auto* part : {&y, &dx, &dw, &normalised, &dnormalised, &pooled}) all.insert(all.end(), part->begin(), part->end());
  for (const auto* part : {&mean, &inverse, &dgamma, &dbeta}) {
    for (const Sum value : *part) all.push_back(mezzo::convert<T>(value));
  }
  return bits_of(all);
}

TEST_CASE_TEMPLATE("one_thread_or_many_give_the_same_bits", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  const auto one = results<T>(1, 1);
  CHECK(results<T>(2, 2) == one);
  CHECK(results<T>(7, 7) == one);
  CHECK(results<T>(7, 3) == one);  // scratch for three only
}

#else

TEST_CASE("one_thread_or_many_give_the_same_bits") { MEZZO_SKIP("compiled without OpenMP"); }

#endif

}  // namespace
