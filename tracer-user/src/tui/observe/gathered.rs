//! Events held back until a second is over, and then given device by device.
//!
//! A thousand busy devices have far more state than a processor's cache: taken as they come,
//! nearly every event waits for memory. Taken together, only the first of each device does.

use crate::event::{DeviceId, Event};

/// Most events that are held back: 1.4 MiB.
const MOST: usize = 16_384;

/// Events that wait.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    waiting: Vec<Event>,
    /// Group and place of each, to sort by: far smaller than the events.
    places: Vec<(u32, u32)>,
}

impl Gathered {
    /// Takes events, about in order of completion.
    pub(super) fn add(&mut self, events: &[Event]) {
        self.waiting.extend_from_slice(events);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether no more should wait.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MOST
    }

    /// All that wait, each device's together and in the order in which they came. The last one
    /// stays the last: it says how far time is.
    pub(super) fn take(&mut self) -> Vec<Event> {
        let Some(last) = self.waiting.last() else {
            return Vec::new();
        };
        let DeviceId(last) = last.device;
        // The last event's device comes last, the others in order of their numbers.
        let group = |event: &Event| event.device.0.wrapping_sub(last).wrapping_sub(1);
        self.places.clear();
        self.places
            .extend((0..).zip(&self.waiting).map(|(n, event)| (group(event), n)));
        self.places.sort_unstable();
        let events = self.places.iter();
        let events = events.filter_map(|(_, n)| self.waiting.get(*n as usize));
        let events = events.copied().collect();
        self.waiting.clear();
        events
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::testing::write;

    proptest! {
        #[test]
        fn each_device_keeps_its_order_and_the_last_event_its_place(
            devices in prop::collection::vec(prop_oneof![0..5_u32, Just(u32::MAX)], 1..60),
        ) {
            let events: Vec<Event> = (0_u64..)
                .zip(&devices)
                .map(|(n, device)| Event { device: DeviceId(*device), end_ns: n, ..write(0, 0, 512) })
                .collect();
            let mut gathered = Gathered::default();
            gathered.add(&events);
            let given = gathered.take();
            prop_assert!(gathered.is_empty());
            prop_assert_eq!(given.last(), events.last());
            let mut seen = Vec::new();
            for group in given.chunk_by(|a, b| a.device == b.device) {
                prop_assert!(group.is_sorted_by_key(|event| event.end_ns));
                prop_assert!(!seen.contains(&group[0].device), "a device comes once");
                seen.push(group[0].device);
            }
            let mut all = given.clone();
            all.sort_by_key(|event| event.end_ns);
            prop_assert_eq!(all, events);
        }
    }
}
