"""Beats of signals that we make at a known rate: found, averaged and counted; records in the WFDB format."""

import numpy as np
import pytest

from examples.paper.datasets.signals import ecg_beat_features, ecg_feature_names, read_records
from support.refusals import refused

LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
# (millivolts, seconds after R, width in seconds) of P, Q, R, S and T
WAVES = ((0.15, -0.17, 0.025), (-0.1, -0.03, 0.01), (1.0, 0.0, 0.012), (-0.2, 0.03, 0.012), (0.3, 0.25, 0.05))
GAINS = np.array([0.8, 1.0, 0.6, -0.9, 0.4, 0.8, -0.5, 0.7, 1.2, 1.4, 1.1, 0.9])


def template(t):
    return sum(a * np.exp(-0.5 * ((t - c) / w) ** 2) for a, c, w in WAVES)


def made(rate, bpm, seconds=10.0, noise=0.01, seed=0, first=0.4):
    t = np.arange(int(seconds * rate)) / rate
    beats = np.arange(first, seconds, 60 / bpm)
    wave = template(t[:, None] - beats).sum(axis=1)
    wander = 0.05 * np.sin(2 * np.pi * 0.3 * t)
    signal = wave[:, None] * GAINS + wander[:, None] + noise * np.random.default_rng(seed).standard_normal((len(t), 12))
    return signal, beats


def check(row, bpm, n_beats, n_points=64):
    mean, sd, count = row[-3:]
    assert 60 / mean == pytest.approx(bpm, rel=0.02)
    assert sd < 0.02
    assert abs(count - n_beats) <= 1
    neighbors = np.arange(-2, 3) * 60 / bpm  # of a fast heart the next P wave is in the window
    shape = template(np.linspace(-0.25, 0.45, n_points)[:, None] - neighbors).sum(axis=1)
    for beat, gain in zip(row[:-3].reshape(12, n_points), GAINS, strict=True):
        assert np.corrcoef(beat, gain * shape)[0, 1] > 0.99


@pytest.mark.parametrize("rate", [100, 250, 500])
@pytest.mark.parametrize("bpm", [45, 72, 110])
def test_rate_and_median_beat_are_recovered(rate, bpm):
    pytest.importorskip("wfdb")
    signal, beats = made(rate, bpm)
    check(ecg_beat_features(signal[None], rate)[0], bpm, len(beats))


def test_median_beat_at_known_peaks():
    signals, peaks = zip(*(made(200, bpm, seed=bpm) for bpm in (60, 75, 90)), strict=True)
    features = ecg_beat_features(np.stack(signals), 200, n_points=32, peaks=peaks)
    assert features.dtype == np.float32
    assert features.shape == (3, 12 * 32 + 3) == (3, len(ecg_feature_names(LEADS, 32)))
    for row, bpm, beats in zip(features, (60, 75, 90), peaks, strict=True):
        check(row, bpm, len(beats), 32)
        assert row[-1] == len(beats)
    np.testing.assert_allclose(features[:, -2], 0, atol=1e-6)


def test_a_beat_out_of_line_does_not_move_the_median_and_edges_are_left_out():
    signal, beats = made(200, 60, noise=0)
    clean = ecg_beat_features(signal[None], 200, peaks=[beats])
    signal[int((beats[4] - 0.1) * 200) : int((beats[4] + 0.1) * 200)] += 5
    hit = ecg_beat_features(signal[None], 200, peaks=[beats])
    assert np.abs(hit - clean).max() < 0.06  # of 5 mV
    early = ecg_beat_features(signal[None], 200, peaks=[np.concatenate([[0.1], beats])])  # no whole window around 0.1 s
    np.testing.assert_array_equal(early[:, :-3], hit[:, :-3])
    assert early[0, -1] == hit[0, -1] + 1


def test_one_beat_and_no_beat():
    signal, _ = made(100, 30, seconds=1.5, noise=0, first=0.7)
    row = ecg_beat_features(signal[None], 100, peaks=[[0.7]])[0]
    assert row[-3:].tolist() == [1.5, 0, 1]
    with pytest.warns(UserWarning, match="no beat was found in signal 0; its window is put where it is steepest"):
        none = ecg_beat_features(signal[None], 100, peaks=[[]])[0]
    assert none[-3:].tolist() == [1.5, 0, 0]
    shape = template(np.linspace(-0.25, 0.45, 64))
    assert np.corrcoef(none[64:128], shape)[0, 1] > 0.9  # the steepest place is the QRS complex
    flat = np.full((1, 500, 12), 0.3)
    with pytest.warns(UserWarning, match="no beat was found in signal 0"):
        assert not ecg_beat_features(flat, 100, peaks=[[]])[0, :-3].any()


def test_a_flat_signal_has_no_beats_for_the_detector_either():
    pytest.importorskip("wfdb")
    signals = np.stack([made(100, 70)[0], np.zeros((1000, 12))])
    with pytest.warns(UserWarning, match="no beat was found in signal 1"):
        features = ecg_beat_features(signals, 100)
    assert features[0, -1] == 12
    assert features[1, -3:].tolist() == [10, 0, 0]
    one_lead = ecg_beat_features(signals[:1, :, :1], 100)
    assert one_lead.shape == (1, 67)
    assert one_lead[0, -1] == 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"signals": np.zeros((100, 12))}, r"an \(n, samples, leads\) array of at .* second\. Got shape \(100, 12\)"),
        ({"signals": np.zeros((1, 99, 12))}, r"Got shape \(1, 99, 12\) at 100 Hz"),
        ({"signals": np.full((1, 200, 2), np.nan)}, "must be finite"),
        ({"rate": 0}, "'rate' parameter of ecg_beat_features must be a finite number > 0"),
        ({"lead": 2}, r"'lead' parameter of ecg_beat_features must be an integer from 0 to 1\. Got 2"),
        ({"n_points": 1}, "an integer ≥ 2"),
        ({"peaks": [[0.5], [0.5]]}, r"one array of times for each of the 1 records\. Got 2"),
        ({"peaks": [[150]]}, r"seconds from 0 to 2\. Got times from 150 to 150"),
    ],
)
def test_arguments_are_checked(change, message):
    refused(message, ecg_beat_features, **{"signals": np.zeros((1, 200, 2)), "rate": 100, "peaks": [[0.5]]} | change)


def test_records(tmp_path):
    wfdb = pytest.importorskip("wfdb")

    def write(name, signal, rate=100, leads=LEADS):
        units = ["mV"] * signal.shape[1]
        wfdb.wrsamp(name, rate, units, list(leads), p_signal=signal, fmt=["16"] * len(units), write_dir=str(tmp_path))
        return tmp_path / name

    signals = [made(100, bpm, seed=bpm)[0] for bpm in (55, 80)]
    paths = [write(f"r{i}", signal) for i, signal in enumerate(signals)]
    records = read_records([paths[0], f"{paths[1]}.hea"])
    assert (records.rate, records.leads, records.signals.shape) == (100, LEADS, (2, 1000, 12))
    np.testing.assert_allclose(records.signals, np.stack(signals), atol=1e-4)
    features = ecg_beat_features(records.signals, records.rate)
    for row, bpm in zip(features, (55, 80), strict=True):
        check(row, bpm, round(9.6 * bpm / 60))
    short = write("short", signals[0][:500])
    refused(r"short: .* has 100 Hz, 500 samples and leads I, II.*read them apart", read_records, [paths[0], short])
    fast = write("fast", signals[0], rate=200)
    refused("fast: this record has 200 Hz, 1000 samples", read_records, [paths[0], fast])
    signals[0][5, 3] = np.nan
    refused("gap: 1 samples of this record are marked as missing", read_records, [write("gap", signals[0])])
    with pytest.raises(FileNotFoundError):
        read_records([tmp_path / "none"])
    (tmp_path / "r0.dat").write_bytes((tmp_path / "r0.dat").read_bytes()[:100])
    refused("r0: this WFDB record is damaged", read_records, [paths[0]])
    refused(r"a list of at least one record\. Got \[\]", read_records, [])
