//! The built command: exit codes, messages, and output whose shape is a promise.

use mmspec_model::proc::ProcFile;
use mmspec_proptests::script::Script;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn mmspec(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mmspec"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

/// Run, check the exit code, and return standard output and standard error.
#[track_caller]
fn run(args: &[&str], code: i32) -> (String, String) {
    let output = mmspec(args);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{out}\n{err}");
    (out, err)
}

/// A fresh folder of the test's own.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

#[track_caller]
fn file(folder: &str, name: &str, text: &str) -> String {
    let path = self::folder(folder).join(name);
    fs::write(&path, text).expect("a file for the test");
    path.to_str().expect("UTF-8").to_owned()
}

const SCRIPT: &str = "\
mms 1
machine cpus=2 max_order=10 pageblock_order=9
zone Normal 0x1000..0x2000
rules linux_6_12
a1 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a2 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a3 = alloc cpu=0 order=0 gfp=GFP_KERNEL
free cpu=0 a1
a4 = alloc cpu=0 order=0 gfp=GFP_KERNEL
free cpu=1 a2
a5 = alloc cpu=1 order=5 gfp=GFP_KERNEL
drain-all by=0
";

/// Files of a recorded script, beside each other as `mmspec trace` wants them; the trace's path.
fn recording(name: &str, change: impl Fn(String) -> String) -> String {
    let script = Script::parse("script", SCRIPT).expect("parses");
    let recording = mmspec_snapshots::record(&script).expect("boots");
    let folder = folder(name);
    for (at, proc) in ProcFile::ALL.iter().enumerate() {
        let write = |when: &str, text: &str| {
            fs::write(folder.join(format!("{}.{when}.txt", proc.name())), text).expect("written");
        };
        write("before", &recording.before[at]);
        write("after", &recording.after[at]);
    }
    // By that name; whether it is compressed is told by its content.
    fs::write(folder.join("kpageflags.before.gz"), &recording.kpageflags_before).expect("written");
    let trace = folder.join("trace.txt");
    fs::write(&trace, change(recording.trace)).expect("written");
    trace.to_str().expect("UTF-8").to_owned()
}

fn reviewed(name: &str, text: &str) {
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn usage_errors_end_with_2() {
    run(&[], 2);
    run(&["frob"], 2);
    run(&["explain"], 2);
    for preset in
        [["trace", "x", "--rules"], ["image", "x", "--rules"], ["image", "x", "--compaction"]]
    {
        let [command, file, option] = preset;
        let (_, err) = run(&[command, file, option, "linux_9"], 2);
        assert!(err.contains("linux_6_12"), "{err}");
    }
    run(&["experiment"], 2);
    let (_, err) = run(&["experiment", "r0"], 2);
    assert!(err.contains("r4"), "{err}");
    let (_, err) = run(&["experiment", "r4", "--json", "--csv"], 2);
    assert!(err.contains("--json") && err.contains("--csv"), "{err}");
}

#[test]
fn input_errors_end_with_2_and_name_the_place() {
    let (_, err) = run(&["explain", "no/such/file.mms"], 2);
    assert!(err.starts_with("mmspec: no/such/file.mms"), "{err}");
    let path = file("input-errors", "case.mms", "mms 1\nzone Narmal 0..4\n");
    let (_, err) = run(&["explain", &path], 2);
    assert!(err.contains("case.mms:2:6") && err.contains("Normal"), "{err}");
    let path = file("input-errors-trace", "trace.txt", "no trace\n");
    let (_, err) = run(&["trace", &path], 2);
    assert!(err.starts_with("mmspec: ") && err.lines().count() == 1, "{err}");
}

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let (out, _) = run(&["--help"], 0);
    for word in ["check", "replay", "laws", "trace", "image", "explain", "experiment", "Exit codes"]
    {
        assert!(out.contains(word), "{word} is missing:\n{out}");
    }
}

/// Every experiment runs and is judged in the tests of its package; here it is its way out.
#[test]
fn an_experiment_is_printed_as_csv() {
    let (out, err) = run(&["experiment", "r4", "--csv"], 0);
    let mut lines = out.lines();
    let head = lines.next().expect("a head");
    assert!(head.starts_with("experiment,figure,starred,published_base"), "{head}");
    assert!(lines.clone().count() > 3 && lines.all(|line| line.starts_with("r4,")), "{out}");
    assert_eq!(err, "", "progress is for terminals");
}

#[test]
fn laws_lists_every_law() {
    let (out, _) = run(&["laws"], 0);
    for law in mmspec_model::laws::all() {
        assert!(out.contains(law.id) && out.contains(law.statement), "{}", law.id);
    }
}

/// A number as 0: what is left is the shape.
fn shape(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::Number(number) => {
            assert!(number.is_u64(), "{number} is no whole number");
            *value = Value::from(0);
        }
        Value::Array(all) => all.iter_mut().for_each(shape),
        Value::Object(all) => all.values_mut().for_each(shape),
        _ => {}
    }
}

#[test]
fn check_as_json_keeps_its_shape() {
    let args = ["check", "--engine", "regressions", "--seed", "7", "--json"];
    let (json, err) = run(&args, 0);
    assert_eq!(err, "");
    let mut value: serde_json::Value = serde_json::from_str(&json).expect("one JSON object");
    assert_eq!((&value["ok"], &value["seed"]), (&true.into(), &7.into()));
    shape(&mut value);
    reviewed("check-json", &serde_json::to_string_pretty(&value).expect("JSON"));
}

#[test]
fn check_begins_and_ends_with_its_seed() {
    let args = ["check", "--engine", "conformance", "--seconds", "1", "--seed", "12"];
    let (out, err) = run(&args, 0);
    assert_eq!(err, "", "quiet when piped");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((lines.first(), lines.last()), (Some(&"seed 12"), Some(&"seed 12: ok")));
    let again = "rerun with: mmspec check --seed 12 --seconds 1 --engine conformance";
    assert!(lines.contains(&again), "{out}");
    let (_, err) = run(&["check", "--engine", "frob"], 2);
    assert!(err.contains("frob") && err.contains("differential"), "{err}");
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_a_run_with_what_was_found() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mmspec"))
        .args(["check", "--engine", "differential", "--seconds", "600", "--seed", "4"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut reader = BufReader::new(child.stdout.take().expect("piped"));
    let mut out = String::new();
    reader.read_line(&mut out).expect("the seed line");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    reader.read_to_string(&mut out).expect("UTF-8");
    assert_eq!(child.wait().expect("ends").code(), Some(0), "{out}");
    assert!(out.contains("ended early") && out.ends_with("seed 4: ok\n"), "{out}");
}

#[test]
fn replay_runs_a_script_that_holds() {
    let path = file("replay", "case.mms", SCRIPT);
    let (out, _) = run(&["replay", &path], 0);
    assert!(out.ends_with("ok\n"), "{out}");
}

#[test]
fn explain_tells_the_same_of_both_allocators() {
    let path = file("explain", "case.mms", SCRIPT);
    let (reference, _) = run(&["explain", &path], 0);
    let (implementation, _) = run(&["explain", &path, "--on", "impl"], 0);
    assert_eq!(reference, implementation);
    assert!(reference.contains("a5 = alloc cpu=1 order=5"), "{reference}");
    let (brief, _) = run(&["explain", &path, "--brief"], 0);
    assert!(brief.len() < reference.len() && !brief.contains("a5 ="), "{brief}");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots/scenarios/vm-512m.mms");
    let mut child = Command::new(env!("CARGO_BIN_EXE_mmspec"))
        .args(["explain", scenario])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut first = String::new();
    let mut reader = BufReader::new(child.stdout.take().expect("piped"));
    reader.read_line(&mut first).expect("a first line");
    drop(reader);
    let mut complaints = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut complaints).expect("UTF-8");
    let status = child.wait().expect("ends");
    assert_eq!((status.code(), complaints.as_str()), (Some(0), ""));
}

#[test]
fn the_trace_of_the_reference_is_consistent() {
    let trace = recording("trace-consistent", |trace| trace);
    let (json, _) = run(&["trace", &trace, "--rules", "linux_6_12", "--json"], 0);
    reviewed("trace-json", &json);
    let (text, _) = run(&["trace", &trace, "--rules", "linux_6_12"], 0);
    reviewed("trace-text", &text);
}

#[test]
fn a_trace_that_contradicts_the_rules_ends_with_1() {
    // The page freed last is the head of its list: another frame can't be handed out next.
    let trace = recording("trace-contradicts", |trace| {
        let mut lines: Vec<String> = trace.lines().map(str::to_owned).collect();
        let free = lines.iter().position(|line| line.contains("mm_page_free:")).expect("a free");
        let alloc = lines[free..].iter().position(|line| line.contains("mm_page_alloc: "));
        let at = free + alloc.expect("an allocation");
        let words: Vec<String> = lines[at]
            .split(' ')
            .map(
                |word| if word.starts_with("pfn=") { "pfn=0x1007".into() } else { word.to_owned() },
            )
            .collect();
        lines[at] = words.join(" ");
        lines.join("\n") + "\n"
    });
    let (json, _) = run(&["trace", &trace, "--rules", "linux_6_12", "--json"], 1);
    assert!(json.contains("\"seen\": \"0x1007@0"), "{json}");
}

const COMPACTION: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../proptests/traces/linux-6.12-compact-memory");

#[test]
fn an_image_of_a_recorded_kernel_compacts_as_it_did() {
    let (text, _) = run(&["image", COMPACTION], 0);
    reviewed("image-text", &text);
    let (json, _) = run(&["image", COMPACTION, "--hindsight", "--json"], 0);
    reviewed("image-json", &json);
}

#[test]
fn an_image_under_other_rules_ends_with_1() {
    let (json, _) = run(&["image", COMPACTION, "--compaction", "linux_6_1", "--json"], 1);
    assert!(json.contains("\"alike\": false"), "{json}");
}

#[test]
fn a_folder_without_a_run_ends_with_2() {
    let (_, err) = run(&["image", "no/such/folder"], 2);
    assert!(err.starts_with("mmspec: no/such/folder: no kpageflags.before"), "{err}");
}
