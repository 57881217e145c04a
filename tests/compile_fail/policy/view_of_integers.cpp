// error: ConvertingView: both types must be element types
#include <span>
#include <vector>

#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/view.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
ConvertingView<float, const float16> view;
#else
ConvertingView<float, const int> view;
#endif
