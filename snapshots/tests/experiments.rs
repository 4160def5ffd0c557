//! Every experiment, as text, JSON and CSV.

use mmspec_snapshots::experiments::{EXPERIMENTS, csv, json, text};

/// Experiments with a starred row that goes the other way (why: docs/compaction.md).
const AGAINST: [&str; 1] = ["r5"];

/// Experiments whose whole takes minutes: no sensitivity here.
const BRIEF: [&str; 3] = ["r1", "r3", "r5"];

#[test]
fn published_results_are_reproduced() {
    for entry in EXPERIMENTS {
        let mut said = Vec::new();
        let experiment = (entry.brief)(&mut |what| said.push(what)).expect("it runs");
        let holds = !AGAINST.contains(&entry.name);
        assert_eq!(experiment.holds(), holds, "{}", text(&experiment));
        assert!(!said.is_empty(), "{} says nothing while it runs", entry.name);
        // A figure that no parameter moves would rest on nothing.
        let moves = experiment.sensitivity.iter().any(|one| one.halved != one.doubled);
        assert!(moves || BRIEF.contains(&entry.name));
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("experiment-{}", entry.name), text(&experiment));
        });

        let parsed: serde_json::Value = serde_json::from_str(&json(&experiment)).expect("JSON");
        assert_eq!(parsed["name"], entry.name);
        let rows = parsed["rows"].as_array().expect("a list");
        assert_eq!(rows.len(), experiment.rows.len());
        for row in rows {
            let keys = ["figure", "starred", "published", "simulated", "direction_ok"];
            assert_eq!(row.as_object().map(serde_json::Map::len), Some(keys.len()));
            assert!(keys.iter().all(|key| row.get(key).is_some()), "{row}");
            let pair = ["base", "patched"];
            assert!(pair.iter().all(|key| row["simulated"].get(key).is_some()), "{row}");
        }
        assert_eq!(csv(&experiment).lines().count(), 1 + experiment.rows.len());
    }
}
