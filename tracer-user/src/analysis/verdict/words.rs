//! Numbers as the verdict's sentences say them: short, with units, `.` as decimal point.

/// A size in binary units, exact: `8K`, `1M`, `12.5K` only when it is exact, else bytes.
pub(crate) fn size(bytes: u64) -> String {
    let units = [
        (1_u64 << 40, "T"),
        (1 << 30, "G"),
        (1 << 20, "M"),
        (1 << 10, "K"),
    ];
    for (unit, name) in units {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{}{name}", bytes / unit);
        }
        if bytes >= unit && (bytes * 2).is_multiple_of(unit) {
            return format!("{}.5{name}", bytes / unit);
        }
    }
    format!("{bytes} B")
}

/// A share as percent: `84 %`; `0.4 %` and `99.6 %` near the ends.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 1.0 || percent > 99.0 && percent < 100.0 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// A count with thousands separated: `3,000`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_and_never_rounded() {
        for (bytes, text) in [
            (512, "512 B"),
            (4_096, "4K"),
            (1_536, "1.5K"),
            (5_000, "5000 B"),
            (131_072, "128K"),
            (1 << 20, "1M"),
            (1_572_864, "1.5M"),
            (3 << 40, "3T"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn counts_and_shares_are_readable() {
        assert_eq!(count(0), "0");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(percent(0.844), "84 %");
        assert_eq!(percent(0.004), "0.4 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.9996), "100.0 %");
    }
}
