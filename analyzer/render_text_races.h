// Races of one site, for `pincheck show`; what a heading says of them instead of the time held; and what this level of
// `races` does not see.
#pragma once

#include <string>
#include <vector>

#include "capture.h"
#include "findings.h"
#include "origin.h"
#include "render_text_layout.h"

namespace pincheck {

// "corrupting, 60 times", "latent, once", "100 times": of findings whose cost is not time.
std::string found_text(const Finding& finding);

// Every race that the site is a party of. Nothing where there is none.
// Reads from write-combined memory that this site made, or that are of memory which it allocated.
void add_reads(Lines& lines, const Capture& capture, const CaptureSite& site, const Origins& origins);
void add_races(Lines& lines, const Capture& capture, const CaptureSite& site, const Origins& origins);

// One line for each kind of access that some process did not look for, by its option `races`; one for each process.
std::vector<std::string> unseen_races(const Capture& capture);

}  // namespace pincheck
