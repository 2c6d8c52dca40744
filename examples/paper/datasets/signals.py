"""Features of heart beats from 12-lead signals; the only file here with wfdb, which reads records and finds beats."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import resample_poly

from clifford_rand._checks import as_real, check_integer, check_positive, describe, fail
from clifford_rand.errors import ArgumentError, require

_BEFORE, _AFTER = 0.25, 0.45  # seconds around an R peak: from before the P wave to the end of T at usual rates
_DETECTION_RATE = 250.0  # Hz; at 100 Hz the detector takes P waves for R peaks, from 250 Hz on it does not
_PEAK_RADIUS = 0.05  # seconds; the detector answers somewhere in the QRS complex, which lasts up to 0.1 s
_SMOOTHING = 0.2  # seconds; the moving average against which a peak is high or low
_RATE_NAMES = ("rr_mean", "rr_sd", "beats")


class Records(NamedTuple):
    """Signals of records of one rate, length and set of leads.

    Attributes
    ----------
    signals : (n, samples, leads) float64, in the unit of the records (mV)
    rate : float, samples a second
    leads : tuple of str
    """

    signals: NDArray[np.float64]
    rate: float
    leads: tuple[str, ...]


def read_records(paths: Sequence[str | Path]) -> Records:
    """Read WFDB records, given without the ending .hea or .dat, that have one rate, length and set of leads.

    Raises
    ------
    ArgumentError
        There is no record, or one has another rate, length or leads, or samples that are marked as missing.
    MissingDependencyError
        wfdb is not installed.
    """
    library = require("wfdb", extra="ecg", purpose="reading WFDB records")
    if isinstance(paths, str | Path) or len(paths) == 0:
        raise fail("paths", "read_records", "a list of at least one record", paths)
    signals: list[NDArray[np.float64]] = []
    first: tuple[float, tuple[str, ...], int] | None = None
    for path in paths:
        bare = str(path).removesuffix(".hea").removesuffix(".dat")
        try:
            signal, fields = library.rdsamp(bare)
        except (ValueError, IndexError) as error:
            raise ArgumentError(f"{path}: this WFDB record is damaged: {error}.") from error
        found = (float(fields["fs"]), tuple(fields["sig_name"]), len(signal))
        first = first or found
        if found != first:
            what = f"{found[0]:g} Hz, {found[2]} samples and leads {', '.join(found[1])}"
            other = f"{first[0]:g} Hz, {first[2]} samples and leads {', '.join(first[1])}"
            raise ArgumentError(f"{path}: this record has {what}, {paths[0]} has {other}; read them apart.")
        missing = int(np.count_nonzero(~np.isfinite(signal)))
        if missing:
            raise ArgumentError(f"{path}: {missing} samples of this record are marked as missing; leave it out.")
        signals.append(np.asarray(signal, dtype=np.float64))
    assert first is not None
    return Records(np.stack(signals), first[0], first[1])


def ecg_feature_names(leads: Sequence[str], n_points: int = 64) -> list[str]:
    """Return the names of the columns of `ecg_beat_features`.

    Examples
    --------
    >>> ecg_feature_names(["I", "II"], 2)
    ['I_0', 'I_1', 'II_0', 'II_1', 'rr_mean', 'rr_sd', 'beats']
    """
    return [f"{lead}_{i}" for lead in leads for i in range(n_points)] + list(_RATE_NAMES)


def ecg_beat_features(
    signals: ArrayLike,
    rate: float,
    *,
    lead: int | None = None,
    n_points: int = 64,
    peaks: Sequence[ArrayLike] | None = None,
) -> NDArray[np.float32]:
    """Return the median beat of every lead and the rate of the beats: (n, leads · n_points + 3), float32.

    R peaks are found on one lead by wfdb's detector XQRS, on the signal resampled to at least 250 Hz, and moved to the
    extreme sample of the QRS complex. For each lead, the signal is interpolated linearly at ``n_points`` times from
    0.25 s before to 0.45 s after each R peak, each beat is put to median 0, which takes slow drifts out, and the
    features are the medians over the beats that lie wholly in the record. The last three features are mean and
    standard deviation of the intervals between beats in seconds, and the number of beats. With fewer than two beats
    there are no intervals: the mean is then the record's duration, the deviation 0. With no beat, a warning is given
    and the window is centered on the extreme sample of the 0.1 s in which the energy of that lead's slope is largest.

    Parameters
    ----------
    signals : (n, samples, leads) array
        In mV, at least 1 s; the detector is made for that unit.
    rate : float
        Samples a second.
    lead : int, optional
        Lead on which beats are found; lead II, the second, if there are two or more, else the first.
    n_points : int, default 64
    peaks : sequence of n arrays, optional
        Times of the R peaks of each record in seconds, where they are known; nothing is searched then.

    Raises
    ------
    ArgumentError
        An argument is malformed.
    MissingDependencyError
        Beats are to be found and wfdb is not installed.

    References
    ----------
    The features follow what cardiologists read: Macfarlane et al., "Comprehensive Electrocardiology", 2010, on
    averaged beats. The median resists a beat that is premature or found wrongly.

    Examples
    --------
    >>> t = np.arange(1000) / 100
    >>> beats = np.arange(0.5, 10, 0.8)
    >>> wave = np.exp(-0.5 * ((t[:, None] - beats) / 0.02) ** 2).sum(axis=1)
    >>> features = ecg_beat_features(wave[None, :, None], rate=100, n_points=15, peaks=[beats])
    >>> features.shape, int(features[0, :15].argmax()), features[0, -3:].round(2).tolist()
    ((1, 18), 5, [0.800000011920929, 0.0, 12.0])
    """
    data = np.asarray(as_real(signals, "signals", "ecg_beat_features"), dtype=np.float64)
    rate = check_positive(rate, "rate", "ecg_beat_features")
    n_points = check_integer(n_points, "n_points", "ecg_beat_features", low=2)
    if data.ndim != 3 or 0 in data.shape or data.shape[1] < rate:
        rule = "an (n, samples, leads) array of at least one second"
        raise fail("signals", "ecg_beat_features", rule, describe(f"shape {data.shape} at {rate:g} Hz"))
    n_leads = data.shape[2]
    if lead is None:
        lead = min(1, n_leads - 1)
    lead = check_integer(lead, "lead", "ecg_beat_features", low=0, high=n_leads - 1)
    if peaks is not None and len(peaks) != len(data):
        rule = f"one array of times for each of the {len(data)} records"
        raise fail("peaks", "ecg_beat_features", rule, describe(str(len(peaks))))
    rows = []
    for i, record in enumerate(data):
        found = _peaks(record[:, lead], rate) if peaks is None else _given(peaks[i], len(record) / rate)
        if not len(found):
            warnings.warn(f"no beat was found in signal {i}; its window is put where it is steepest.", stacklevel=2)
        rows.append(_features(record, rate, lead, n_points, found))
    return np.stack(rows)


def _given(times: ArrayLike, duration: float) -> NDArray[np.float64]:
    found = np.sort(np.asarray(as_real(times, "peaks", "ecg_beat_features"), dtype=np.float64).ravel())
    if len(found) and not (found[0] >= 0 and found[-1] <= duration):
        what = describe(f"times from {found[0]:g} to {found[-1]:g}")
        raise fail("peaks", "ecg_beat_features", f"seconds from 0 to {duration:g}", what)
    return found


def _features(
    record: NDArray[np.float64], rate: float, lead: int, n_points: int, peaks: NDArray[np.float64]
) -> NDArray[np.float32]:
    duration = len(record) / rate
    intervals = np.diff(peaks)
    rhythm = (intervals.mean(), intervals.std()) if len(intervals) else (duration, 0.0)
    centers = peaks if len(peaks) else np.array([_steepest(record[:, lead], rate)])
    inside = (centers >= _BEFORE) & (centers <= duration - _AFTER)
    centers = centers[inside] if inside.any() else centers  # then the ends of the record are repeated
    times = centers[:, None] + np.linspace(-_BEFORE, _AFTER, n_points)
    clock = np.arange(len(record)) / rate
    medians = []
    for channel in record.T:
        beats = np.interp(times, clock, channel)
        medians.append(np.median(beats - np.median(beats, axis=1, keepdims=True), axis=0))
    return np.concatenate([*medians, [*rhythm, len(peaks)]]).astype(np.float32)


def _peaks(channel: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """Return the times of R peaks in seconds."""
    processing = require("wfdb.processing", extra="ecg", purpose="finding heart beats")
    fine, fine_rate = channel, rate
    if rate < _DETECTION_RATE:
        up = int(np.ceil(_DETECTION_RATE / rate))
        fine, fine_rate = resample_poly(channel - channel.mean(), up, 1), rate * up
    found = np.asarray(processing.xqrs_detect(fine, fine_rate, verbose=False), dtype=np.int64)
    if not len(found):
        return np.empty(0)
    radius, window = max(1, round(_PEAK_RADIUS * fine_rate)), max(1, round(_SMOOTHING * fine_rate))
    return np.unique(processing.correct_peaks(fine, found, radius, window)) / fine_rate


def _steepest(channel: NDArray[np.float64], rate: float) -> float:
    width = max(1, round(_PEAK_RADIUS * rate))
    energy = np.convolve(np.gradient(channel) ** 2, np.ones(2 * width + 1), mode="same")
    start = max(0, int(energy.argmax()) - width)
    near = np.abs(channel[start : start + 2 * width + 1] - np.median(channel))
    return float(start + near.argmax()) / rate
