// The first lines of a user's program.
#include <mezzo/mezzo.hpp>

#include <cstdio>

int main() {
  const mezzo::float16 half = mezzo::convert<mezzo::float16>(2.f);
  const float wide = mezzo::convert<float>(half);
  std::printf("%g\n", static_cast<double>(wide));
  return wide == 2.f ? 0 : 1;
}
