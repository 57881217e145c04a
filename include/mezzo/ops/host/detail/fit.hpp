#pragma once
// As many threads as the workspace has scratch for.

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include <mezzo/executor/host.hpp>
#include <mezzo/ops/host/detail/parallel.hpp>
#include <mezzo/ops/workspace.hpp>

namespace mezzo::detail::host {

/// The work that `make(slots, memory)` lays out, with the most slots that fit into the workspace, one at least.
/// @throws InvalidArgument when not even one fits.
template <class Make>
auto fit(const Workspace<HostExecutor>& workspace, std::string_view op, const std::source_location& where, Make&& make) {
  std::int64_t slots = threads();
  while (slots > 1 && make(slots, nullptr).bytes() > workspace.bytes()) --slots;
  const std::size_t needed = make(slots, nullptr).bytes();
  return make(slots, workspace.scratch(needed, op, where));
}

}  // namespace mezzo::detail::host
