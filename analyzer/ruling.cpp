#include "ruling.h"

namespace pincheck {

const char* name_of(Decision decision) {
    switch (decision) {
        case Decision::by_default:
            return "default";
        case Decision::strict:
            return "strict";
        case Decision::fail_on:
            return "fail-on";
        case Decision::note:
            return "note";
        case Decision::library:
            return "library";
        case Decision::not_selected:
            return "not-selected";
        case Decision::staged:
            return "staged";
        case Decision::suppressed:
            return "suppressed";
        case Decision::within_threshold:
            return "within-threshold";
        case Decision::in_baseline:
            break;
    }
    return "in-baseline";
}

const char* name_of(Since since) {
    switch (since) {
        case Since::no_baseline:
            return "no-baseline";
        case Since::fresh:
            return "new";
        case Since::known:
            return "known";
        case Since::worse:
            break;
    }
    return "worse";
}

}  // namespace pincheck
