//! The machines: which Debian suites are built, and from which packages.

/// A Debian suite whose kernel and ZFS make one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Suite {
    /// Kernel 5.10, ZFS 2.0: `bi_disk` in `bio`, no atomics in eBPF.
    Bullseye,
    /// Kernel 6.1, ZFS 2.1.
    Bookworm,
    /// Kernel 6.12, ZFS 2.3: the machine that CI boots on every run.
    Trixie,
    /// The newest pair that builds: kernel 7.2, ZFS 2.4.
    Forky,
}

/// Kernel image and headers, of the same names in every suite.
pub(crate) const KERNEL: [&str; 2] = ["linux-image-cloud-amd64", "linux-headers-cloud-amd64"];
/// ZFS, its module built by dkms against those headers.
pub(crate) const ZFS: [&str; 2] = ["zfs-dkms", "zfsutils-linux"];
const TOOLS: [&str; 3] = ["blktrace", "dmsetup", "e2fsprogs"];

impl Suite {
    /// All suites, oldest kernel first.
    pub(crate) const ALL: [Self; 4] = [Self::Bullseye, Self::Bookworm, Self::Trixie, Self::Forky];

    /// Debian's name of the suite.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bullseye => "bullseye",
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
            Self::Forky => "forky",
        }
    }

    /// The other tools that the suite compares with.
    pub(crate) fn tool_packages(self) -> Vec<&'static str> {
        let mut packages = TOOLS.to_vec();
        packages.push(match self {
            // The precompiled tools came with bookworm; these compile inside the machine.
            Self::Bullseye => "bpfcc-tools",
            _ => "libbpf-tools",
        });
        if self == Self::Trixie {
            // Replays an export; large with what it brings along, so it is in one image only.
            packages.push("fio");
        }
        packages
    }

    /// Whether the kernel's headers stay in the image, for tools that compile at run time.
    pub(crate) fn keeps_headers(self) -> bool {
        self == Self::Bullseye
    }

    /// Every package whose version decides what the machine is.
    pub(crate) fn all_packages(self) -> Vec<&'static str> {
        [&KERNEL[..], &ZFS[..], &self.tool_packages()].concat()
    }
}
