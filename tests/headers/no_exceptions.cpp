// A program built with -fno-exceptions -fno-rtti can include everything.
#include <all_host_headers.hpp>

int main() {}
