// Links with two.cpp: a function that a header defines without `inline` is then defined twice.
#include MEZZO_ALL_HEADERS

int two();

int main() { return two() == 2 ? 0 : 1; }
