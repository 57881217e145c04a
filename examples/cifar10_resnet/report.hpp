#pragma once
// What is told of all runs: the table, and the options' and each run's part of results.json.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "options.hpp"
#include "result.hpp"

namespace cifar10 {

/// 1234567 as "1,234,567".
inline std::string grouped(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

/// One column a run, ratios to the float32 run where there is one. Markdown, aligned to be read as it is.
inline std::string table(const std::vector<Result>& results) {
  const Result* base = nullptr;
  for (const Result& result : results)
    if (result.name == "float32") base = &result;
  const auto with_ratio = [&](const Result& r, const std::string& text, double value, double reference) {
    return base == nullptr || base == &r || reference <= 0. ? text : text + format(" (%.3g x)", value / reference);
  };

  std::vector<std::pair<std::string, std::vector<std::string>>> rows;
  const auto row = [&](const std::string& name, auto&& cell) {
    rows.push_back({name, {}});
    for (const Result& result : results) rows.back().second.push_back(cell(result));
  };
  row("", [](const Result& r) { return r.name; });
  row("images/s", [&](const Result& r) {
    return with_ratio(r, format("%.1f", r.images_per_second), r.images_per_second, base ? base->images_per_second : 0.);
  });
  for (const Use use : all_uses)
    row(std::string("bytes of ") + name_of(use), [&](const Result& r) {
      return with_ratio(r, grouped(r.bytes[use]), static_cast<double>(r.bytes[use]),
                        base ? static_cast<double>(base->bytes[use]) : 0.);
    });
  if (std::ranges::any_of(results, [](const Result& r) { return r.device.has_value(); })) {
    const auto device_row = [&](const std::string& name, std::uint64_t DeviceMemory::*bytes) {
      row(name, [&](const Result& r) -> std::string {
        if (!r.device) return "-";
        const auto reference = base && base->device ? static_cast<double>((*base->device).*bytes) : 0.;
        return with_ratio(r, grouped((*r.device).*bytes), static_cast<double>((*r.device).*bytes), reference);
      });
    };
    device_row("bytes of the data set", &DeviceMemory::data_set);
    device_row("peak bytes in training", &DeviceMemory::peak);
    device_row("bytes used on the device", &DeviceMemory::device_used);
  }
  row("test accuracy, %", [&](const Result& r) -> std::string {
    if (!r.test_accuracy) return "-";
    const auto text = format("%.1f", static_cast<double>(*r.test_accuracy));
    if (!r.complete) return text + format(" after epoch %u", r.tested_epoch);
    if (base == nullptr || base == &r || !base->test_accuracy) return text;
    return text + format(" (%+.1f)", static_cast<double>(*r.test_accuracy) - static_cast<double>(*base->test_accuracy));
  });
  row("last loss", [](const Result& r) { return format("%.4f", static_cast<double>(r.loss)); });
  row("steps", [](const Result& r) { return grouped(r.steps) + (r.complete ? "" : " (interrupted)"); });
  row("steps skipped", [](const Result& r) { return grouped(r.skipped); });
  row("final scale", [](const Result& r) { return format("%g", static_cast<double>(r.final_scale)); });
  row("gradients lost in float16, %", [](const Result& r) { return r.flushed ? format("%.3f", r.flushed->without_scale) : "-"; });
  row("the same with the scale, %", [](const Result& r) {
    return r.flushed ? format("%.3f (scale %g)", r.flushed->with_scale, static_cast<double>(r.flushed->scale)) : "-";
  });

  std::vector<std::size_t> widths(results.size() + 1);
  for (const auto& [name, cells] : rows) {
    widths[0] = std::max(widths[0], name.size());
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i + 1] = std::max(widths[i + 1], cells[i].size());
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto& [name, cells] = rows[r];
    text.append("| ").append(name).append(widths[0] - name.size(), ' ').append(" |");
    for (std::size_t i = 0; i < cells.size(); ++i)
      text.append(1 + widths[i + 1] - cells[i].size(), ' ').append(cells[i]).append(" |");
    text.append("\n");
    if (r != 0) continue;
    text.append("|").append(widths[0] + 2, '-').append("|");
    for (std::size_t i = 0; i < cells.size(); ++i) text.append(widths[i + 1] + 1, '-').append(":|");
    text.append("\n");
  }
  return text;
}

/// Every option; of files the names alone.
inline nlohmann::ordered_json to_json(const Options& options) {
  // A field added to Options breaks this line until it is written below.
  const auto& [precisions, scaling, device, depth, epochs, batch, accumulate, max_steps, warmup_steps, log_every, graph,
               learning_rate, momentum, weight_decay, clip, seed, augment, train_files, test_files, verify, output,
               expected_accuracy, expected_gap] = options;
  const auto names = [](const std::vector<std::filesystem::path>& files) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& file : files) list.push_back(file.filename().string());
    return list;
  };
  nlohmann::ordered_json precision_names = nlohmann::ordered_json::array();
  for (const Precision precision : precisions) precision_names.push_back(name_of(precision));
  return {{"precisions", precision_names},
          {"scaling", name_of(scaling)},
          {"device", name_of(device)},
          {"depth", depth},
          {"epochs", epochs},
          {"batch", batch},
          {"accumulate", accumulate},
          {"max_steps", max_steps},
          {"warmup_steps", warmup_steps},
          {"log_every", log_every},
          {"graph", graph},
          {"learning_rate", learning_rate},
          {"momentum", momentum},
          {"weight_decay", weight_decay},
          {"clip", clip},
          {"seed", seed},
          {"augment", augment},
          {"training_files", names(train_files)},
          {"test_files", names(test_files)},
          {"verify", verify},
          {"output", output.string()},
          {"expected_accuracy", expected_accuracy},
          {"expected_gap", expected_gap}};
}

inline nlohmann::ordered_json to_json(const Result& r) {
  nlohmann::ordered_json json{{"name", r.name},
                              {"complete", r.complete},
                              {"steps", r.steps},
                              {"skipped_steps", r.skipped},
                              {"images_per_second", r.images_per_second},
                              {"training_seconds", r.seconds},
                              {"final_scale", r.final_scale},
                              {"last_loss", r.loss}};
  json["test_accuracy_percent"] = r.test_accuracy ? nlohmann::ordered_json(*r.test_accuracy) : nlohmann::ordered_json();
  json["tested_epoch"] = r.test_accuracy ? nlohmann::ordered_json(r.tested_epoch) : nlohmann::ordered_json();
  for (const Use use : all_uses) {
    std::string key = name_of(use);
    std::ranges::replace(key, ' ', '_');
    json["bytes"][key] = r.bytes[use];
  }
  if (r.device)
    json["device_bytes"] = {{"peak_in_training", r.device->peak},
                            {"data_set", r.device->data_set},
                            {"device_used", r.device->device_used}};
  if (r.flushed)
    json["gradients_lost_in_float16_percent"] = {{"without_scale", r.flushed->without_scale},
                                                 {"with_scale", r.flushed->with_scale},
                                                 {"scale", r.flushed->scale}};
  return json;
}

/// Writes results.json, which is `json` and the runs, and table.md, each whole. Tries both. @throws OutputError
inline void write_results(const Output& output, nlohmann::ordered_json json, const std::vector<Result>& results) {
  for (const Result& result : results) json["runs"].push_back(to_json(result));
  // A file's name may be no UTF-8: what JSON cannot hold is replaced.
  const std::string text = json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  std::exception_ptr failure;
  for (const auto& [name, content] : {std::pair{"results.json", text}, std::pair{"table.md", table(results)}}) try {
      output.write(name, content);
    } catch (const OutputError&) {
      if (!failure) failure = std::current_exception();
    }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace cifar10
