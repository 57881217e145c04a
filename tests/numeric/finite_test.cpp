#include "numeric/finite_cases.hpp"
#include "support/executors.hpp"
