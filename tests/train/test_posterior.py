"""Beta posteriors: the update by hand, the draw against its own definition, and what it prefers."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from journeyman.codec import seed_of
from journeyman.train.posterior import FLAT, Beta, ranked, updated


def test_the_update_is_the_formula() -> None:
    # α ← 0.9·4 + 0.1·2 + 3 = 6.8; β ← 0.9·5 + 0.1·6 + 1 = 6.1
    assert updated(Beta(4, 5), Beta(2, 6), [1, 1, 0, 1], 0.9) == pytest.approx((6.8, 6.1))
    # Fractional rewards: Σr = 1.25, Σ(1 − r) = 1.75.
    assert updated(FLAT, FLAT, [0.25, 1.0, 0.0], 0.5) == pytest.approx((2.25, 2.75))
    assert updated(Beta(4, 5), Beta(2, 6), [], 0.9) == pytest.approx((3.8, 5.1))
    assert updated(Beta(4, 5), Beta(2, 6), [1, 0], 1.0) == (5.0, 6.0)
    assert updated(Beta(4, 5), Beta(2, 6), [1, 0], 0.0) == (3.0, 7.0)


def test_decay_forgets_all_but_the_last_groups() -> None:
    posterior = FLAT
    for _ in range(200):
        posterior = updated(posterior, FLAT, [0.0] * 8, 0.5)
    assert posterior == pytest.approx((1.0, 1.0 + 16.0))  # 8 / (1 − 0.5) failures in memory
    for _ in range(200):
        posterior = updated(posterior, FLAT, [1.0] * 8, 0.5)
    assert posterior == pytest.approx((17.0, 1.0))
    assert posterior.mean == pytest.approx(17 / 18)


def test_the_draw_is_by_theta_nearest_to_one_half() -> None:
    known = {f"p{n}": Beta(1 + n % 5, 1 + n % 7) for n in range(40)}
    drawn = ranked(known, 11)
    assert sorted(one.id for one in drawn) == sorted(known)
    assert all(0 < one.theta < 1 for one in drawn)
    distances = [(one.theta - 0.5) ** 2 for one in drawn]
    assert distances == sorted(distances)
    for one in drawn:
        wanted = random.Random(seed_of(11, one.id)).betavariate(known[one.id].alpha, known[one.id].beta)
        assert one.theta == wanted


def test_a_pivots_theta_hangs_on_no_other_and_on_the_step() -> None:
    known = {f"p{n}": FLAT for n in range(6)}
    first = {one.id: one.theta for one in ranked(known, 1)}
    fewer = {one.id: one.theta for one in ranked({"p3": FLAT, "p1": FLAT}, 1)}
    assert fewer == {id: first[id] for id in ("p1", "p3")}
    assert ranked(dict(reversed(known.items())), 1) == ranked(known, 1)
    assert {one.id: one.theta for one in ranked(known, 2)} != first


def test_thetas_follow_their_beta() -> None:
    thetas = np.array([ranked({"p": Beta(3, 5)}, seed)[0].theta for seed in range(4000)])
    assert thetas.mean() == pytest.approx(3 / 8, abs=0.01)
    assert thetas.var() == pytest.approx(3 * 5 / (8**2 * 9), abs=0.002)


def test_pivots_near_one_half_are_drawn_most() -> None:
    known = {"hard": Beta(1, 30), "half": Beta(15, 15), "easy": Beta(30, 1), "unknown": FLAT}
    firsts = Counter(ranked(known, seed)[0].id for seed in range(400))
    assert firsts["half"] > 250
    assert 0 < firsts["unknown"] < firsts["half"]
    assert firsts["hard"] + firsts["easy"] < 5


def test_equal_distances_are_ordered_by_id() -> None:
    certain = {id: Beta(1e9, 1e9) for id in "cab"}
    assert {round(one.theta, 3) for one in ranked(certain, 0)} == {0.5}
    same = ranked({"b": FLAT}, 0) + ranked({"a": FLAT}, 0)
    assert sorted(same, key=lambda one: ((one.theta - 0.5) ** 2, one.id)) == ranked({"a": FLAT, "b": FLAT}, 0)
