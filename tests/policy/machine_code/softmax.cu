// Softmax of rows of `width` elements: data in LOW is read as it is, the arithmetic and the result are float.
#include "variant.hpp"

#ifdef HAND
FUNCTION inline void softmax(const LOW* in, float* out, std::size_t width) {
  float largest = to_float(in[0]);
  for (std::size_t k = 1; k < width; ++k) largest = LARGER(largest, to_float(in[k]));
  float sum = 0.f;
  for (std::size_t k = 0; k < width; ++k) sum += EXP(to_float(in[k]) - largest);
  for (std::size_t k = 0; k < width; ++k) out[k] = EXP(to_float(in[k]) - largest) / sum;
}
#else
template <class In, class Out>
FUNCTION inline void softmax(In in, Out out) {
  using Compute = compute_type_t<Policy, op::softmax, In>;
  Compute largest = convert<Compute>(in[0]);
  for (std::size_t k = 1; k < in.size(); ++k) largest = LARGER(largest, convert<Compute>(in[k]));
  Compute sum = ONE - 1.f;
  for (std::size_t k = 0; k < in.size(); ++k) sum += EXP(convert<Compute>(in[k]) - largest);
  for (std::size_t k = 0; k < in.size(); ++k) out[k] = EXP(convert<Compute>(in[k]) - largest) / sum;
}
#endif

ENTRY void run(const LOW* x, float* y, std::size_t rows, std::size_t width) {
  EACH(row, rows) {
#ifdef HAND
    softmax(x + row * width, y + row * width, width);
#else
    softmax(argument_view<Policy, op::softmax>(Data<const LOW>{x + row * width, width}),
            result_view<Policy, op::softmax, LOW>(Data<float>{y + row * width, width}));
#endif
  }
}
