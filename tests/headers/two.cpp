#include MEZZO_ALL_HEADERS

int two();
int two() { return 2; }
