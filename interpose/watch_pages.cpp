#include "watch_pages.h"

namespace pincheck {

Watch* WatchPages::make() noexcept {
    Watch* watch = nullptr;
    if (first_free_ != 0) {
        watch = &at(first_free_);
        first_free_ = watch->right;
    } else {
        watch = watches_.fresh();
        if (watch == nullptr) {
            return nullptr;
        }
        watch->index = watches_.used();
    }
    const std::uint32_t index = watch->index;
    const std::uint32_t generation = watch->generation + 1;
    *watch = Watch{};
    watch->index = index;
    watch->generation = generation == 0 ? 1 : generation;
    return watch;
}

void WatchPages::recycle(Watch& watch) noexcept {
    ++watch.generation;  // nothing finds it any more
    watch.right = first_free_;
    first_free_ = watch.index;
}

Watch* WatchPages::find(std::uint32_t index, std::uint32_t generation) const noexcept {
    if (index == 0 || index > watches_.used() || at(index).generation != generation) {
        return nullptr;
    }
    return &at(index);
}

void WatchPages::update(Watch& watch) const noexcept {
    watch.highest_end = watch.tree_end;
    for (const std::uint32_t child : {watch.left, watch.right}) {
        if (child != 0 && at(child).highest_end > watch.highest_end) {
            watch.highest_end = at(child).highest_end;
        }
    }
}

// Recursion below is as deep as the tree: about 30 levels for a full table.

void WatchPages::split(std::uint32_t tree, const Watch& key, std::uint32_t& less, std::uint32_t& rest) const noexcept {
    if (tree == 0) {
        less = rest = 0;
        return;
    }
    Watch& watch = at(tree);
    if (before(watch, key)) {
        split(watch.right, key, watch.right, rest);
        less = tree;
    } else {
        split(watch.left, key, less, watch.left);
        rest = tree;
    }
    update(watch);
}

std::uint32_t WatchPages::merge(std::uint32_t less, std::uint32_t rest) const noexcept {
    if (less == 0 || rest == 0) {
        return less + rest;
    }
    Watch& left = at(less);
    Watch& right = at(rest);
    if (left.priority > right.priority) {
        left.right = merge(left.right, rest);
        update(left);
        return less;
    }
    right.left = merge(less, right.left);
    update(right);
    return rest;
}

std::uint32_t WatchPages::inserted(std::uint32_t tree, Watch& watch) const noexcept {
    if (tree == 0 || watch.priority > at(tree).priority) {
        split(tree, watch, watch.left, watch.right);
        update(watch);
        return watch.index;
    }
    Watch& root = at(tree);
    std::uint32_t& side = before(root, watch) ? root.right : root.left;
    side = inserted(side, watch);
    update(root);
    return tree;
}

std::uint32_t WatchPages::removed(std::uint32_t tree, const Watch& watch) const noexcept {
    if (tree == watch.index) {
        return merge(watch.left, watch.right);
    }
    Watch& root = at(tree);
    std::uint32_t& side = before(root, watch) ? root.right : root.left;
    side = removed(side, watch);
    update(root);
    return tree;
}

void WatchPages::insert(Watch& watch, std::uintptr_t begin, std::uintptr_t end) noexcept {
    watch.tree_begin = begin;
    watch.tree_end = end;
    watch.left = watch.right = 0;
    // Distinct for distinct slots, and in no order (a multiplication by an odd number is a permutation).
    watch.priority = watch.index * 0x9e3779b1u;
    watch.priority = (watch.priority ^ (watch.priority >> 15)) * 0x85ebca6bu;
    root_ = inserted(root_, watch);
    watch.in_tree = true;
    ++size_;
}

void WatchPages::remove(Watch& watch) noexcept {
    if (watch.in_tree) {
        root_ = removed(root_, watch);
        watch.in_tree = false;
        --size_;
    }
}

}  // namespace pincheck
