//! Job files: one that replays an iolog, one that imitates a capture by its statistics.
//!
//! Their target comes from the environment (`TARGET`), is never created and has no default:
//! whoever runs them chooses what is overwritten.

use std::{cmp::Reverse, fmt::Write};

/// Most sizes of one `bssplit` (`BSSPLIT_MAX` in fio's `thread_options.h` is 64).
const MAX_SPLIT: usize = 60;

/// A captured device, for the instructions in a replay job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Kernel name.
    pub device: String,
    /// Its name in the log, [`super::file_name`].
    pub file: String,
    /// Dataset, if known.
    pub dataset: Option<String>,
    /// Block size it has, if known.
    pub block_bytes: Option<u64>,
    /// Block size to try.
    pub candidate_bytes: u64,
    /// First byte that the capture did not reach.
    pub end_bytes: u64,
}

/// What one device did, as a mix of sizes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mix {
    /// Kernel name.
    pub device: String,
    /// Sizes of reads and how often each occurred.
    pub reads: Vec<(u64, u64)>,
    /// Sizes of writes.
    pub writes: Vec<(u64, u64)>,
    /// Flushes that a replay makes.
    pub flushes: u64,
    /// Share of reads that are sequential, if known.
    pub read_sequential_share: Option<f64>,
    /// Share of writes that are sequential, if known.
    pub write_sequential_share: Option<f64>,
    /// Most I/Os in flight.
    pub depth: u64,
    /// First byte that the capture did not reach.
    pub end_bytes: u64,
    /// Length of the capture.
    pub duration_ns: u64,
}

/// A size with its unit where it comes out even: `16K`.
fn size(bytes: u64) -> String {
    let units = [
        (1 << 40, "T"),
        (1 << 30, "G"),
        (1 << 20, "M"),
        (1 << 10, "K"),
    ];
    match units
        .iter()
        .find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit))
    {
        Some((unit, name)) => format!("{}{name}", bytes / unit),
        None => bytes.to_string(),
    }
}

/// Size of a zvol that holds `end_bytes`: a whole number of MiB.
fn volume_size(end_bytes: u64) -> String {
    size(end_bytes.max(1).div_ceil(1 << 20).saturating_mul(1 << 20))
}

/// One line of a comment: what a name holds of control characters would end it.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

/// The job that replays the log `iolog` (a path as the job should name it).
#[must_use]
pub fn replay_job(iolog: &str, job: &str, devices: &[Replay], depth: u64, trims: bool) -> String {
    let mut text = String::from(
        "; Replays a capture of zvoltrace with fio 3.31 or later, at its own pace.\n\
         ; It OVERWRITES its target. Use a test zvol, never a disk that holds data.\n;\n",
    );
    let mut put = |line: std::fmt::Arguments<'_>| {
        // Writing to a String does not fail.
        let _ = text.write_fmt(line);
    };
    for Replay {
        device,
        file,
        dataset,
        block_bytes,
        candidate_bytes,
        end_bytes,
    } in devices
    {
        let dataset = dataset.as_ref().map(|name| format!(", {}", one_line(name)));
        let block = block_bytes.map(|bytes| format!(", volblocksize {}", size(bytes)));
        let (dataset, block) = (dataset.unwrap_or_default(), block.unwrap_or_default());
        put(format_args!("; {}{dataset}{block}\n", one_line(device)));
        let (volume, candidate) = (volume_size(*end_bytes), size(*candidate_bytes));
        put(format_args!(
            ";   zfs create -s -V {volume} -o volblocksize={candidate} POOL/{file}\n"
        ));
        if devices.len() > 1 {
            put(format_args!(";   ln -s /dev/zvol/POOL/{file} {file}\n"));
        }
    }
    if let [only] = devices {
        put(format_args!(
            ";   TARGET=/dev/zvol/POOL/{} fio {job}\n",
            only.file
        ));
    } else {
        put(format_args!(
            ";   fio {job}    in the folder of the links\n"
        ));
    }
    put(format_args!(
        ";   zvoltrace capture POOL/{}    meanwhile, to compare\n\n",
        devices
            .first()
            .map_or("target", |device| device.file.as_str())
    ));
    put(format_args!(
        "[global]\nioengine=libaio\ndirect=1\niodepth={}\n; A target that is missing is an \
         error, not a new file.\nallow_file_create=0\n",
        depth.clamp(1, 1024)
    ));
    if trims {
        put(format_args!(
            "; The log has trims. fio 3.33 and older say \"bad ddir: 2\" and pass over them;\n\
             ; this makes every version pass over them in silence:\n; replay_skip=trim\n"
        ));
    }
    put(format_args!(
        "; As fast as possible instead:\n; replay_no_stall=1\n\n"
    ));
    put(format_args!("[replay]\nread_iolog={iolog}\n"));
    if devices.len() == 1 {
        put(format_args!("replay_redirect=${{TARGET}}\n"));
    }
    text
}

/// The job that imitates the devices by the sizes and the mix of their I/O.
#[must_use]
pub fn summary_job(job: &str, mixes: &[Mix]) -> String {
    let mut text = format!(
        "; Imitates a capture of zvoltrace by its sizes, mix and rate, without its order.\n\
         ; It OVERWRITES its target. Use a test zvol, never a disk that holds data.\n\
         ;   TARGET=/dev/zvol/POOL/VOLUME fio {job}\n\n\
         [global]\nioengine=libaio\ndirect=1\nallow_file_create=0\nfilename=${{TARGET}}\n\
         time_based=1\nnorandommap=1\n"
    );
    for (n, mix) in mixes.iter().enumerate() {
        text += "\n";
        text += &section(mix, n > 0);
    }
    text
}

fn section(mix: &Mix, later: bool) -> String {
    let count = |sizes: &[(u64, u64)]| sizes.iter().map(|(_, count)| count).sum::<u64>();
    let (reads, writes) = (count(&mix.reads), count(&mix.writes));
    let rw = match (reads, writes) {
        (_, 0) => "randread",
        (0, _) => "randwrite",
        _ => "randrw",
    };
    let mut lines = vec![format!("[{}]", super::file_name(&mix.device))];
    if later {
        lines.push("; One device after the other; remove this to run them at once.".to_owned());
        lines.push("stonewall=1".to_owned());
    }
    lines.push(format!("rw={rw}"));
    if rw == "randrw" {
        lines.push(format!("rwmixread={}", percent(reads, reads + writes)));
    }
    // A direction that does not occur takes the other's sizes: fio wants both.
    let (split_reads, split_writes) = (split(&mix.reads), split(&mix.writes));
    let either = |split: &str, other: &str| {
        if split.is_empty() {
            other.into()
        } else {
            split.to_owned()
        }
    };
    let for_reads: String = either(&split_reads, &split_writes);
    let for_writes: String = either(&split_writes, &split_reads);
    lines.push(format!("bssplit={for_reads},{for_writes}"));
    let random = |share: Option<f64>| percent_of(1.0 - share.unwrap_or(0.0));
    let (read_random, write_random) = (
        random(mix.read_sequential_share),
        random(mix.write_sequential_share),
    );
    lines.push(format!("percentage_random={read_random},{write_random}"));
    if mix.flushes > 0 && writes > 0 {
        lines.push(format!("; {} flushes for {writes} writes", mix.flushes));
        lines.push(format!(
            "fsync={}",
            ((writes + mix.flushes / 2) / mix.flushes).max(1)
        ));
    }
    lines.push(format!("iodepth={}", mix.depth.clamp(1, 1024)));
    let seconds = mix.duration_ns.div_ceil(1_000_000_000).max(1);
    lines.push(format!("runtime={seconds}"));
    lines.push(format!("size={}", volume_size(mix.end_bytes)));
    lines.push("; The captured rate; remove it to go as fast as possible.".to_owned());
    let rate = |count: u64| (count / seconds).max(1);
    lines.push(format!("rate_iops={},{}", rate(reads), rate(writes)));
    lines.join("\n") + "\n"
}

fn percent(part: u64, whole: u64) -> u64 {
    ((u128::from(part) * 100 + u128::from(whole) / 2) / u128::from(whole.max(1)))
        .try_into()
        .unwrap_or(100)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 100 after the clamp; not a number becomes 0"
)]
fn percent_of(share: f64) -> u64 {
    (share * 100.0).round().clamp(0.0, 100.0) as u64
}

/// `4K/60:8K/40`: whole percents that add up to 100, by the largest remainder; what gets none
/// is left out.
fn split(sizes: &[(u64, u64)]) -> String {
    let mut sizes: Vec<_> = sizes
        .iter()
        .filter(|(bytes, _)| *bytes > 0)
        .copied()
        .collect();
    sizes.sort_by_key(|(bytes, count)| (Reverse(*count), *bytes));
    sizes.truncate(MAX_SPLIT);
    let whole = sizes
        .iter()
        .map(|(_, count)| u128::from(*count))
        .sum::<u128>()
        .max(1);
    // Size, whole percents, remainder.
    let share = |(bytes, count): &(u64, u64)| {
        let hundredfold = u128::from(*count) * 100;
        (*bytes, hundredfold / whole, hundredfold % whole)
    };
    let mut shares: Vec<_> = sizes.iter().map(share).collect();
    shares.sort_by_key(|(_, _, remainder)| Reverse(*remainder));
    let given: u128 = shares.iter().map(|(_, percents, _)| percents).sum();
    let mut left = 100 - given;
    for (_, percents, _) in &mut shares {
        let more = left.min(1);
        *percents += more;
        left -= more;
    }
    shares.sort_unstable();
    let kept = shares.iter().filter(|(_, percents, _)| *percents > 0);
    let words: Vec<_> = kept
        .map(|(bytes, percents, _)| format!("{}/{percents}", size(*bytes)))
        .collect();
    words.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shares_are_whole_percents_of_the_most_frequent_sizes() {
        assert_eq!(
            split(&[(8192, 2), (4096, 997), (16_384, 300)]),
            "4K/77:16K/23"
        );
        assert_eq!(split(&[(512, 1)]), "512/100");
        assert_eq!(split(&[]), "");
    }

    #[test]
    fn sizes_of_volumes_are_whole_and_hold_the_capture() {
        assert_eq!(volume_size(0), "1M");
        assert_eq!(volume_size((1 << 30) + 1), "1025M");
        assert_eq!(volume_size(1 << 35), "32G");
    }

    #[test]
    fn a_name_cannot_break_out_of_its_comment() {
        let device = Replay {
            device: "zd0".into(),
            file: "target-zd0".into(),
            dataset: Some("tank/x\n[evil]\nexec_prerun=rm".into()),
            block_bytes: None,
            candidate_bytes: 16_384,
            end_bytes: 4096,
        };
        let text = replay_job("log", "log.replay.fio", &[device], 4, true);
        assert!(!text.contains("\n[evil]"), "{text}");
    }

    proptest! {
        #[test]
        fn shares_always_add_up_to_a_hundred(
            sizes in proptest::collection::vec((1..4096_u64, 1..1_000_000_u64), 1..200)
        ) {
            let text = split(&sizes);
            let shares = text.split(':').map(|word| word.split_once('/').unwrap().1);
            let sum: u64 = shares.map(|share| share.parse::<u64>().unwrap()).sum();
            prop_assert_eq!(sum, 100, "{}", text);
        }
    }
}
