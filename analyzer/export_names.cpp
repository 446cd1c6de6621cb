#include "export_names.h"

namespace pincheck {

const char* name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::pass:
            return "pass";
        case Verdict::violated:
            return "violated";
        case Verdict::no_conclusion:
            break;
    }
    return "no-conclusion";
}

const char* name_of(Severity severity) {
    switch (severity) {
        case Severity::error:
            return "error";
        case Severity::warning:
            return "warning";
        case Severity::note:
            break;
    }
    return "note";
}

const char* name_of(Origin origin) {
    switch (origin) {
        case Origin::user:
            return "user";
        case Origin::framework:
            return "framework";
        case Origin::vendor:
            return "vendor";
        case Origin::system:
            return "system";
        case Origin::cuda:
            return "cuda";
        case Origin::tool:
            break;
    }
    return "tool";
}

const char* name_of(Saving::State state) {
    switch (state) {
        case Saving::State::given:
            return "given";
        case Saving::State::withheld:
            return "withheld";
        case Saving::State::not_worth:
            return "not-worth";
        case Saving::State::none:
            break;
    }
    return "none";
}

}  // namespace pincheck
