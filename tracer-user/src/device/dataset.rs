//! What a dataset's name tells.

/// Number of the virtual machine that a Proxmox volume belongs to: `vm-<VMID>-...` (disk,
/// cloudinit, state) and `base-<VMID>-...` (templates), as the last part of the dataset; a
/// clone's snapshot included. `None` for every other name.
#[must_use]
pub fn vm_of(dataset: &str) -> Option<u64> {
    let volume = without_snapshot(dataset).rsplit('/').next()?;
    let rest = volume
        .strip_prefix("vm-")
        .or_else(|| volume.strip_prefix("base-"))?;
    let (vmid, kind) = rest.split_once('-')?;
    if kind.is_empty() || !vmid.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    vmid.parse().ok()
}

/// Whether a name is a snapshot's, `pool/volume@snapshot`.
#[must_use]
pub(super) fn is_snapshot(dataset: &str) -> bool {
    dataset.contains('@')
}

/// The volume of a name, without the snapshot.
#[must_use]
fn without_snapshot(dataset: &str) -> &str {
    dataset
        .split_once('@')
        .map_or(dataset, |(volume, _)| volume)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vm_of_a_proxmox_volume_is_found_and_nothing_else() {
        for (dataset, vm) in [
            ("rpool/data/vm-100-disk-0", Some(100)),
            ("rpool/data/vm-100-cloudinit", Some(100)),
            ("tank/vm-100-state-before", Some(100)),
            ("tank/base-9000-disk-1", Some(9000)),
            ("tank/base-9000-disk-1@__base__", Some(9000)),
            ("tank/subvol-100-disk-0", None),
            ("tank/vm-100", None),
            ("tank/vm-100-", None),
            ("tank/vm-x-disk-0", None),
            ("tank/vm--disk-0", None),
            ("tank/vm-100-disk-0/child", None),
            ("tank/vm-99999999999999999999-disk-0", None),
            ("tank/web", None),
            ("", None),
        ] {
            assert_eq!(vm_of(dataset), vm, "{dataset}");
        }
    }
}
