//! What to do, in sentences. Never `sync=disabled`: it trades data for speed.

use super::Facts;
use crate::report::units::size;

/// Keep the block size, or the steps to another.
pub(super) fn keep_or_move(facts: &Facts<'_>) -> Vec<String> {
    let Some(weighing) = facts.weighing else {
        return Vec::new();
    };
    match weighing.recommended() {
        Some(block) => migration(block, facts),
        None => vec![format!(
            "keep volblocksize {}",
            size(weighing.present.block_bytes)
        )],
    }
}

/// volblocksize is fixed when a zvol is created: another one means another zvol.
fn migration(block: u64, facts: &Facts<'_>) -> Vec<String> {
    let block = size(block);
    let mut steps = vec![
        format!("volblocksize cannot be changed in place: move to a new zvol of {block}"),
        format!(
            "first test it: zfs create -V SIZE -o volblocksize={block} POOL/test, and replay this \
             very workload on it with fio (zvoltrace export --to fio)"
        ),
        "then, with the guest stopped: copy (dd bs=1M conv=sparse), compare (cmp), cut over, \
         keep the old zvol until you are sure"
            .to_owned(),
    ];
    if facts.device.vm.is_some() {
        steps.push(format!(
            "on Proxmox VE: set the storage's block size to {block}, then move the disk there"
        ));
    }
    steps
}

/// What to do about a misaligned start.
pub(super) fn realign(block: u64) -> Vec<String> {
    vec![
        format!(
            "start partitions on a multiple of 1M (sector 2048): that is aligned to every block \
             size up to 1M, {} too",
            size(block)
        ),
        "in an existing guest: a new disk, partitioned that way, and copy the data over; judge \
         the block size after that"
            .to_owned(),
    ]
}
