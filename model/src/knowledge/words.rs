//! What is known, in words.

use super::{Answer, FallbackChoice, FrameKnowledge, TypeSet};
use core::fmt::{self, Display, Formatter};

impl Display for Answer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(pfn) => write!(f, "{pfn}"),
            Self::Nothing => f.write_str("none: the list is empty"),
            Self::Depends => f.write_str("one that depends on what is not known"),
        }
    }
}

impl Display for FrameKnowledge {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("not known"),
            Self::NotFree => f.write_str("on no free list"),
            Self::Allocated(order) => write!(f, "handed out, order {order}"),
            Self::Taken(order) => write!(f, "taken off the free lists, order {order}"),
            Self::Gone(order, _) => write!(f, "handed out untraced, order {order}"),
            Self::Cached { cpu, order, filed, .. } => {
                write!(f, "on a list of CPU {cpu}, order {order}, {filed}")
            }
            Self::Free { order, filed, .. } => write!(f, "a free block of order {order}, {filed}"),
            Self::FreeTail => f.write_str("inside a free block"),
        }
    }
}

impl Display for FallbackChoice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block { order, migratetype, head } => {
                write!(f, "a block of order {order} of {migratetype}: {head}")
            }
            Self::None => f.write_str("no block"),
            Self::Depends => f.write_str("one that depends on what is not known"),
        }
    }
}

impl Display for TypeSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (at, migratetype) in self.iter().enumerate() {
            write!(f, "{}{migratetype}", if at > 0 { " or " } else { "" })?;
        }
        Ok(())
    }
}
