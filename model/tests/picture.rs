//! The picture of memory, on machines small enough to be checked by eye.

use mmspec_model::contract::{CpuCaches, Outcome, PageAllocator, Request};
use mmspec_model::picture::Picture;
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{
    CpuId, Gfp, Machine, MigrateType, Order, PfnRange, Rules, Tunables, ZoneKind,
};

fn boot(machine: &Machine) -> Reference {
    Reference::new(machine, Rules::linux_6_12(), Tunables::default()).expect("boots")
}

#[test]
fn every_kind_of_frame_has_its_character() {
    let mut machine = Machine::small(1, 512, 5, 4);
    machine.cma_built = true;
    machine.cma = vec![PfnRange::new(112, 128)];
    machine.holes = vec![PfnRange::new(64, 68)];
    machine.reserved = vec![PfnRange::new(0, 3)];
    let mut reference = boot(&machine);
    let cpu = CpuId(0);
    let request = Request::new(Order::of(2), Gfp::KERNEL);
    let Outcome::Page(kept) = reference.alloc_pages(cpu, request) else { panic!("memory is free") };
    let Outcome::Page(other) = reference.alloc_pages(cpu, request) else { panic!("still free") };
    reference.free_pages(cpu, other, Order::of(2));
    let used = [(kept, Order::of(2), MigrateType::Unmovable)];
    let picture = Picture::new(&reference, machine.as_ref(), &used).to_string();
    // Each pageblock's frames follow its type and a colon.
    let drawn: String =
        picture.split(':').skip(1).map(|part| part.split(' ').next().unwrap()).collect();
    let count = |of: char| drawn.chars().filter(|drawn| *drawn == of).count();
    assert_eq!((count('#'), count('_'), count('U'), count('c')), (3, 4, 4, 16));
    assert!(count('p') >= 4 && count('p') % 4 == 0);
    assert_eq!(count('?'), 0);
    let blank = Picture::new(&reference, machine.as_ref(), &[]).to_string();
    assert_eq!(blank.matches('?').count(), 4, "blocks that nobody claims show as unknown");
    reference.drain_all(cpu, None);
    assert!(!Picture::new(&reference, machine.as_ref(), &[]).to_string().contains('p'));
}

#[test]
fn a_booted_machine_is_drawn_in_rows_of_pageblocks() {
    let mut machine = Machine::small(1, 150, 5, 4);
    machine.zones[0].span = PfnRange::new(6, 150);
    let reference = boot(&machine);
    let picture = Picture::new(&reference, machine.as_ref(), &[]).to_string();
    let expected = "\
Normal 0x6..0x96, 1 to a character
       0x6 M:mmmmmmmmmm M:mmmmmmmmmmmmmmmm M:mmmmmmmmmmmmmmmm M:mmmmmmmmmmmmmmmm
      0x40 M:mmmmmmmmmmmmmmmm M:mmmmmmmmmmmmmmmm M:mmmmmmmmmmmmmmmm M:mmmmmmmmmmmmmmmm
      0x80 M:mmmmmmmmmmmmmmmm M:mmmmmm
";
    assert_eq!(picture, expected);
}

#[test]
fn a_large_machine_fits_on_a_screen() {
    let machine = Machine::new(2, &[(ZoneKind::Dma, 1, 4096), (ZoneKind::Dma32, 4096, 131_040)]);
    let reference = boot(&machine);
    let picture = Picture::new(&reference, machine.as_ref(), &[]).to_string();
    assert!(picture.lines().count() < 40, "{picture}");
    assert!(picture.lines().all(|line| line.len() < 130), "{picture}");
    assert!(picture.contains("128 to a character"), "{picture}");
    assert!(picture.contains("the same"), "{picture}");
}
