#pragma once
// Names of element types, integers and bool for reports.

#include <mezzo/numeric/traits.hpp>

namespace mezzo::detail {

template <class T>
constexpr const char* type_name() {
  if constexpr (Element<T>) {
    return element_traits<T>::name;
  } else if constexpr (stdlib::is_same_v<T, bool>) {
    return "bool";
  } else if constexpr (stdlib::is_integral_v<T>) {
    constexpr bool is_signed = stdlib::is_signed_v<T>;
    switch (sizeof(T)) {
      case 1: return is_signed ? "int8" : "uint8";
      case 2: return is_signed ? "int16" : "uint16";
      case 4: return is_signed ? "int32" : "uint32";
      default: return is_signed ? "int64" : "uint64";
    }
  } else {
    return "other";
  }
}

}  // namespace mezzo::detail
