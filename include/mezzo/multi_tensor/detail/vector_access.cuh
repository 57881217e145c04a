#pragma once
// A few elements of a column at a time, in words of 16 bytes (8 for four elements of 16 bits) where it is aligned.

#include <mezzo/multi_tensor/functor.hpp>

namespace mezzo::multi_tensor::detail {

/// Raw bits of `Size` elements, in words of at most 16 bytes.
template <class T, int Size>
struct Raw {
  static constexpr int bytes = static_cast<int>(sizeof(T)) * Size;
  using Word = std::conditional_t<bytes % 16 == 0, uint4, std::conditional_t<bytes % 8 == 0, uint2, std::uint32_t>>;
  static constexpr int words = bytes / static_cast<int>(sizeof(Word));
  Word word[words];
};

template <class Column, class Real, int Size>
__device__ __forceinline__ void load_group(const void* column, std::uint64_t index, bool aligned, Real (&values)[Size]) {
  if constexpr (Column::reads) {
    using T = typename Column::type;
    const T* const first = static_cast<const T*>(column) + index;
    if (aligned) {
      Raw<T, Size> raw;
#pragma unroll
      for (int w = 0; w < Raw<T, Size>::words; ++w) raw.word[w] = reinterpret_cast<const typename Raw<T, Size>::Word*>(first)[w];
      using Bits = typename element_traits<T>::bits_type;
#pragma unroll
      for (int i = 0; i < Size; ++i) {
        Bits bits;
        __builtin_memcpy(&bits, reinterpret_cast<const char*>(raw.word) + i * sizeof(T), sizeof(T));
        values[i] = convert<Real>(from_bits<T>(bits));
      }
    } else {
#pragma unroll
      for (int i = 0; i < Size; ++i) values[i] = convert<Real>(first[i]);
    }
  }
}

template <class Column, class Real, int Size>
__device__ __forceinline__ void store_group(void* column, std::uint64_t index, bool aligned, const Real (&values)[Size]) {
  if constexpr (Column::writes) {
    using T = typename Column::type;
    T* const first = static_cast<T*>(column) + index;
    if (aligned) {
      Raw<T, Size> raw;
      using Bits = typename element_traits<T>::bits_type;
#pragma unroll
      for (int i = 0; i < Size; ++i) {
        const Bits bits = to_bits(convert<T>(values[i]));
        __builtin_memcpy(reinterpret_cast<char*>(raw.word) + i * sizeof(T), &bits, sizeof(T));
      }
#pragma unroll
      for (int w = 0; w < Raw<T, Size>::words; ++w) reinterpret_cast<typename Raw<T, Size>::Word*>(first)[w] = raw.word[w];
    } else {
#pragma unroll
      for (int i = 0; i < Size; ++i) first[i] = convert<T>(values[i]);
    }
  }
}

/// Elements to pass over until the column is aligned; 0 to 7. A 16-bit column decides for its row: it has the fewest bytes
/// to spare, and the optimizer lays out masters and moments in its phase.
template <class... Column>
__device__ __forceinline__ std::uint32_t peel_of(Columns<Column...>, void* const* columns, std::uint64_t begin) {
  std::uint32_t narrow = 0, wide = 0, c = 0;
  bool has_narrow = false;
  const auto look = [&](std::uint32_t size) {
    const auto address = reinterpret_cast<std::uintptr_t>(columns[c++]) + begin * size;
    const auto skip = static_cast<std::uint32_t>((16 - address % 16) % 16 / size);
    if (size <= 2 && !has_narrow) {
      narrow = skip;
      has_narrow = true;
    } else if (size > 2 && c == 1) {
      wide = skip;
    }
  };
  (look(sizeof(typename Column::type)), ...);
  return has_narrow ? narrow : wide;
}

/// `Size` elements of every column through `f(real&...)`, `aligned` holding one flag a column.
template <int Size, bool AllAligned, class F, class... Column, std::size_t... Index>
__device__ __forceinline__ void group(Columns<Column...>, std::index_sequence<Index...>, void* const* columns, std::uint64_t index,
                                      const bool* aligned, F&& f) {
  using Real = typename Columns<Column...>::real;
  Real values[sizeof...(Column)][Size];
  (load_group<Column>(columns[Index], index, AllAligned || aligned[Index], values[Index]), ...);
#pragma unroll
  for (int i = 0; i < Size; ++i) f(values[Index][i]...);
  (store_group<Column>(columns[Index], index, AllAligned || aligned[Index], values[Index]), ...);
}

/// Sets one flag a column: whether groups of `Size` from `index` on are aligned for their words. True if all are.
template <int Size, class... Column, std::size_t... Index>
__device__ __forceinline__ bool find_aligned(Columns<Column...>, std::index_sequence<Index...>, void* const* columns, std::uint64_t index,
                                             bool* aligned) {
  ((aligned[Index] = reinterpret_cast<std::uintptr_t>(static_cast<const typename Column::type*>(columns[Index]) + index) %
                     sizeof(typename Raw<typename Column::type, Size>::Word) == 0), ...);
  return (aligned[Index] && ...);
}

}  // namespace mezzo::multi_tensor::detail
