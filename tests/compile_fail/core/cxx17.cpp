// error: mezzo: C++20 required. Compile with -std=c++20
// flags: -std=c++17
// control-flags: -std=c++20
#include <mezzo/mezzo.hpp>
