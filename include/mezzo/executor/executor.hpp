#pragma once
// Where work runs: the concept of an executor, and the erased form that objects keep.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <source_location>
#include <type_traits>

namespace mezzo {

/// A place where work is queued in order: the host, or one CUDA stream. A small value that owns nothing.
///
/// `allocate` and `deallocate` are ordered with the work; `copy` and `fill` are queued and do not wait (the host executor
/// does its work at once); pointers may be of the host or of the executor's memory. `wait` returns when all queued work is
/// done, and throws what that work failed with. `accessible` tells whether work may read and write through a pointer.
template <class E>
concept Executor = std::is_trivially_copyable_v<E> &&
                   requires(const E& executor, void* to, const void* from, std::size_t bytes, std::source_location where) {
                     { executor.allocate(bytes, where) } -> std::same_as<void*>;
                     { executor.deallocate(to, bytes) } noexcept;
                     executor.copy(to, from, bytes, where);
                     executor.fill(to, std::byte{0}, bytes, where);
                     executor.wait(where);
                     { executor.accessible(from) } -> std::same_as<bool>;
                   };

namespace detail {

/// Whether work can be launched on an executor from this translation unit.
template <class E>
concept Launches = requires(const E& executor, void (*functor)(), std::source_location where) { run_once(executor, functor, where); };

/// The table of an object's work, `Table::value`, instantiated for the executor it is built on.
template <class E, class Table>
constexpr auto* operations_on() {
  static_assert(Launches<E>,
                "this translation unit cannot launch work on the executor. Construct on a CudaExecutor in a .cu file that includes "
                "mezzo/mezzo.cuh; the object itself can be held and used anywhere (executor/cuda.cuh).");
  if constexpr (Launches<E>) {
    return &Table::value;
  } else {
    return static_cast<decltype(&Table::value)>(nullptr);
  }
}

}  // namespace detail

/// Any executor, its type erased: what objects built on one keep, so that their layout never depends on the compiler.
///
/// A copy of the executor's value; usable from any translation unit, whatever compiled the one that made it.
class AnyExecutor {
 public:
  template <Executor E>
    requires(!std::same_as<E, AnyExecutor> && sizeof(E) <= 16)
  AnyExecutor([[maybe_unused]] const E& executor) noexcept : operations_(&Table<E>::value) {  // NOLINT: implicit on purpose
    // The one byte of an empty executor has no value, and g++ warns where it sees it read.
    if constexpr (!std::is_empty_v<E>) std::memcpy(value_, &executor, sizeof(E));
  }

  [[nodiscard]] void* allocate(std::size_t bytes, std::source_location where = std::source_location::current()) const {
    return operations_->allocate(*this, bytes, where);
  }
  void deallocate(void* pointer, std::size_t bytes) const noexcept { operations_->deallocate(*this, pointer, bytes); }
  void copy(void* to, const void* from, std::size_t bytes, std::source_location where = std::source_location::current()) const {
    operations_->copy(*this, to, from, bytes, where);
  }
  void fill(void* to, std::byte value, std::size_t bytes, std::source_location where = std::source_location::current()) const {
    operations_->fill(*this, to, value, bytes, where);
  }
  void wait(std::source_location where = std::source_location::current()) const { operations_->wait(*this, where); }
  [[nodiscard]] bool accessible(const void* pointer) const { return operations_->accessible(*this, pointer); }

  /// Whether both were made from the same type of executor.
  [[nodiscard]] bool same_kind(const AnyExecutor& other) const noexcept { return operations_ == other.operations_; }

  /// The executor this was made from; `E` must be its type.
  template <Executor E>
  [[nodiscard]] E get() const noexcept {
    struct Bytes {
      std::byte bytes[sizeof(E)];
    } value;
    std::memcpy(value.bytes, value_, sizeof(E));
    return std::bit_cast<E>(value);
  }

 private:
  struct Operations {
    void* (*allocate)(const AnyExecutor&, std::size_t, std::source_location);
    void (*deallocate)(const AnyExecutor&, void*, std::size_t) noexcept;
    void (*copy)(const AnyExecutor&, void*, const void*, std::size_t, std::source_location);
    void (*fill)(const AnyExecutor&, void*, std::byte, std::size_t, std::source_location);
    void (*wait)(const AnyExecutor&, std::source_location);
    bool (*accessible)(const AnyExecutor&, const void*);
  };

  template <class E>
  struct Table;  // after the class, which its functions need complete

  alignas(16) std::byte value_[16] = {};
  const Operations* operations_;
};

template <class E>
struct AnyExecutor::Table {
  static constexpr Operations value{
      .allocate = [](const AnyExecutor& self, std::size_t bytes, std::source_location where) {
        return self.get<E>().allocate(bytes, where);
      },
      .deallocate = [](const AnyExecutor& self, void* pointer, std::size_t bytes) noexcept {
        self.get<E>().deallocate(pointer, bytes);
      },
      .copy = [](const AnyExecutor& self, void* to, const void* from, std::size_t bytes, std::source_location where) {
        self.get<E>().copy(to, from, bytes, where);
      },
      .fill = [](const AnyExecutor& self, void* to, std::byte value, std::size_t bytes, std::source_location where) {
        self.get<E>().fill(to, value, bytes, where);
      },
      .wait = [](const AnyExecutor& self, std::source_location where) { self.get<E>().wait(where); },
      .accessible = [](const AnyExecutor& self, const void* pointer) { return self.get<E>().accessible(pointer); },
  };
};

}  // namespace mezzo
