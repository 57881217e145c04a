#pragma once
// Is this file byte for byte the official one? SHA-1 as published with the data set; libcrypto computes it.

#include <array>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <openssl/evp.h>

#include "dataset.hpp"

namespace cifar10 {

struct KnownDigest {
  std::string_view name, sha1;
};
/// The official files, and the two excerpts in this folder's data/.
inline constexpr std::array known_digests{
    KnownDigest{"data_batch_1.bin", "aadd24acce27caa71bf4b10992e9e7b2d74c2540"},
    KnownDigest{"data_batch_2.bin", "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795"},
    KnownDigest{"data_batch_3.bin", "1dd00a74ab1d17a6e7d73e185b69dbf31242f295"},
    KnownDigest{"data_batch_4.bin", "aab85764eb3584312d3c7f65fd2fd016e36a258e"},
    KnownDigest{"data_batch_5.bin", "26e2849e66a845b7f1e4614ae70f4889ae604628"},
    KnownDigest{"test_batch.bin", "67eb016db431130d61cd03c7ad570b013799c88c"},
    KnownDigest{"train_sample2000.bin", "384b49faa1af386c9c361a0781a2b14fcef70538"},
    KnownDigest{"test_first1000.bin", "99fb5092fe8004d15ee248abbc35fef4d858bcb0"}};

/// SHA-1 of `bytes`, 40 hexadecimal digits.
inline std::string sha1(std::span<const std::uint8_t> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha1(), nullptr) != 1)
    throw std::runtime_error("libcrypto: SHA-1 is not available");
  std::string text;
  for (unsigned i = 0; i < length; ++i) {
    constexpr std::string_view digits = "0123456789abcdef";
    text += digits[digest[i] >> 4];
    text += digits[digest[i] & 15];
  }
  return text;
}

/// Refuses a file whose content is not what its name promises: swapped batches, a flipped bit, an unofficial copy.
/// @throws DataError with fault unknown_digest (the name is none of known_digests) or wrong_digest.
inline void verify_digest(const MappedFile& file) {
  const std::string name = file.path().filename().string();
  const auto is_named = [&](const KnownDigest& known) { return known.name == name; };
  const auto expected = std::ranges::find_if(known_digests, is_named);
  if (expected == known_digests.end())
    throw DataError(DataFault::unknown_digest, file.path(), "a file to verify must have an official name, got " + name);
  const std::string got = sha1(file.bytes());
  if (got == expected->sha1) return;
  const auto holds = [&](const KnownDigest& known) { return known.sha1 == got; };
  const auto really = std::ranges::find_if(known_digests, holds);
  throw DataError(DataFault::wrong_digest, file.path(),
                  "SHA-1 must be " + std::string(expected->sha1) + ", got " + got +
                      (really == known_digests.end() ? "" : " (" + std::string(really->name) + ")"));
}

}  // namespace cifar10
