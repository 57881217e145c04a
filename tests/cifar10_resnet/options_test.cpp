#include "../../examples/cifar10_resnet/command_line.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace cifar10;

namespace {

Options parse(std::vector<const char*> words) {
  words.insert(words.begin(), "cifar10_resnet");
  Options options;
  REQUIRE(parse_options(static_cast<int>(words.size()), words.data(), "/embedded", options));
  return options;
}
std::string refusal(std::vector<const char*> words) {
  words.insert(words.begin(), "cifar10_resnet");
  Options options;
  try {
    parse_options(static_cast<int>(words.size()), words.data(), "/embedded", options);
  } catch (const OptionError& error) {
    const std::string text = error.what();
    CHECK_MESSAGE(text.find('\n') == std::string::npos, "one line: ", text);
    return text;
  }
  FAIL("not refused");
  return {};
}

}  // namespace

TEST_CASE("without_options_one_float16_run_on_the_embedded_images") {
  const Options options = parse({});
  CHECK(options.precisions == std::vector{Precision::float16});
  CHECK(options.train_files == std::vector<std::filesystem::path>{"/embedded/train_sample2000.bin"});
  CHECK(options.test_files == std::vector<std::filesystem::path>{"/embedded/test_first1000.bin"});
}

TEST_CASE("every_option_reaches_its_field") {
  const Options o = parse({"--compare", "bfloat16,float32", "--scaling", "dynamic", "--device", "cuda", "--depth", "20",
                           "--epochs", "3", "--batch", "7", "--accumulate", "2", "--max-steps", "9", "--warmup-steps", "4", "--log-every", "6", "--no-graph", "--lr", "0.25",
                           "--momentum", "0.5", "--weight-decay", "0.125", "--clip", "2", "--seed", "18446744073709551615",
                           "--no-augment", "--train", "a", "b", "--test", "c", "--verify", "--output", "out",
                           "--expect-accuracy", "35", "--expect-gap", "4"});
  CHECK(o.precisions == std::vector{Precision::bfloat16, Precision::float32});
  CHECK(o.scaling == Scaling::dynamic);
  CHECK(o.device == Device::cuda);
  CHECK(o.depth == 20);
  CHECK(o.epochs == 3);
  CHECK(o.batch == 7);
  CHECK(o.accumulate == 2);
  CHECK(o.max_steps == 9);
  CHECK(o.warmup_steps == 4);
  CHECK(o.log_every == 6);
  CHECK(!o.graph);
  CHECK(o.learning_rate == .25f);
  CHECK(o.momentum == .5f);
  CHECK(o.weight_decay == .125f);
  CHECK(o.clip == 2.f);
  CHECK(o.seed == ~std::uint64_t{0});
  CHECK(!o.augment);
  CHECK(o.train_files == std::vector<std::filesystem::path>{"a", "b"});
  CHECK(o.test_files == std::vector<std::filesystem::path>{"c"});
  CHECK(o.verify);
  CHECK(o.output == "out");
  CHECK(o.expected_accuracy == 35.f);
  CHECK(o.expected_gap == 4.f);
  // A field added to Options breaks this line until it is tested above.
  [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r, s, t, u, v, w, x] = o;
}

TEST_CASE("every_precision_can_be_named") {
  CHECK(parse({"--precision", "float32"}).precisions == std::vector{Precision::float32});
  CHECK(parse({"--precision", "float16"}).precisions == std::vector{Precision::float16});
  CHECK(parse({"--precision", "bfloat16"}).precisions == std::vector{Precision::bfloat16});
  CHECK(parse({"--precision", "float16_unscaled"}).precisions == std::vector{Precision::float16_unscaled});
  CHECK(parse({"--compare", "float32,float16,bfloat16"}).precisions.size() == 3);
}

TEST_CASE("data_names_the_six_official_files") {
  const Options o = parse({"--data", "/d"});
  CHECK(o.train_files == std::vector<std::filesystem::path>{"/d/data_batch_1.bin", "/d/data_batch_2.bin", "/d/data_batch_3.bin",
                                                            "/d/data_batch_4.bin", "/d/data_batch_5.bin"});
  CHECK(o.test_files == std::vector<std::filesystem::path>{"/d/test_batch.bin"});
  CHECK(refusal({"--data", "/d", "--train", "a"}) == "--train excludes --data");
}

TEST_CASE("a_count_of_0_or_below_or_not_whole_or_too_large_is_refused_with_its_value") {
  for (const char* option : {"--batch", "--epochs", "--accumulate", "--max-steps"})
    for (const char* value : {"0", "-1", "1.5", "65537", "4294967297", "99999999999999999999", "ten", "1e3", "0x10", " 5"})
      CHECK(refusal({option, value}) ==
            std::string(option) + ": must be a whole number from 1 to 65536, got " + value);
}

TEST_CASE("a_whole_number_is_decimal_whatever_zeros_it_begins_with_and_never_clamped") {
  const Options o = parse({"--batch", "010", "--epochs", "08", "--depth", "020", "--seed", "0018446744073709551615"});
  CHECK(o.batch == 10);
  CHECK(o.epochs == 8);
  CHECK(o.depth == 20);
  CHECK(o.seed == ~std::uint64_t{0});
  for (const char* value : {"18446744073709551616", "99999999999999999999", "-1", "+1", ""})
    CHECK(refusal({"--seed", value}) ==
          std::string("--seed: must be a whole number below 2^64, got ") + (*value == 0 ? "\"\"" : value));
}

TEST_CASE("an_empty_path_is_refused") {
  CHECK(refusal({"--data", ""}) == "--data: must be a folder, got \"\"");
  CHECK(refusal({"--train", ""}) == "--train: must be a file, got \"\"");
  CHECK(refusal({"--train", "a", ""}) == "--train: must be a file, got \"\"");
  CHECK(refusal({"--test", ""}) == "--test: must be a file, got \"\"");
  CHECK(refusal({"--output", ""}) == "--output: must be a folder, got \"\"");
}

TEST_CASE("a_gap_needs_two_runs_one_of_them_float32") {
  const char* const text = "--expect-gap: must have float32 and another precision in --compare, else there is no gap";
  CHECK(refusal({"--expect-gap", "4"}) == text);
  CHECK(refusal({"--expect-gap", "4", "--precision", "float32"}) == text);
  CHECK(refusal({"--expect-gap", "100", "--compare", "float16,bfloat16"}) == text);
  CHECK(parse({"--expect-gap", "4", "--compare", "float16,float32"}).expected_gap == 4.f);
}

TEST_CASE("a_real_number_outside_its_range_is_refused_with_its_value") {
  for (const char* option : {"--lr", "--weight-decay", "--clip"})
    for (const char* value : {"-0.1", "nan", "inf", "1e99", "x"})
      CHECK(refusal({option, value}) == std::string(option) + ": must be a finite number, at least 0, got " + value);
  for (const char* value : {"1", "-0.5", "nan"})
    CHECK(refusal({"--momentum", value}) == std::string("--momentum: must be in [0, 1), got ") + value);
  CHECK(refusal({"--expect-accuracy", "101"}) == "--expect-accuracy: must be a percentage from 0 to 100, got 101");
}

TEST_CASE("a_wrong_name_is_refused_with_the_right_ones") {
  CHECK(refusal({"--precision", "half"}) == "--precision: must be float32, tf32, float16, bfloat16 or float16_unscaled, got half");
  CHECK(refusal({"--precision", "1"}) == "--precision: must be float32, tf32, float16, bfloat16 or float16_unscaled, got 1");
  CHECK(refusal({"--compare", "float32,double"}) == "--compare: must be float32, tf32, float16, bfloat16 or float16_unscaled, got double");
  CHECK(refusal({"--device", "gpu"}) == "--device: must be host or cuda, got gpu");
  CHECK(refusal({"--scaling", "on"}) == "--scaling: must be auto or dynamic, got on");
  CHECK(refusal({"--depth", "9"}) == "--depth: must be 8, 18 or 20, got 9");
}

TEST_CASE("tf32_is_for_cuda") {
  CHECK(refusal({"--precision", "tf32"}) == "--precision: tf32 needs --device cuda; the host computes in float32");
  CHECK(parse({"--precision", "tf32", "--device", "cuda"}).precisions == std::vector{Precision::tf32});
}

TEST_CASE("scaling_what_must_not_be_scaled_is_refused") {
  const char* const text = "--scaling: must be auto with float16_unscaled, which trains without loss scaling, got dynamic";
  CHECK(refusal({"--precision", "float16_unscaled", "--scaling", "dynamic"}) == text);
  CHECK(refusal({"--scaling", "dynamic", "--compare", "float16,float16_unscaled"}) == text);
  CHECK(parse({"--precision", "float16_unscaled", "--scaling", "auto"}).scaling == Scaling::automatic);
  CHECK(parse({"--compare", "float32,bfloat16", "--scaling", "dynamic"}).scaling == Scaling::dynamic);
}

TEST_CASE("a_precision_compared_with_itself_is_refused") {
  CHECK(refusal({"--compare", "float16,float16"}) == "--compare: each precision at most once, got float16 twice");
}

TEST_CASE("unknown_options_missing_values_and_contradictions_are_refused") {
  CHECK(refusal({"--bacth", "5"}).find("--bacth") != std::string::npos);
  CHECK(refusal({"stray"}).find("stray") != std::string::npos);
  CHECK(refusal({"--batch"}).find("--batch") != std::string::npos);
  CHECK(refusal({"--precision", "float32", "--compare", "float16"}).find("excludes") != std::string::npos);
}

TEST_CASE("a_step_larger_than_the_training_set_is_refused") {
  Options options;
  options.batch = 50;
  options.accumulate = 4;
  CHECK(length_of(options, 200).step_images == 200);
  CHECK_THROWS_WITH_AS(length_of(options, 199),
                       "--batch: batch times accumulate must be at most the 199 training images, got 50 * 4", OptionError);
  options.batch = options.accumulate = 65536;
  CHECK_THROWS_AS(length_of(options, 199), OptionError);   // 2^32 does not wrap to 0
}

TEST_CASE("the_length_of_a_run_leaves_the_rest_of_the_images_to_the_next_epoch_and_keeps_the_limit") {
  Options options;
  options.batch = 3;
  options.accumulate = 2;
  options.epochs = 4;
  Length length = length_of(options, 23);
  CHECK(length.step_images == 6);
  CHECK(length.steps_per_epoch == 3);
  CHECK(length.total_steps == 12);
  options.max_steps = 5;
  CHECK(length_of(options, 23).total_steps == 5);
  options.max_steps = 13;
  CHECK(length_of(options, 23).total_steps == 12);
}

TEST_CASE("more_steps_than_32_bits_count_are_refused") {
  Options options;
  options.batch = 1;
  options.epochs = 65536;
  CHECK(length_of(options, 65535).total_steps == 65535u * 65536u);
  CHECK_THROWS_WITH_AS(length_of(options, 65536), "--epochs: must make fewer than 2^32 steps, got 65536 * 65536", OptionError);
  CHECK_THROWS_WITH_AS(length_of(options, 65537), "--epochs: must make fewer than 2^32 steps, got 65537 * 65536", OptionError);
  options.max_steps = 7;
  CHECK(length_of(options, 65537).total_steps == 7);
}

TEST_CASE("a_warm_up_that_leaves_no_step_to_be_timed_is_refused") {
  Options options;
  options.batch = 10;
  options.epochs = 2;
  options.warmup_steps = 7;
  CHECK(length_of(options, 40).total_steps == 8);
  options.warmup_steps = 8;
  CHECK_THROWS_WITH_AS(length_of(options, 40), "--warmup-steps: must be fewer than the run's 8 steps, got 8", OptionError);
  options.warmup_steps = 3;
  options.max_steps = 3;
  CHECK_THROWS_WITH_AS(length_of(options, 40), "--warmup-steps: must be fewer than the run's 3 steps, got 3", OptionError);
}
