// Races in words: both parties, the bytes, the wait that came too late, how it is known, and what to do. Names from a
// report are neutralised (printable.h).
#pragma once

#include <span>
#include <string>

#include "capture.h"
#include "origin.h"

namespace pincheck {

// Races that are one finding; the first is the one that the text is about. Never empty.
using RaceList = std::span<const CaptureRace* const>;

// "cudaMemsetAsync at src/x.cu:12", "the host, between cudaMemcpyAsync at x.cu:1 and cudaEventSynchronize at x.cu:9",
// "the host in helper(), src/x.cu:7".
std::string party_text(const Capture& capture, const CaptureRace& race, const Origins& origins);

// "bytes 64 to 127 of 4 KiB", "all 4 KiB"; "" when not known.
std::string overlap_text(const CaptureRace& race);

// "60 times: 50 corrupting (…), 7 latent (…), of 3 it is not known"
std::string times_text(std::uint64_t count, std::uint64_t corrupting, std::uint64_t latent);

// "the order of calls"
const char* level_text(const CaptureRace& race);

// Whether the two may be ordered, or the first complete, in a way that is not seen; see race_why().
bool is_presumed(const Capture& capture, const CaptureRace& race);
std::string race_why(const Capture& capture, RaceList races, const Origins& origins);
// `issuer`: of the copy. `theirs`: both parties are a vendor's library.
std::string race_fix(const Capture& capture, const CaptureRace& race, Origin issuer, bool theirs,
                     const Origins& origins);

// Whether it is corrupting or latent, by the device's times; else it is always the one, or neither.
bool has_outcome(const Capture& capture, const CaptureRace& race);

// Of relies-on-staging: whether something did use the memory again. A batch copy may merely be allowed to read it
// later.
bool is_reused(const CaptureRace& race);

// Of released-in-flight: whether a CUDA function released the memory: it waits for the device first.
bool is_cuda_release(const Capture& capture, const CaptureRace& race);

}  // namespace pincheck
