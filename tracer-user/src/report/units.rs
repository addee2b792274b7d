//! Numbers for people: one place that decides how each kind of value is written.
//!
//! Sizes and rates are binary (8K = 8,192 bytes, 1 MiB/s = 1,048,576 bytes a second), values
//! that were measured have three significant digits, the decimal point is always `.`.

/// Kibibyte and up: divisor and letter, largest first.
const BINARY: [(u64, char); 6] = [
    (1 << 60, 'E'),
    (1 << 50, 'P'),
    (1 << 40, 'T'),
    (1 << 30, 'G'),
    (1 << 20, 'M'),
    (1 << 10, 'K'),
];

/// A number as `f64`: exact below 2^53, far beyond three digits above.
#[allow(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(crate) fn float(n: u64) -> f64 {
    n as f64
}

/// A count, exact: `48,000`.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size, exact: `8K`, `1M`, `4,608 B`.
#[must_use]
pub fn size(bytes: u64) -> String {
    BINARY
        .iter()
        .find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit))
        .map_or_else(
            || format!("{} B", count(bytes)),
            |(unit, letter)| format!("{}{letter}", count(bytes / unit)),
        )
}

/// An amount of data, rounded: `375 MiB`.
#[must_use]
pub fn volume(bytes: u64) -> String {
    // 0.9995 of a unit would be written as 1,000 or 1,024 of the next smaller one.
    BINARY
        .iter()
        .find(|(unit, _)| float(bytes) >= float(*unit) * 0.9995)
        .map_or_else(
            || format!("{bytes} B"),
            |(unit, letter)| format!("{} {letter}iB", three_digits(float(bytes) / float(*unit))),
        )
}

/// Events a second over `duration_ns`; `-` without time.
#[must_use]
pub fn per_second(n: u64, duration_ns: u64) -> String {
    rate(float(n), duration_ns)
}

/// MiB a second over `duration_ns`; `-` without time.
#[must_use]
pub fn mib_per_second(bytes: u64, duration_ns: u64) -> String {
    rate(float(bytes) / float(1 << 20), duration_ns)
}

fn rate(amount: f64, duration_ns: u64) -> String {
    if duration_ns == 0 {
        return "-".into();
    }
    let rate = amount * 1e9 / float(duration_ns);
    match rate {
        0.0 => "0".into(),
        r if r < 0.005 => "<0.01".into(),
        r => three_digits(r),
    }
}

/// A share of 1 as percent: `80 %`; `<0.1 %` and `>99.9 %` rather than a false 0 or 100.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.1 {
        "<0.1 %".into()
    } else if percent > 99.9 && percent < 100.0 {
        ">99.9 %".into()
    } else if percent >= 99.95 || percent == 0.0 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// A share of 1 as whole percent, for narrow columns: `80%`; `<1%` and `>99%` rather than a
/// false 0 or 100.
#[must_use]
pub fn whole_percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.5 {
        "<1%".into()
    } else if (99.5..100.0).contains(&percent) {
        ">99%".into()
    } else {
        format!("{percent:.0}%")
    }
}

/// A share of counts as percent; `-` of nothing.
#[must_use]
pub fn percent_of(part: u64, whole: u64) -> String {
    if whole == 0 {
        "-".into()
    } else {
        percent(float(part) / float(whole))
    }
}

/// A factor: `12.5x`.
#[must_use]
pub fn factor(value: f64) -> String {
    format!("{}x", three_digits(value))
}

/// A value with three significant digits where it has fewer before the point, else with
/// separators: `1.61`, `45.6`, `800`, `12,345`.
#[must_use]
pub fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and a float saturates at the type's bounds"
        )]
        count(value.round() as u64)
    }
}

/// A duration with three significant digits: `612 ns`, `1.23 ms`, `600 s`, `16.7 min`. Plain
/// ASCII writes `us`.
#[must_use]
pub fn duration(ns: u64, unicode: bool) -> String {
    let micro = if unicode { "µs" } else { "us" };
    let value = float(ns);
    // Limits stand where rounding to three digits would reach the next unit.
    let (divisor, unit) = match value {
        v if v < 1e3 => return format!("{ns} ns"),
        v if v < 999.5e3 => (1e3, micro),
        v if v < 999.5e6 => (1e6, "ms"),
        v if v < 999.5e9 => (1e9, "s"),
        v if v < 999.5 * 60e9 => (60e9, "min"),
        _ => (3600e9, "h"),
    };
    format!("{} {unit}", three_digits(value / divisor))
}

/// A moment as a clock shows it, since the start: `0:12:34`.
#[must_use]
pub fn clock(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    format!(
        "{}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(count(n), text);
        }
    }

    #[test]
    fn a_size_is_exact_whatever_it_is() {
        for (bytes, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (4096, "4K"),
            (4608, "4,608 B"),
            (12 << 10, "12K"),
            (1 << 20, "1M"),
            (1536 << 10, "1,536K"),
            (1 << 60, "1E"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn an_amount_has_three_digits() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1000, "1000 B"),
            (375 << 20, "375 MiB"),
            (1_300_000_000, "1.21 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(volume(bytes), text);
        }
    }

    #[test]
    fn a_duration_has_three_digits_and_never_rounds_past_its_unit() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1000, "1.00 µs"),
            (45_600, "45.6 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (1_234_567, "1.23 ms"),
            (600_000_000_000, "600 s"),
            (1_000_000_000_000, "16.7 min"),
            (86_400_000_000_000, "24.0 h"),
            (u64::MAX, "5,124,096 h"),
        ] {
            assert_eq!(duration(ns, true), text);
        }
        assert_eq!(duration(1500, false), "1.50 us");
    }

    #[test]
    fn a_share_is_never_rounded_to_all_or_nothing() {
        for (share, text) in [
            (0.0, "0 %"),
            (0.000_01, "<0.1 %"),
            (0.8, "80.0 %"),
            (0.999_99, ">99.9 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(percent(share), text);
        }
        assert_eq!(percent_of(1, 0), "-");
        for (share, text) in [
            (0.0, "0%"),
            (0.004, "<1%"),
            (0.8, "80%"),
            (0.996, ">99%"),
            (1.0, "100%"),
        ] {
            assert_eq!(whole_percent(share), text);
        }
    }

    #[test]
    fn a_moment_is_written_as_on_a_clock() {
        assert_eq!(clock(59_999_999_999), "0:00:59");
        assert_eq!(clock(754_000_000_000), "0:12:34");
        assert_eq!(clock(360_000_000_000_000), "100:00:00");
    }

    #[test]
    fn rates_need_time() {
        assert_eq!(per_second(48_000, 60_000_000_000), "800");
        assert_eq!(per_second(1, 600_000_000_000), "<0.01");
        assert_eq!(per_second(0, 1), "0");
        assert_eq!(per_second(1, 0), "-");
        assert_eq!(mib_per_second(375 << 20, 60_000_000_000), "6.25");
    }
}
