//! quickcheck's `Arbitrary` for [`Script`].

use super::{Limits, Rng, script};
use crate::script::Script;
use crate::shrink;
use quickcheck::{Arbitrary, Gen};

impl Arbitrary for Script {
    /// Scripts of at most four operations for each unit of the generator's size.
    fn arbitrary(generator: &mut Gen) -> Self {
        let limits = Limits::ops(generator.size().max(1) * 4);
        script(&mut Rng::new(u64::arbitrary(generator)), &limits)
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        Box::new(shrink::candidates(self))
    }
}
