use super::*;
use crate::generate::{self, Rng};
use std::time::{Duration, Instant};

#[test]
fn generated_scripts_survive_the_codec() {
    for seed in 0..3_000 {
        let script = generate::script(&mut Rng::new(seed), &generate::Limits::default());
        assert_eq!(Script::decode(&script.encode()), script, "seed {seed}");
    }
}

#[test]
fn any_bytes_are_a_valid_script_that_round_trips() {
    let mut rng = Rng::new(7);
    for _ in 0..20_000 {
        let length = rng.below(80) as usize;
        let bytes: Vec<u8> = (0..length).map(|_| rng.next_u64() as u8).collect();
        let script = Script::decode(&bytes);
        assert_eq!(script.validate(), Ok(()), "{bytes:?}");
        assert_eq!(Script::decode(&script.encode()), script, "{bytes:?}");
        assert_eq!(Script::parse("text", &script.to_text()).as_ref(), Ok(&script), "{bytes:?}");
    }
}

#[test]
fn decoding_is_linear() {
    let started = Instant::now();
    for byte in [0x00, 0x02, 0x0a, 0x7f, 0x80, 0xff] {
        let mut bytes = vec![byte; 200_000];
        assert_eq!(Script::decode(&bytes).validate(), Ok(()));
        bytes[0] = 0x80;
        assert_eq!(Script::decode(&bytes).validate(), Ok(()));
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn opcode_table_holds_every_code() {
    for code in 0..18 {
        assert!(
            OPCODES[code..=code]
                .iter()
                .all(|known| { OPCODES.iter().position(|other| other == known) == Some(code) })
        );
    }
}
