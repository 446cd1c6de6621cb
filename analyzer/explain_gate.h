// What `pincheck explain` says of the gate: what fails it, and what a team can let pass.
#pragma once

namespace pincheck {

const char* default_gate_text();
const char* gate_text();

}  // namespace pincheck
