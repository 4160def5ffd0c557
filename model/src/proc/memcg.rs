//! The files of a memory cgroup (version 2): limits, usage, events, memory.stat (memcg-slub.md §1.1, §6).

use crate::vocab::{MemcgEvent, MemcgState, PAGE_COUNTER_MAX};
use core::fmt;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// A counter or a limit of a file: bytes, or `max`. `Display` is its line, without the end of line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pages(pub u64);

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= PAGE_COUNTER_MAX { f.write_str("max") } else { write!(f, "{}", self.0 * PAGE) }
    }
}

/// Why a text written to a limit is refused (EINVAL).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[error("neither \"max\" nor bytes with a suffix of k, m, g, t, p or e")]
pub struct NotPages;

impl Pages {
    /// What a text written to a limit means: `max`, or bytes with a suffix, rounded down to pages.
    ///
    /// # Errors
    /// Anything else, trailing characters among it.
    pub fn parse(text: &str) -> Result<Self, NotPages> {
        let text = text.trim();
        if text == "max" {
            return Ok(Self(PAGE_COUNTER_MAX));
        }
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, suffix) = text.split_at(digits);
        let shift = match suffix {
            "" => 0,
            "k" | "K" => 10,
            "m" | "M" => 20,
            "g" | "G" => 30,
            "t" | "T" => 40,
            "p" | "P" => 50,
            "e" | "E" => 60,
            _ => return Err(NotPages),
        };
        let number: u128 = digits.parse().map_err(|_| NotPages)?;
        let bytes = number.checked_mul(1 << shift).ok_or(NotPages)?;
        let pages = bytes / u128::from(PAGE);
        Ok(Self(u64::try_from(pages).unwrap_or(u64::MAX).min(PAGE_COUNTER_MAX)))
    }
}

/// memory.events or memory.events.local. `Display` is the whole file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemoryEvents<'a>(pub &'a [u64; MemcgEvent::COUNT]);

impl fmt::Display for MemoryEvents<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut events = MemcgEvent::ALL.iter().zip(self.0);
        events.try_for_each(|(event, times)| writeln!(f, "{} {times}", event.name()))
    }
}

macro_rules! stats {
    ($($(#[doc = $doc:literal])+ $field:ident,)*) => {
        /// memory.stat, as far as it is in bytes, in print order. A group alone shows less: what pages are used
        /// for only their owner knows, and fills it in. `Display` is the part of the file; sums below 0 are
        /// printed as 0.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub struct MemoryStat {
            $($(#[doc = $doc])+ pub $field: i64,)*
        }

        impl fmt::Display for MemoryStat {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $(writeln!(f, "{} {}", stringify!($field), self.$field.max(0))?;)*
                Ok(())
            }
        }
    };
}

stats! {
    /// Anonymous memory, bytes.
    anon,
    /// Page cache, bytes.
    file,
    /// All kernel memory, bytes.
    kernel,
    /// Stacks of tasks, bytes.
    kernel_stack,
    /// Page tables, bytes.
    pagetables,
    /// Secondary page tables, bytes.
    sec_pagetables,
    /// Per-CPU memory, bytes.
    percpu,
    /// Socket buffers, bytes.
    sock,
    /// vmalloc, bytes.
    vmalloc,
    /// Shared memory and tmpfs, bytes.
    shmem,
    /// Files that are mapped, bytes.
    file_mapped,
    /// Files that are dirty, bytes.
    file_dirty,
    /// Files under writeback, bytes.
    file_writeback,
    /// Anonymous memory not used lately, bytes.
    inactive_anon,
    /// Anonymous memory in use, bytes.
    active_anon,
    /// Page cache not used lately, bytes.
    inactive_file,
    /// Page cache in use, bytes.
    active_file,
    /// Locked memory, bytes.
    unevictable,
    /// Slab objects that can be reclaimed, bytes.
    slab_reclaimable,
    /// Others, bytes.
    slab_unreclaimable,
    /// Both, bytes.
    slab,
}

impl MemoryStat {
    /// What the group itself knows: `kernel`, of this group alone.
    #[must_use]
    pub fn of(state: &MemcgState) -> Self {
        Self { kernel: state.kernel * PAGE as i64, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::string::ToString;

    #[test]
    fn limits_are_read_and_shown_as_the_kernel_does() {
        for (text, pages) in [
            ("max", PAGE_COUNTER_MAX),
            ("0", 0),
            ("4095", 0),
            ("4096\n", 1),
            ("1m", 256),
            ("2G", 524_288),
            ("16e", PAGE_COUNTER_MAX),
        ] {
            assert_eq!(Pages::parse(text), Ok(Pages(pages)), "{text}");
        }
        for text in ["", "m", "1mb", "-1", "1 2", "1.5g", "0x10"] {
            assert_eq!(Pages::parse(text), Err(NotPages), "{text}");
        }
        assert_eq!(Pages(3).to_string(), "12288");
        assert_eq!(Pages(PAGE_COUNTER_MAX).to_string(), "max");
    }

    #[test]
    fn events_and_stat_are_in_print_order() {
        let events = MemoryEvents(&[1, 2, 3, 4, 5, 6]).to_string();
        assert_eq!(events, "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n");
        let stat = MemoryStat { anon: 4096, kernel: -1, slab: 72, ..MemoryStat::default() };
        let text = stat.to_string();
        assert!(text.starts_with("anon 4096\nfile 0\nkernel 0\nkernel_stack 0\npagetables 0\n"));
        assert!(text.ends_with("slab_unreclaimable 0\nslab 72\n"));
        assert_eq!(text.lines().count(), 21);
    }
}
