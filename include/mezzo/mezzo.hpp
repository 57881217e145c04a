#pragma once
// Everything that needs no nvcc and no other library. Left out, each an include of its own:
//   mezzo/ops/ops.hpp     the ops, which need a CBLAS on the host
//   mezzo/core/nvtx.hpp   ranges for profilers, which bring NVTX's C headers and macros
// A source that names policies and nothing else compiles faster with mezzo/policy/policy.hpp and what it uses from that folder.

#include <mezzo/core/error.hpp>
#include <mezzo/core/span.hpp>
#include <mezzo/executor/cuda.hpp>
#include <mezzo/executor/host.hpp>
#include <mezzo/executor/memory.hpp>
#include <mezzo/loss_scale/dynamic.hpp>
#include <mezzo/loss_scale/none.hpp>
#include <mezzo/loss_scale/runtime.hpp>
#include <mezzo/loss_scale/static.hpp>
#include <mezzo/multi_tensor/host_runner.hpp>
#include <mezzo/numeric/convert.hpp>
#include <mezzo/numeric/promote.hpp>
#include <mezzo/optim/adamw.hpp>
#include <mezzo/optim/clip_grad_norm.hpp>
#include <mezzo/optim/master_optimizer.hpp>
#include <mezzo/optim/schedule.hpp>
#include <mezzo/optim/sgd.hpp>
#include <mezzo/policy/cast_report.hpp>
#include <mezzo/policy/dispatch.hpp>
#include <mezzo/policy/environment.hpp>
#include <mezzo/policy/mdspan_view.hpp>
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/parameter_view.hpp>
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/traced.hpp>
#include <mezzo/policy/view.hpp>
