//! Parameters of a model: a number, where it is from, and how far it may be off.

use super::Parameter;

/// One parameter of a model `M`.
pub(super) struct Known<M> {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) get: fn(&mut M) -> &mut u64,
    /// `Ok`: its source. `Err`: the plausible range; the value is its geometric middle.
    pub(super) source: Result<&'static str, (u64, u64)>,
}

/// For the report.
pub(super) fn parameters<M: Copy>(mut model: M, known: &[Known<M>]) -> Vec<Parameter> {
    known
        .iter()
        .map(|known| Parameter {
            name: known.name.to_owned(),
            value: *(known.get)(&mut model) as f64,
            unit: known.unit.to_owned(),
            source: match known.source {
                Ok(source) => source.to_owned(),
                Err(_) => "no source: middle of the range".to_owned(),
            },
            range: known.source.err().map(|(least, most)| (least as f64, most as f64)),
        })
        .collect()
}

/// The model with each of these parameters halved, and doubled.
pub(super) fn variations<'a, M: Copy + 'a>(
    model: M,
    known: impl Iterator<Item = &'a Known<M>>,
) -> Vec<(&'static str, M, M)> {
    known
        .map(|known| {
            let (mut half, mut double) = (model, model);
            *(known.get)(&mut half) /= 2;
            *(known.get)(&mut double) *= 2;
            (known.name, half, double)
        })
        .collect()
}

/// The first value without a source that is not the geometric middle of its range.
#[cfg(test)]
pub(super) fn off_the_middle<M: Copy>(mut model: M, known: &[Known<M>]) -> Option<&'static str> {
    let off = |known: &&Known<M>| {
        let value = *(known.get)(&mut model) as f64;
        let middle = |(low, high): (u64, u64)| (low as f64 * high as f64).sqrt();
        known.source.err().is_some_and(|range| !(0.9..1.1).contains(&(value / middle(range))))
    };
    known.iter().find(off).map(|known| known.name)
}
