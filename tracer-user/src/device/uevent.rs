//! Kernel uevents: which block devices changed, as soon as the kernel says so.
//!
//! A hint and no more. It listens to the kernel's own group, not udev's, so it needs no udev;
//! whoever uses it looks in sysfs for what is true. Never blocks.

use std::{
    collections::BTreeSet,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use kobject_uevent::UEvent;
use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SocketFlags, SocketType, bind, netlink, recv, socket_with,
        sockopt,
    },
};

/// Multicast group of the kernel (`lib/kobject_uevent.c`); 2 would be udev's.
const KERNEL_GROUP: u32 = 1;
/// A message is an environment of at most 2,048 B behind a path (include/linux/kobject.h,
/// `UEVENT_BUFFER_SIZE`).
const MESSAGE_BYTES: usize = 8192;
/// Receive buffer asked for: some thousand messages, for the moment when `snapdev=visible`
/// makes a node of every snapshot.
const RECEIVE_BYTES: usize = 4 << 20;
/// Messages taken in one go.
const MAX_MESSAGES: usize = 4096;

/// A subscription to the kernel's uevents.
#[derive(Debug)]
pub struct Uevents {
    socket: OwnedFd,
    buffer: Box<[u8]>,
}

impl Uevents {
    /// Subscribes. Needs no privilege, but a network namespace of the initial user namespace.
    pub fn open() -> io::Result<Self> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
            Some(netlink::KOBJECT_UEVENT),
        )?;
        // Without CAP_NET_ADMIN the kernel caps the size; what overflows is reported as lost.
        if sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BYTES).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BYTES)?;
        }
        bind(&socket, &netlink::SocketAddrNetlink::new(0, KERNEL_GROUP))?;
        Ok(Self::from_socket(socket))
    }

    /// Takes a non-blocking datagram socket that carries messages of the same form.
    #[must_use]
    pub fn from_socket(socket: OwnedFd) -> Self {
        Self {
            socket,
            buffer: vec![0; MESSAGE_BYTES].into_boxed_slice(),
        }
    }

    /// Adds the kernel names of the disks that messages waiting now are about (a partition's
    /// message is about its disk). Gives `true` when messages were lost, so that everything
    /// has to be looked at again.
    pub fn drain(&mut self, disks: &mut BTreeSet<String>) -> bool {
        let mut lost = false;
        for _ in 0..MAX_MESSAGES {
            match recv(&self.socket, &mut *self.buffer, RecvFlags::TRUNC) {
                Ok((0, _)) => break,
                Ok((_, length)) if length > self.buffer.len() => lost = true,
                Ok((length, _)) => match UEvent::from_netlink_packet(&self.buffer[..length]) {
                    Ok(event) => disks.extend(disk_of(&event)),
                    // An action newer than the parser, say: it may be about a disk.
                    Err(_) => lost = true,
                },
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => lost = true,
                Err(_) => break,
            }
        }
        lost
    }
}

impl AsFd for Uevents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Name of the disk that an event is about; `None` when it is about something else.
fn disk_of(event: &UEvent) -> Option<String> {
    if event.subsystem != "block" {
        return None;
    }
    let path: &Path = &event.devpath;
    let device = match event.env.get("DEVTYPE").map(String::as_str) {
        Some("disk") => path,
        Some("partition") => path.parent()?,
        _ => return None,
    };
    Some(device.file_name()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(action: &str, path: &str, subsystem: &str, kind: &str) -> Vec<u8> {
        format!(
            "{action}@{path}\0ACTION={action}\0DEVPATH={path}\0SUBSYSTEM={subsystem}\0DEVTYPE={kind}\0SEQNUM=7\0"
        )
        .into_bytes()
    }

    fn pair() -> (OwnedFd, Uevents) {
        let (ours, theirs) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::DGRAM,
            SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        (ours, Uevents::from_socket(theirs))
    }

    fn send(socket: &OwnedFd, bytes: &[u8]) {
        rustix::net::send(socket, bytes, rustix::net::SendFlags::empty()).unwrap();
    }

    #[test]
    fn a_message_names_its_disk_and_a_partition_names_the_disk_it_is_on() {
        let (socket, mut uevents) = pair();
        let mut disks = BTreeSet::new();
        assert!(!uevents.drain(&mut disks), "nothing waits, nothing blocks");
        send(
            &socket,
            &message("add", "/devices/virtual/block/zd16", "block", "disk"),
        );
        send(
            &socket,
            &message(
                "change",
                "/devices/virtual/block/zd32/zd32p1",
                "block",
                "partition",
            ),
        );
        send(
            &socket,
            &message("add", "/devices/virtual/net/tap1", "net", "disk"),
        );
        assert!(!uevents.drain(&mut disks));
        assert_eq!(disks.into_iter().collect::<Vec<_>>(), ["zd16", "zd32"]);
    }

    #[test]
    fn a_message_that_cannot_be_read_asks_for_a_look_at_everything() {
        for bytes in [
            message("frobnicate", "/devices/virtual/block/zd16", "block", "disk"),
            b"\xff\xfe".to_vec(),
            vec![b'x'; MESSAGE_BYTES + 1],
        ] {
            let (socket, mut uevents) = pair();
            send(&socket, &bytes);
            let mut disks = BTreeSet::new();
            assert!(uevents.drain(&mut disks));
            assert!(disks.is_empty());
        }
    }
}
