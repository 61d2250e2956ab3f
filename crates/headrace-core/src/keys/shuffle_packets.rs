//! Shuffle packets: keys on their way to the segments of a set index, within a process or between
//! processes.
//!
//! A *packet* has records of one segment, in no order: an offset (u64), the length of the key (u32)
//! and the key, one behind the other, little endian.

use super::{Runs, hash, set_segments::segment_of};
use crate::{
    Result,
    sealed::{chunk, unusable},
};

const RECORD_BYTES: usize = 12;

/// Packets under construction, one for each segment.
pub struct ShufflePackets {
    filling: Vec<Vec<u8>>,
}

impl ShufflePackets {
    /// Packets for `segments` segments, rounded up to a power of two.
    pub fn new(segments: usize) -> Self {
        Self { filling: vec![Vec::new(); segments.max(1).next_power_of_two()] }
    }

    /// Add a record.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where the key is too long.
    pub fn push(&mut self, key: &[u8], offset: u64) -> Result<()> {
        let length =
            u32::try_from(key.len()).map_err(|_| unusable(offset, "a key of more than 4 GiB"))?;
        let segment = segment_of(hash(key), self.filling.len());
        let packet = &mut self.filling[segment];
        packet.extend_from_slice(&offset.to_le_bytes());
        packet.extend_from_slice(&length.to_le_bytes());
        packet.extend_from_slice(key);
        Ok(())
    }

    /// The packets that have `least` bytes, with the numbers of their segments.
    pub fn take(&mut self, least: usize) -> Vec<(usize, Vec<u8>)> {
        let full = self.filling.iter_mut().enumerate();
        full.filter(|(_, packet)| !packet.is_empty() && packet.len() >= least)
            .map(|(segment, packet)| (segment, std::mem::take(packet)))
            .collect()
    }
}

impl Runs {
    /// Add the records of a packet.
    ///
    /// # Errors
    /// An error of the operating system; [`crate::ErrorKind::Sidecar`] where it is no packet.
    pub fn add(&mut self, packet: &[u8]) -> Result<()> {
        let mut at = 0;
        while at < packet.len() {
            let key = at + RECORD_BYTES;
            let length = u32::from_le_bytes(chunk(packet, at + 8)) as usize;
            let end = key.checked_add(length).filter(|&end| end <= packet.len());
            let end = end.ok_or_else(|| unusable(at as u64, "no packet of keys"))?;
            self.push(&packet[key..end], u64::from_le_bytes(chunk(packet, at)))?;
            at = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::keys::runs::in_order;

    fn all(runs: Runs) -> Vec<(Vec<u8>, u64)> {
        let mut runs = [runs];
        runs[0].finish().unwrap();
        let mut merge = in_order(&runs).unwrap();
        let mut found = Vec::new();
        while let Some((record, _)) = merge.next().unwrap() {
            found.push((record.key.to_vec(), record.offset));
        }
        found
    }

    proptest! {
        #[test]
        fn all_records_arrive_in_the_piece_of_their_hash(
            keys in prop::collection::vec("[a-e]{0,3}", 0..200),
            bits in 0_u32..5,
            least in 0_usize..200,
        ) {
            let segments = 1 << bits;
            let room = || Runs::new(std::env::temp_dir(), 1 << 20);
            let mut packets = ShufflePackets::new(segments);
            let mut arrived: Vec<_> = (0..segments).map(|_| room()).collect();
            let mut expected: Vec<_> = (0..segments).map(|_| room()).collect();
            let mut sent = |packets: &mut ShufflePackets, least| {
                for (segment, packet) in packets.take(least) {
                    arrived[segment].add(&packet).unwrap();
                }
            };
            for (offset, key) in (0..).zip(&keys) {
                packets.push(key.as_bytes(), offset).unwrap();
                let segment = segment_of(hash(key.as_bytes()), segments);
                expected[segment].push(key.as_bytes(), offset).unwrap();
                sent(&mut packets, least);
            }
            sent(&mut packets, 0);
            for (found, expected) in arrived.into_iter().zip(expected) {
                prop_assert_eq!(all(found), all(expected));
            }
        }

        #[test]
        fn any_bytes_are_a_packet_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Runs::new(std::env::temp_dir(), 1 << 20).add(&bytes);
        }
    }

    #[test]
    fn a_packet_that_is_cut_is_refused() {
        let mut packets = ShufflePackets::new(1);
        packets.push(b"key", 7).unwrap();
        let (_, packet) = packets.take(0).remove(0);
        for length in 1..packet.len() {
            let mut runs = Runs::new(std::env::temp_dir(), 1 << 20);
            assert!(runs.add(&packet[..length]).is_err(), "first {length} bytes");
        }
    }
}
