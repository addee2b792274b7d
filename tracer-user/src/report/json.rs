//! The report as JSON: one object of the schema `zvoltrace.report/1`, indented, ended by a
//! newline. Keys and meanings are those of [`super::model`].

use super::model::Report;

/// Renders the report.
pub fn render(report: &Report) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::report::samples;

    /// Every key of the contract, written by hand, as a path: `[]` is an element of a list.
    const CONTRACT: &str = "
        schema tool_version
        host.hostname host.kernel host.zfs_version host.known_defects
        capture.source capture.args capture.started capture.requested_ns capture.duration_ns
        capture.complete capture.incomplete_reasons capture.clock
        capture.events.completed capture.events.delivered capture.events.lost
        capture.events.without_start capture.events.without_completion
        capture.events.time_inversions capture.events.not_tracked
        capture.overhead.kernel_ns_per_io capture.overhead.user_cpu_ns
        capture.overhead.max_rss_bytes
        pools[].name pools[].state pools[].txg.count pools[].txg.sync_ns.p50
        pools[].txg.sync_ns.p99 pools[].txg.sync_ns.max pools[].txg.dirty_bytes_max
        pools[].layout pools[].fill_share pools[].activity
        devices[].device devices[].major devices[].minor devices[].dataset devices[].vm
        devices[].mode devices[].volblocksize_bytes devices[].size_bytes devices[].appeared_ns
        devices[].vanished_ns devices[].lost devices[].submitted devices[].outstanding.count
        devices[].outstanding.oldest_ns
        devices[].sync.hinted devices[].sync.fua devices[].sync.preflush_with_data
        devices[].sync.durable_writes
        devices[].flush.count LATENCY(devices[].flush.latency_ns)
        devices[].flush.latency_histogram[].from_ns devices[].flush.latency_histogram[].to_ns
        devices[].flush.latency_histogram[].count
        devices[].concurrency.mean devices[].concurrency.p50 devices[].concurrency.p99
        devices[].concurrency.max
        devices[].access.read_sequential_share devices[].access.write_sequential_share
        devices[].access.working_set_bytes devices[].access.rewritten_share
        devices[].alignment.aligned_share devices[].alignment.constant_remainder_bytes
        devices[].alignment.partial_block_writes
        devices[].amplification.worst_case devices[].amplification.coalesced
        devices[].amplification.metadata devices[].amplification.txg_source
        devices[].candidates[].block_bytes devices[].candidates[].worst_case
        devices[].candidates[].coalesced devices[].candidates[].metadata
        devices[].candidates[].partial_write_share devices[].candidates[].space_raw
        devices[].candidates[].space_used
        devices[].submitters[].comm devices[].submitters[].pid devices[].submitters[].count
        devices[].submitters[].bytes
        devices[].verdict.code devices[].verdict.severity devices[].verdict.confidence
        devices[].verdict.dominant_write_bytes devices[].verdict.dominant_share_count
        devices[].verdict.dominant_share_bytes devices[].verdict.recommended_block_bytes
        devices[].verdict.summary devices[].verdict.evidence devices[].verdict.advice
        devices[].findings[].code devices[].findings[].severity devices[].findings[].summary
        devices[].findings[].evidence
        OPS(devices[].ops) OPS(totals)";
    const OP_KEYS: &str = "count bytes errors sizes[].bytes sizes[].count sizes_rest.count \
        sizes_rest.bytes latency_histogram[].from_ns latency_histogram[].to_ns \
        latency_histogram[].count";
    const LATENCY_KEYS: &str = "min p50 p90 p99 p999 max mean";

    fn contract() -> BTreeSet<String> {
        let mut keys = BTreeSet::new();
        let latency = |path: &str| -> Vec<String> {
            LATENCY_KEYS
                .split_whitespace()
                .map(|key| format!("{path}.{key}"))
                .collect()
        };
        for word in CONTRACT.split_whitespace() {
            if let Some(path) = inside(word, "LATENCY") {
                keys.extend(latency(path));
            } else if let Some(path) = inside(word, "OPS") {
                for op in ["read", "write", "discard", "other"] {
                    let path = format!("{path}.{op}");
                    keys.extend(
                        OP_KEYS
                            .split_whitespace()
                            .map(|key| format!("{path}.{key}")),
                    );
                    for times in ["latency_ns", "queue_ns", "service_ns"] {
                        keys.extend(latency(&format!("{path}.{times}")));
                    }
                }
            } else {
                keys.insert(word.to_owned());
            }
        }
        keys
    }

    fn inside<'a>(word: &'a str, name: &str) -> Option<&'a str> {
        word.strip_prefix(name)?
            .strip_prefix('(')?
            .strip_suffix(')')
    }

    /// Paths of all values that are neither object nor list of objects.
    fn keys_of(value: &Value, path: &str, keys: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    let dot = if path.is_empty() { "" } else { "." };
                    keys_of(value, &format!("{path}{dot}{key}"), keys);
                }
            }
            Value::Array(list) if list.iter().any(Value::is_object) => {
                for value in list {
                    keys_of(value, &format!("{path}[]"), keys);
                }
            }
            _ => {
                keys.insert(path.to_owned());
            }
        }
    }

    /// A report in which every list has elements and every optional part is there.
    fn everything() -> Report {
        let mut report = samples::lossy_and_short();
        let device = &mut report.devices[0];
        let write = device.ops.write.clone();
        for op in [
            &mut device.ops.read,
            &mut device.ops.discard,
            &mut device.ops.other,
        ] {
            *op = write.clone();
        }
        report.totals = device.ops.clone();
        report
    }

    #[test]
    fn the_keys_are_exactly_those_of_the_contract() {
        let value: Value = serde_json::from_str(&render(&everything()).unwrap()).unwrap();
        let mut keys = BTreeSet::new();
        keys_of(&value, "", &mut keys);
        let contract = contract();
        let missing: Vec<_> = contract.difference(&keys).collect();
        let unknown: Vec<_> = keys.difference(&contract).collect();
        assert!(
            missing.is_empty() && unknown.is_empty(),
            "missing {missing:?}, new {unknown:?}"
        );
    }

    #[test]
    fn an_operation_without_io_has_count_0_and_null_latencies() {
        let value = serde_json::to_value(samples::idle()).unwrap();
        let read = &value["devices"][0]["ops"]["read"];
        assert_eq!(read["count"], 0);
        assert_eq!(read["latency_ns"]["p99"], Value::Null);
        assert_eq!(
            read.get("queue_ns"),
            None,
            "there is no queue on a bio-mode disk"
        );
        assert_eq!(
            value["devices"][0].get("candidates"),
            None,
            "absent, not faked"
        );
    }

    #[test]
    fn what_can_pass_2_to_the_53_is_text_and_survives() {
        let mut report = samples::idle();
        report.devices[0].size_bytes = 1 << 60;
        let text = render(&report).unwrap();
        assert!(text.contains("\"size_bytes\": \"1152921504606846976\""));
        assert!(text.ends_with("}\n"));
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }

    #[test]
    fn codes_are_the_words_of_the_contract() {
        let value = serde_json::to_value(samples::busy()).unwrap();
        let verdict = &value["devices"][0]["verdict"];
        assert_eq!(verdict["code"], "write_smaller_than_block");
        assert_eq!(verdict["severity"], "warning");
        assert_eq!(value["devices"][0]["mode"], "bio");
        assert_eq!(value["capture"]["source"], "live");
    }
}
