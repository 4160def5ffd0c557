//! The allocator under test with the capabilities that it declares.

use mmspec_model::contract::{
    FixedPlace, FrameAllocator, FrameCounters, Resize, Run, RunAllocator,
};
use mmspec_model::vocab::{Order, Pfn, PfnRange};

type Make<'a, A> = Box<dyn Fn(&[Run]) -> A + 'a>;
/// Units and alignment.
type Allocate<A> = fn(&mut A, u64, u64) -> Option<u64>;
/// The run, its alignment, and the units that it is to have.
type ResizeRun<A> = fn(&mut A, Run, u64, u64) -> Option<u64>;
type Place<A> = fn(&mut A, Run) -> Option<u64>;
type Count<A> = fn(&A) -> (u64, u64);

/// How to make an allocator over given memory, and what can be asked of it.
///
/// ```
/// use mmspec_proptests::conformance::{Plain, Subject};
/// use mmspec_model::vocab::Order;
///
/// // By the smallest contract, and with all that it has.
/// let least = Subject::frames(|regions| Plain::new(regions, Order::of(4)));
/// let all = Subject::runs(|memory| Plain::over(memory, Order::of(4))).counted().resizing().placing();
/// assert!(all.can_place() && !least.can_place());
/// ```
pub struct Subject<'a, A> {
    make: Make<'a, A>,
    orders_only: bool,
    allocate: Allocate<A>,
    free: fn(&mut A, Run, u64),
    resize: Option<ResizeRun<A>>,
    place: Option<Place<A>>,
    counters: Option<Count<A>>,
}

impl<'a, A: FrameAllocator> Subject<'a, A> {
    /// An allocator of blocks of 2^order frames. The regions come in the order in which they are
    /// to be given to it, which need not be ascending.
    pub fn frames(make: impl Fn(&[PfnRange]) -> A + 'a) -> Self {
        let over = move |memory: &[Run]| {
            let regions: Vec<_> =
                memory.iter().map(|run| PfnRange::new(run.start, run.end())).collect();
            make(&regions)
        };
        Self {
            make: Box::new(over),
            orders_only: true,
            allocate: |allocator, len, _| allocator.allocate(order_of(len)).map(|pfn| pfn.0),
            free: |allocator, run, _| allocator.free(Pfn(run.start), order_of(run.len)),
            resize: None,
            place: None,
            counters: None,
        }
    }
}

/// Of a power of two. One above [`Order::MAX`] is never asked for.
fn order_of(len: u64) -> Order {
    Order::new(len.trailing_zeros() as u8).unwrap_or(Order::MAX)
}

impl<'a, A: RunAllocator> Subject<'a, A> {
    /// An allocator of runs of any length. The memory comes in the order in which it is to be
    /// given to it, which need not be ascending.
    pub fn runs(make: impl Fn(&[Run]) -> A + 'a) -> Self {
        Self {
            make: Box::new(make),
            orders_only: false,
            allocate: A::allocate,
            free: A::free,
            resize: None,
            place: None,
            counters: None,
        }
    }
}

impl<A> Subject<'_, A> {
    /// Its counters are compared after every step.
    #[must_use]
    pub fn counted(mut self) -> Self
    where
        A: FrameCounters,
    {
        self.counters = Some(|allocator| (allocator.free_frames(), allocator.managed_frames()));
        self
    }

    /// Runs grow and shrink.
    #[must_use]
    pub fn resizing(mut self) -> Self
    where
        A: Resize,
    {
        self.resize = Some(A::resize);
        self
    }

    /// Runs are asked for at their place.
    #[must_use]
    pub fn placing(mut self) -> Self
    where
        A: FixedPlace,
    {
        self.place = Some(A::allocate_at);
        self
    }

    /// Whether it is asked for blocks of 2^order frames only.
    #[must_use]
    pub const fn orders_only(&self) -> bool {
        self.orders_only
    }

    /// Whether it is asked to resize.
    #[must_use]
    pub const fn can_resize(&self) -> bool {
        self.resize.is_some()
    }

    /// Whether it is asked for fixed places.
    #[must_use]
    pub const fn can_place(&self) -> bool {
        self.place.is_some()
    }

    pub(super) fn make(&self, memory: &[Run]) -> A {
        (self.make)(memory)
    }

    pub(super) fn allocate(&self, allocator: &mut A, len: u64, align: u64) -> Option<u64> {
        (self.allocate)(allocator, len, align)
    }

    pub(super) fn allocate_at(&self, allocator: &mut A, run: Run) -> Option<u64> {
        self.place.and_then(|place| place(allocator, run))
    }

    pub(super) fn resize(&self, allocator: &mut A, run: Run, align: u64, len: u64) -> Option<u64> {
        self.resize.and_then(|resize| resize(allocator, run, align, len))
    }

    pub(super) fn free(&self, allocator: &mut A, run: Run, align: u64) {
        (self.free)(allocator, run, align);
    }

    /// Free and managed units.
    pub(super) fn counters(&self, allocator: &A) -> Option<(u64, u64)> {
        self.counters.map(|count| count(allocator))
    }
}
