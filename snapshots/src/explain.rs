//! A script told step by step.

use crate::{Done, Session};
use mmspec_model::contract::LinuxPolicy;
use mmspec_model::picture::{Picture, ZonePicture};
use mmspec_model::proc::{Change, Figures, ProcError, View};
use mmspec_model::vocab::{CpuId, Pfn, ZoneKind};
use mmspec_proptests::script::Script;
use std::fmt;

/// A script being told: an iterator over its steps.
pub struct Explain<'a, T> {
    script: &'a Script,
    session: Session<T>,
    figures: Figures,
    picture: Vec<ZonePicture>,
    at: usize,
}

/// One operation and its effects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// Its position, from 1.
    pub number: usize,
    /// The operation as the script's text has it.
    pub op: String,
    /// What it led to.
    pub done: Done,
    /// The numbers of /proc that changed.
    pub changes: Vec<Change>,
    /// The rows of the picture that changed: zone, first frame, characters.
    pub rows: Vec<(ZoneKind, Pfn, String)>,
}

/// Memory before and after the operation at `at`.
pub fn around<T: LinuxPolicy>(script: &Script, allocator: T, at: usize) -> (String, String) {
    let mut session = Session::new(script, allocator);
    let draw = |session: &Session<T>| {
        let used = session.used();
        Picture::new(session.allocator(), script.machine.as_ref(), &used).to_string()
    };
    for op in &script.ops[..at] {
        session.step(op);
    }
    let before = draw(&session);
    session.step(&script.ops[at]);
    (before, draw(&session))
}

impl fmt::Display for Step {
    /// The operation, its answer, the numbers that changed and the rows that changed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>4}  {}", self.number, self.op)?;
        writeln!(f, "      {}", self.done)?;
        self.changes.iter().try_for_each(|change| writeln!(f, "      {change}"))?;
        for (zone, pfn, row) in &self.rows {
            writeln!(f, "      {zone} {pfn} {row}")?;
        }
        Ok(())
    }
}

impl<'a, T: LinuxPolicy> Explain<'a, T> {
    /// Begin with an allocator booted as the script says.
    ///
    /// # Errors
    /// None in practice: what the model renders can be parsed.
    pub fn new(script: &'a Script, allocator: T) -> Result<Self, ProcError> {
        let session = Session::new(script, allocator);
        let mut explain =
            Self { script, session, figures: Figures::default(), picture: Vec::new(), at: 0 };
        explain.figures = explain.now()?;
        explain.picture = explain.draw();
        Ok(explain)
    }

    /// Memory as it is now.
    #[must_use]
    pub fn picture(&self) -> &[ZonePicture] {
        &self.picture
    }

    fn draw(&self) -> Vec<ZonePicture> {
        let used = self.session.used();
        Picture::new(self.session.allocator(), self.script.machine.as_ref(), &used).zones()
    }

    fn now(&self) -> Result<Figures, ProcError> {
        let allocator = self.session.allocator();
        let online = |cpu: CpuId| allocator.is_online(cpu);
        let machine = self.script.machine.as_ref();
        Figures::of_view(&View::new(allocator, machine, &self.script.rules).with_online(&online))
    }
}

impl<T: LinuxPolicy> Iterator for Explain<'_, T> {
    type Item = Result<Step, ProcError>;

    fn next(&mut self) -> Option<Self::Item> {
        let op = self.script.ops.get(self.at)?;
        let text = self.script.op_text(self.at)?;
        self.at += 1;
        let done = self.session.step(op);
        let figures = match self.now() {
            Ok(figures) => figures,
            Err(error) => return Some(Err(error)),
        };
        let changes = self.figures.changes(&figures);
        self.figures = figures;
        let drawn = self.draw();
        let mut rows = Vec::new();
        for (now, before) in drawn.iter().zip(&self.picture) {
            let changed = now.changed_since(before);
            rows.extend(changed.map(|(pfn, row)| (now.span.kind, *pfn, row.clone())));
        }
        self.picture = drawn;
        Some(Ok(Step { number: self.at, op: text, done, changes, rows }))
    }
}
