#pragma once
// Eight elements of a column at a time, in 16-byte accesses where the column's alignment allows.

#include <mezzo/multi_tensor/functor.hpp>

namespace mezzo::multi_tensor::detail {

inline constexpr std::uint32_t group_size = 8;  ///< elements that one thread takes at a time: 16 bytes of a 16-bit type

/// True where eight elements at `address` can be accessed in 16-byte (8-byte for 8-bit types) pieces.
template <class T>
__device__ __forceinline__ bool is_aligned(const T* address) {
  return reinterpret_cast<std::uintptr_t>(address) % (sizeof(T) * group_size < 16 ? sizeof(T) * group_size : 16) == 0;
}

/// Raw bits of eight elements.
template <class T>
struct Raw {
  static constexpr int bytes = static_cast<int>(sizeof(T) * group_size);
  using Word = std::conditional_t<(bytes < 16), uint2, uint4>;
  static constexpr int words = bytes / static_cast<int>(sizeof(Word));
  Word word[words];
};

template <class Column, class Real>
__device__ __forceinline__ void load_group(const void* column, std::uint64_t index, bool aligned, Real (&values)[group_size]) {
  if constexpr (Column::reads) {
    using T = typename Column::type;
    const T* const first = static_cast<const T*>(column) + index;
    if (aligned) {
      Raw<T> raw;
#pragma unroll
      for (int w = 0; w < Raw<T>::words; ++w) raw.word[w] = reinterpret_cast<const typename Raw<T>::Word*>(first)[w];
      using Bits = typename element_traits<T>::bits_type;
#pragma unroll
      for (int i = 0; i < static_cast<int>(group_size); ++i) {
        Bits bits;
        __builtin_memcpy(&bits, reinterpret_cast<const char*>(raw.word) + i * sizeof(T), sizeof(T));
        values[i] = convert<Real>(from_bits<T>(bits));
      }
    } else {
#pragma unroll
      for (int i = 0; i < static_cast<int>(group_size); ++i) values[i] = convert<Real>(first[i]);
    }
  }
}

template <class Column, class Real>
__device__ __forceinline__ void store_group(void* column, std::uint64_t index, bool aligned, const Real (&values)[group_size]) {
  if constexpr (Column::writes) {
    using T = typename Column::type;
    T* const first = static_cast<T*>(column) + index;
    if (aligned) {
      Raw<T> raw;
      using Bits = typename element_traits<T>::bits_type;
#pragma unroll
      for (int i = 0; i < static_cast<int>(group_size); ++i) {
        const Bits bits = to_bits(convert<T>(values[i]));
        __builtin_memcpy(reinterpret_cast<char*>(raw.word) + i * sizeof(T), &bits, sizeof(T));
      }
#pragma unroll
      for (int w = 0; w < Raw<T>::words; ++w) reinterpret_cast<typename Raw<T>::Word*>(first)[w] = raw.word[w];
    } else {
#pragma unroll
      for (int i = 0; i < static_cast<int>(group_size); ++i) first[i] = convert<T>(values[i]);
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

/// Eight elements of every column through `f(real&...)`, `aligned` holding one flag a column.
template <bool AllAligned, class F, class... Column, std::size_t... I>
__device__ __forceinline__ void group(Columns<Column...>, std::index_sequence<I...>, void* const* columns, std::uint64_t index,
                                      const bool* aligned, F&& f) {
  using Real = typename Columns<Column...>::real;
  Real values[sizeof...(Column)][group_size];
  (load_group<Column>(columns[I], index, AllAligned || aligned[I], values[I]), ...);
#pragma unroll
  for (int i = 0; i < static_cast<int>(group_size); ++i) f(values[I][i]...);
  (store_group<Column>(columns[I], index, AllAligned || aligned[I], values[I]), ...);
}

template <class... Column, std::size_t... I>
__device__ __forceinline__ bool find_aligned(Columns<Column...>, std::index_sequence<I...>, void* const* columns, std::uint64_t index,
                                             bool* aligned) {
  ((aligned[I] = is_aligned(static_cast<const typename Column::type*>(columns[I]) + index)), ...);
  return (aligned[I] && ...);
}

}  // namespace mezzo::multi_tensor::detail
