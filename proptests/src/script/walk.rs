//! What answers a walk through the slow path in a script: one word for each reply, in order.

use mmspec_model::contract::{CompactResult, KswapdReply, SlowReply};
use mmspec_model::vocab::NodeMask;
use std::fmt;

/// Most replies of one walk.
pub const MAX_REPLIES: usize = 64;

/// What happens while a walk is under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// The answer to the step that the walk stopped at. One that does not fit the step counts as the
    /// worst case.
    Step(SlowReply),
    /// `mems:0x1`: the task's cpuset changes, then the next word answers.
    Mems(NodeMask),
    /// `rebuild`: the zonelists are built anew, then the next word answers.
    Rebuild,
}

/// The results of compaction by their names in scripts.
pub(crate) const RESULTS: [(&str, CompactResult); 8] = [
    ("not_suitable", CompactResult::NotSuitable),
    ("skipped", CompactResult::Skipped),
    ("deferred", CompactResult::Deferred),
    ("continue", CompactResult::Continue),
    ("complete", CompactResult::Complete),
    ("partial_skipped", CompactResult::PartialSkipped),
    ("contended", CompactResult::Contended),
    ("success", CompactResult::Success),
];

/// Words without a value.
const PLAIN: [(&str, Reply); 7] = [
    ("woken", Reply::Step(SlowReply::Woken { killed: false })),
    ("dies", Reply::Step(SlowReply::Woken { killed: true })),
    ("lock", Reply::Step(SlowReply::OomLock(true))),
    ("lock_busy", Reply::Step(SlowReply::OomLock(false))),
    ("killed", Reply::Step(SlowReply::Killed(true))),
    ("no_victim", Reply::Step(SlowReply::Killed(false))),
    ("rebuild", Reply::Rebuild),
];

/// How a reply is written, for errors.
pub(crate) const REPLY_HINT: &str = "write reclaimed:32, compacted:success (or another result), lock, lock_busy, killed, no_victim, \
     woken, dies, mems:0x1 or rebuild, joined by commas";

/// How a kswapd reply is written, for errors.
pub(crate) const KSWAPD_HINT: &str = "write napped, napped_early or shrunk:SCANNED/RECLAIMED";

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Reply {
    /// The reply that a word names.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        if let Some((_, reply)) = PLAIN.iter().find(|(name, _)| *name == word) {
            return Some(*reply);
        }
        let (name, value) = word.split_once(':')?;
        Some(match name {
            "reclaimed" => Self::Step(SlowReply::Reclaimed(number(value)?)),
            "compacted" => {
                let (_, result) = RESULTS.iter().find(|(known, _)| *known == value)?;
                Self::Step(SlowReply::Compacted(*result))
            }
            "mems" => Self::Mems(NodeMask(number(value)?)),
            _ => return None,
        })
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(SlowReply::Reclaimed(pages)) => write!(f, "reclaimed:{pages}"),
            Self::Step(SlowReply::Compacted(result)) => {
                let known = RESULTS.iter().find(|(_, known)| known == result);
                write!(f, "compacted:{}", known.map_or("skipped", |(name, _)| name))
            }
            Self::Mems(mask) => write!(f, "mems:{:#x}", mask.0),
            other => {
                let known = PLAIN.iter().find(|(_, known)| known == other);
                f.write_str(known.map_or("woken", |(name, _)| name))
            }
        }
    }
}

/// The kswapd reply that a word names.
pub(crate) fn parse_kswapd(word: &str) -> Option<KswapdReply> {
    match word {
        "napped" => Some(KswapdReply::Napped { early: false }),
        "napped_early" => Some(KswapdReply::Napped { early: true }),
        _ => {
            let (scanned, reclaimed) = word.strip_prefix("shrunk:")?.split_once('/')?;
            let (scanned, reclaimed) = (number(scanned)?, number(reclaimed)?);
            Some(KswapdReply::Shrunk { scanned, reclaimed })
        }
    }
}

/// The word for a kswapd reply.
pub(crate) fn kswapd_word(reply: KswapdReply) -> String {
    match reply {
        KswapdReply::Napped { early: false } => "napped".to_owned(),
        KswapdReply::Napped { early: true } => "napped_early".to_owned(),
        KswapdReply::Shrunk { scanned, reclaimed } => format!("shrunk:{scanned}/{reclaimed}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_come_back_from_their_words() {
        let results = RESULTS.map(|(_, result)| Reply::Step(SlowReply::Compacted(result)));
        let more = [Reply::Step(SlowReply::Reclaimed(7)), Reply::Mems(NodeMask(3))];
        for reply in PLAIN.map(|(_, reply)| reply).into_iter().chain(results).chain(more) {
            assert_eq!(Reply::parse(&reply.to_string()), Some(reply));
        }
        assert_eq!(Reply::parse("reclaimed:"), None);
        assert_eq!(Reply::parse("compacted:well"), None);
    }

    #[test]
    fn kswapd_replies_come_back_from_their_words() {
        for reply in [
            KswapdReply::Napped { early: false },
            KswapdReply::Napped { early: true },
            KswapdReply::Shrunk { scanned: 64, reclaimed: 3 },
        ] {
            assert_eq!(parse_kswapd(&kswapd_word(reply)), Some(reply));
        }
        assert_eq!(parse_kswapd("shrunk:5"), None);
    }
}
