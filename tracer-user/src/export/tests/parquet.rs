//! Parquet as pyarrow and `DuckDB` read it.

use super::*;

/// Runs Python with pyarrow and `DuckDB` (`ZVOLTRACE_PYTHON`, else `python3`); `None`, said
/// aloud, when they are missing and may be.
fn python(script: &str, folder: &Path) -> Option<String> {
    let python = std::env::var("ZVOLTRACE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let required = std::env::var_os("ZVOLTRACE_REQUIRE_LIVE").is_some_and(|on| on == "1");
    let probe = run(&python, &["-c", "import pyarrow.parquet, duckdb"], folder)?;
    if !probe.status.success() {
        let missing = String::from_utf8_lossy(&probe.stderr).into_owned();
        assert!(!required, "{python}: {missing}");
        eprintln!("skipped: {python} lacks pyarrow or duckdb: {missing}");
        return None;
    }
    let output = run(&python, &["-c", script], folder)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

fn written(events: Vec<Event>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut plain = device(1, Mode::BlkMq);
    plain.dataset = None;
    let mut source = capture(vec![device(0, Mode::Bio), plain], events);
    let path = folder.path().join("capture.parquet");
    let summary = export(&mut source, Target::Parquet, &path).unwrap();
    assert_eq!((summary.files, summary.notes), (vec![path], Vec::new()));
    folder
}

fn two_devices() -> Vec<Event> {
    let mut events = mixed(40_000);
    for event in &mut events[20_000..] {
        event.device = DeviceId(1);
        event.issue_ns = Some(event.start_ns + 10_000);
    }
    events[7].errno = 5;
    events[8].end_ns = events[8].start_ns - 1;
    events[9].comm = Comm::default();
    events
}

#[test]
fn pyarrow_reads_every_row_and_value() {
    let folder = written(two_devices());
    let script = r"
import pyarrow.parquet as pq
f = pq.ParquetFile('capture.parquet')
t = f.read()
print(t.num_rows, f.metadata.metadata[b'zvoltrace.schema'].decode())
print(*t.column_names)
for n in (3, 7, 8, 9, 20001):
    print(*[t.column(c)[n].as_py() for c in t.column_names if c != 'time'])
print(t.column('time')[3].cast('int64').as_py(), t.schema.field('time').type)
";
    let Some(text) = python(script, folder.path()) else {
        return;
    };
    insta::assert_snapshot!("pyarrow", text);
}

#[test]
fn the_queries_of_the_documentation_run_in_duckdb() {
    let folder = written(two_devices());
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/parquet.md");
    let document = std::fs::read_to_string(document).unwrap();
    let queries: Vec<_> = document
        .split("```sql\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert_eq!(queries.len(), 3);
    let mut script = String::from("import duckdb\n");
    for query in queries {
        script += "print('--')\nfor row in duckdb.sql('''";
        script += &query.replace('\'', "\\'");
        script += "''').fetchall(): print(*row)\n";
    }
    let Some(text) = python(&script, folder.path()) else {
        return;
    };
    insta::assert_snapshot!("duckdb", text);
}

#[test]
fn nothing_is_left_behind_when_the_capture_fails() {
    struct Failing;
    impl Source for Failing {
        fn kind(&self) -> SourceKind {
            SourceKind::Recording
        }

        fn next(&mut self) -> anyhow::Result<Option<Input>> {
            anyhow::bail!("the recording is damaged at offset 0")
        }
    }
    let folder = tempfile::tempdir().unwrap();
    for target in [Target::Blktrace, Target::Fio, Target::Parquet] {
        let path = folder.path().join("out");
        let error = export(&mut Failing, target, &path).unwrap_err();
        assert_eq!(error.to_string(), "the recording is damaged at offset 0");
        let error = export(&mut capture(Vec::new(), Vec::new()), target, &path).unwrap_err();
        assert!(error.to_string().contains("holds no I/O"), "{error}");
        let missing = folder.path().join("missing/out");
        let mut source = capture(vec![device(0, Mode::Bio)], mixed(10));
        let error = export(&mut source, target, &missing).unwrap_err();
        assert!(
            error.to_string().contains("make the folder first"),
            "{error}"
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_source_that_fails_later_gives_what_came_before() {
    struct Cut(Given);
    impl Source for Cut {
        fn kind(&self) -> SourceKind {
            SourceKind::Recording
        }

        fn next(&mut self) -> anyhow::Result<Option<Input>> {
            match self.0.next()? {
                Some(Input::End(_)) => anyhow::bail!("cut off at offset 4711"),
                other => Ok(other),
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    for target in [Target::Blktrace, Target::Fio, Target::Parquet] {
        let mut source = Cut(capture(vec![device(0, Mode::Bio)], mixed(80)));
        let summary = export(&mut source, target, &folder.path().join("out")).unwrap();
        assert_eq!(summary.ios, 80);
        assert!(
            summary.notes[0].contains("cut off at offset 4711"),
            "{:?}",
            summary.notes
        );
    }
}
